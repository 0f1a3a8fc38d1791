//! Expected traces, as text. A line each:
//!
//! ```text
//! p NAME   a frame with this letter and name; "-" for one without name
//! r~ NAME  a frame that an optimizing compiler may make part of its caller
//! r+ NAME  one or more of them; those left out may be among them
//! -- WORDS the line of words between frames, or how it begins
//! ...      whatever a scan finds
//! ```

use qemu::build::{Kernel, Profile};
use qemu::machine::Arch;

use super::report::{Frame, Report};

/// Below every scenario.
const KERNEL: &str = "
    r~ kernel::scenario::run
    r~ kernel::kernel_main
    r kernel_entry
";

/// Fails unless the report has exactly this trace, with the kernel's own functions below it, and this end.
#[track_caller]
pub fn expect(kernel: Kernel, report: &Report, trace: &str, end: &str) {
    let whole = if trace.contains("...") {
        trace.to_owned()
    } else {
        format!("{trace}{KERNEL}")
    };
    expect_whole(kernel, report, &whole, end);
}

/// Below what a task does.
const TASK: &str = "
    r~ kernel::task::main
    r task_begin
";

/// Fails unless the report has exactly this trace, with the first functions of a task below it.
#[track_caller]
pub fn expect_of_task(kernel: Kernel, report: &Report, trace: &str) {
    expect_whole(kernel, report, &format!("{trace}{TASK}"), "complete, ");
}

/// The same without the kernel's own functions.
#[track_caller]
pub fn expect_whole(kernel: Kernel, report: &Report, trace: &str, end: &str) {
    let stops = is_link_lost(kernel, report);
    if let Err(why) = compare(kernel.profile, report, trace, stops) {
        panic!("{kernel:?}: {why} in:\n{}", report.text);
    }
    if stops {
        return;
    }
    let prefix = format!("end of backtrace: {end}");
    assert!(
        report.end.starts_with(&prefix),
        "{kernel:?}: no {prefix:?} in:\n{}",
        report.text
    );
}

/// Fails unless the registers of what was interrupted are between the line that says so, which begins so, and its frame,
/// with the same program counter as the frame.
#[track_caller]
pub fn expect_registers(kernel: Kernel, text: &str, boundary: &str) {
    let after = text.lines().skip_while(|line| !line.starts_with(boundary));
    let is_frame = |line: &&str| line.contains(": 0x");
    let mut lines = after.skip(1);
    let registers: Vec<_> = lines
        .by_ref()
        .map_while(|line| (!is_frame(&line)).then_some(line))
        .collect();
    let (pc, count) = match kernel.arch {
        Arch::X86_64 => ("  rip ", 6),
        Arch::Aarch64 => ("  pc  ", 10),
    };
    assert_eq!(registers.len(), count, "{kernel:?}: {text}");
    let pc = registers.iter().find_map(|line| line.strip_prefix(pc));
    let pc = pc.unwrap_or_else(|| panic!("{kernel:?}: no pc in {registers:#?}"));
    let (pc, _) = pc.split_at("0x0123456789abcdef".len());
    let mut after = text.lines().skip_while(|line| !line.starts_with(boundary));
    let frame = after.find(is_frame);
    let frame = frame.unwrap_or_else(|| panic!("{kernel:?}: no frame in {text}"));
    assert!(
        frame.contains(&format!(": {pc} p ")),
        "{kernel:?}: {pc} is not that of {frame}"
    );
}

/// Whether the walk came to a function that never returns and that the compiler was not told to make unwind tables for: on
/// AArch64 it then keeps the link register nowhere, so nobody can know its caller. The report says that, and is not complete.
fn is_link_lost(kernel: Kernel, report: &Report) -> bool {
    let is_plain = kernel.arch == Arch::Aarch64 && kernel.profile == Profile::Plain;
    let why = "end of backtrace: incomplete: a rule needs the link register, which is not known here, from frame ";
    is_plain && report.end.starts_with(why)
}

fn compare(profile: Profile, report: &Report, trace: &str, stops: bool) -> Result<(), String> {
    let mut frames = report.frames.iter().enumerate().peekable();
    let mut words = report
        .words
        .iter()
        .filter(|(_, words)| !words.ends_with(" frames left out"));
    for line in trace.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line == "..." {
            return match frames.find(|(_, frame)| frame.letter != '?') {
                None => Ok(()),
                Some((_, frame)) => Err(format!("{frame:x?} was not found by scanning")),
            };
        }
        // What a scan finds after that is nobody's caller for certain; what was found before it is right.
        let is_scanned = frames
            .peek()
            .is_some_and(|(number, frame)| *number > 1 && frame.letter == '?');
        if stops && is_scanned {
            return match frames.find(|(_, frame)| frame.letter != '?') {
                None => Ok(()),
                Some((_, frame)) => Err(format!("{frame:x?} was not found by scanning")),
            };
        }
        let (how, what) = line.split_once(' ').expect("two words");
        if how == "--" {
            let number = frames.peek().map(|(number, _)| *number);
            match words.next() {
                Some((before, found)) if Some(*before) == number && found.starts_with(what) => {}
                other => return Err(format!("{line:?} is not before {number:?}, but {other:?}")),
            }
            continue;
        }
        let mut how = how.chars();
        let letter = how.next().expect("a letter");
        let count = how.next();
        let fits =
            |frame: &Frame| frame.letter == letter && frame.name.as_deref().unwrap_or("-") == what;
        let mut found = 0;
        while (found == 0 || count == Some('+'))
            && frames.next_if(|(_, frame)| fits(frame)).is_some()
        {
            found += 1;
        }
        if found == 0 && !(count == Some('~') && profile.is_optimized()) {
            return Err(format!(
                "{line:?} is not where it should be, but {:x?}",
                frames.peek()
            ));
        }
    }
    match (frames.next(), words.next()) {
        (None, None) => Ok(()),
        (frame, words) => Err(format!("unexpected: {frame:x?} {words:?}")),
    }
}
