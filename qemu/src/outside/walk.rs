//! A walk from some registers, as a report's lines without names.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use unwind::report::Text;
use unwind::{End, Event, Range, RegisterSet, Stacks, Trace, Unwinder};

use super::image::Image;
use super::memory::Memory;
use super::names;

/// How many of the first and of the last frames to show of a recursion, as a kernel does.
pub(super) const SHOWN: (u32, u32) = (256, 32);

/// Walks from `registers` on the stacks in `ranges`. Returns the registers of the user code that it has reached, if it has.
pub(super) fn walk<R: RegisterSet>(
    out: &mut String,
    image: &Image,
    memory: &Memory<'_>,
    ranges: &[Range],
    registers: R,
) -> Result<Option<R>, fmt::Error> {
    let code = image.ranges_of_code();
    let stacks = || Stacks::new(ranges, |address| memory.word(address));
    let unwinder = |rows| {
        let unwinder = Unwinder::new(rows).code(&code);
        unwinder.trap_registers(image.saved())
    };
    // Whose rows they are is known only after a walk by them.
    let walked = unwinder(image.rows());
    let places = walked
        .frames(registers, stacks())
        .map(|frame| frame.lookup_pc());
    let places: BTreeSet<u64> = places.collect();
    let is_changed = places.iter().any(|pc| image.is_changed(memory, *pc));
    let unwinder = match is_changed {
        true => unwinder(image.rows_of_another()),
        false => walked,
    };
    let text = Text::new(None);
    let (mut was_interrupted, mut last) = (false, None);
    Trace::new(unwinder.frames(registers, stacks()))
        .ends(SHOWN.0, SHOWN.1)
        .tell(&mut |event| {
            if let Event::Interrupted(_) = event {
                was_interrupted = true;
                return Ok(());
            }
            if let Event::Frame(_, frame) = event {
                last = frame.registers;
            }
            if let Event::Frame(_, frame) = event
                && std::mem::take(&mut was_interrupted)
            {
                let sp = frame.registers.map_or(0, |registers| registers.sp());
                match names::stack(image, memory, sp) {
                    Some(stack) => writeln!(out, "   ----- interrupted, stack {stack} -----")?,
                    None => writeln!(out, "   ----- interrupted -----")?,
                }
            }
            text.write(out, event)
        })
        .map(|end| last.filter(|_| matches!(end, End::User { .. })))
}
