//! Passages through trap code: from a vector to the handler, and from there to where something goes on.

use unwind::{End, How};

use super::image::Image;
use super::steps::{Found, Step};

/// Checks every passage, and counts them: all, and those with a complete list, or one that is in doubt for a reason.
pub fn check(image: &Image, steps: &[Step], context: &str) -> [u32; 2] {
    let (mut passages, mut complete) = (0, 0);
    // What exceptions have interrupted that have not returned yet, and the tasks that have gone on in trap_preempted.
    let mut open: Vec<&Found> = Vec::new();
    let mut preempted: Vec<Found> = Vec::new();
    let mut rest = steps;
    while let Some(first) = rest.first() {
        let is_last = |step: &Step| step.function.is_some() && image.returns_at(step.pc);
        let is_over = |step: &Step| step.function.is_none();
        let end = rest.iter().position(|step| is_last(step) || is_over(step));
        let Some(end) = end else { break };
        let returns = is_last(&rest[end]);
        let (passage, after) = rest.split_at(end + usize::from(returns));
        let Some(next) = after.first() else { break };
        rest = if returns && next.function.is_some() {
            after
        } else {
            &after[1..]
        };
        let begin = first.function.as_deref().unwrap_or("a handler");
        let at = format!("{context}: passage {passages}, from {begin}");
        let mut in_handler = false;
        let expected = if let Some(interrupted) = &first.interrupted {
            // As from inside the handler.
            assert_eq!(next.found.0[2..], interrupted.0, "{at}: from the handler");
            in_handler = !open.is_empty();
            open.push(interrupted);
            interrupted
        } else if returns && begin == "trap_preempted" {
            let waits = preempted.iter().position(|task| *task == next.found);
            preempted.remove(waits.unwrap_or_else(|| panic!("{at}: not {preempted:x?}")));
            &next.found
        } else if returns {
            let interrupted = open.pop().expect("an exception that returns has come");
            in_handler = !open.is_empty();
            let mut goes_on = next.found.clone();
            if next.function.is_some() {
                goes_on.0.remove(0);
                preempted.push(goes_on.clone());
            }
            // A handler may have it go on elsewhere in the same function: after a breakpoint, where a read failed.
            assert_eq!(goes_on.0[1..], interrupted.0[1..], "{at}");
            &next.found
        } else {
            preempted.last().unwrap_or_else(|| panic!("{at}: no task"))
        };
        for step in passage {
            let at = format!("{at}, at {:#x}: {step:x?}", step.pc);
            assert_eq!(step.found.0[1..], expected.0, "{at}");
            assert_eq!(
                (step.how, step.found.1),
                (Some(How::TrapFrame), expected.1),
                "{at}"
            );
        }
        passages += 1;
        // An exception in a handler comes because gdb puts the handler's program counter elsewhere, to where no call has led: a walk
        // from there may see that.
        let is_told = in_handler && expected.1 == End::Outermost;
        complete += u32::from(expected.1 == End::Complete || is_told);
    }
    [passages, complete]
}
