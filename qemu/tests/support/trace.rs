//! Compares reports with expected traces. A trace is text with a line for each frame, innermost first:
//!
//! ```text
//! p NAME   a frame with this letter and name; "-" for one without name
//! r~ NAME  a frame that an optimizing compiler may make part of its caller; in debug builds, that the report names as a tail call
//! r+ NAME  one or more of them
//! r* NAME  two or more of them, and some left out in between, as the report says
//! = WAY    frames that the scenario has no functions in: see `ways`
//! -- WORDS the line of words between frames, or how it begins
//! ...      whatever a scan finds
//! ```
//!
//! Only the scenario's own functions are named. After a closure the compiler's adapter for it may follow, which no line names.
//! Every frame must also fit the code of the image, which [`Calls`] checks.

use std::iter::{Enumerate, Peekable};
use std::path::Path;
use std::slice::Iter;

use qemu::build::{Kernel, Profile};
use qemu::machine::Arch;

use super::built;
use super::calls::Calls;
use super::lost_link;
use super::report::{Frame, Report};
use super::ways::Way;

/// How the line ends that stands for frames which are left out.
const LEFT_OUT: &str = " frames left out";

/// Fails unless the report has exactly this trace, below it the frames from the kernel's entry, and this end.
#[track_caller]
pub fn expect(kernel: Kernel, report: &Report, trace: &str, end: &str) {
    let whole = if trace.contains("...") {
        trace.to_owned()
    } else {
        format!("{trace}\n= entry")
    };
    expect_whole(kernel, report, &whole, end);
}

/// Fails unless the report has exactly this trace, and below it the start of a task.
#[track_caller]
pub fn expect_of_task(kernel: Kernel, report: &Report, trace: &str) {
    expect_whole(kernel, report, &format!("{trace}\n= task"), "complete, ");
}

/// Fails unless the report has exactly this trace, with nothing below it.
#[track_caller]
pub fn expect_whole(kernel: Kernel, report: &Report, trace: &str, end: &str) {
    expect_in(&built::image(kernel), kernel, report, trace, end);
}

/// [`expect`] for another image, which was built like this kernel.
#[track_caller]
pub fn expect_in(image: &Path, kernel: Kernel, report: &Report, trace: &str, end: &str) {
    if let Err(why) = check(&Calls::of(image), kernel, report, trace, end) {
        panic!("{kernel:?}: {why} in:\n{}", report.text);
    }
}

/// Whether the report has exactly this trace and this end, and fits the code.
pub fn check(
    calls: &Calls,
    kernel: Kernel,
    report: &Report,
    trace: &str,
    end: &str,
) -> Result<(), String> {
    let guesses = lost_link::begins_at(kernel, report);
    compare(kernel.profile, report, trace, guesses)?;
    calls.check(report)?;
    let prefix = format!("end of backtrace: {end}");
    match guesses.is_some() || report.end.starts_with(&prefix) {
        true => Ok(()),
        false => Err(format!("no {prefix:?}")),
    }
}

/// Fails unless the interrupted registers are between the line that begins with `boundary` and the next frame, with the same
/// program counter as that frame.
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

/// The frames that have not been compared yet.
pub struct Rest<'a>(Peekable<Enumerate<Iter<'a, Frame>>>);

impl<'a> Rest<'a> {
    /// The next frame, if the predicate holds for it.
    pub fn next_if(&mut self, is: impl Fn(&Frame) -> bool) -> Option<&'a Frame> {
        self.0
            .next_if(|(_, frame)| is(frame))
            .map(|(_, frame)| frame)
    }

    /// The number of the next frame, and the frame.
    fn peek(&mut self) -> Option<(usize, &'a Frame)> {
        self.0.peek().copied()
    }

    /// Whether the next frame is this one.
    fn is_at(&mut self, number: Option<usize>) -> bool {
        number.is_some() && number == self.peek().map(|(number, _)| number)
    }

    fn expect_scanned(&mut self) -> Result<(), String> {
        match self.0.find(|(_, frame)| frame.letter != '?') {
            None => Ok(()),
            Some((_, frame)) => Err(format!("{frame:x?} was not found by scanning")),
        }
    }
}

/// Compares frames with a trace, up to the first of those that can only be `guesses`.
fn compare(
    profile: Profile,
    report: &Report,
    trace: &str,
    guesses: Option<usize>,
) -> Result<(), String> {
    let mut frames = Rest(report.frames.iter().enumerate().peekable());
    let mut words = report.words.iter();
    for line in trace.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line == "..." || frames.is_at(guesses) {
            frames.expect_scanned()?;
            break;
        }
        let (how, what) = line.split_once(' ').expect("two words");
        match how {
            "--" => {
                let number = frames.peek().map(|(number, _)| number);
                match words.next() {
                    Some((before, found)) if Some(*before) == number && found.starts_with(what) => {
                    }
                    other => {
                        return Err(format!("{line:?} is not before {number:?}, but {other:?}"));
                    }
                }
            }
            "=" => {
                if let Err(why) = Way::named(what).follow(&mut frames, profile) {
                    let next = frames.peek();
                    return Err(format!("{line:?}: {why}, at {next:x?}"));
                }
            }
            _ => {
                let from = frames.peek().map(|(number, _)| number);
                let before = from.unwrap_or(report.frames.len());
                let before = report.frames.get(before.wrapping_sub(1));
                let jumper = before.and_then(|frame| frame.tail_called_by.as_deref());
                let may_lack = profile.is_optimized() || jumper == Some(what);
                named(&mut frames, how, what, may_lack)?;
                let to = frames.peek().map(|(number, _)| number);
                let is_between = |(before, found): &(usize, String)| {
                    found.ends_with(LEFT_OUT) && from < Some(*before) && Some(*before) < to
                };
                if how.ends_with('*') && !words.next().is_some_and(is_between) {
                    return Err(format!(
                        "{line:?}: none is left out from {from:?} to {to:?}"
                    ));
                }
            }
        }
    }
    match (frames.peek(), words.next()) {
        (None, None) => Ok(()),
        (frame, words) => Err(format!("unexpected: {frame:x?} {words:?}")),
    }
}

/// Compares the frames of a line with a name. `may_lack` tells whether a frame with `~` may be missing.
fn named(frames: &mut Rest<'_>, how: &str, name: &str, may_lack: bool) -> Result<(), String> {
    let mut how = how.chars();
    let letter = how.next().expect("a letter");
    let count = how.next();
    let fits =
        |frame: &Frame| frame.letter == letter && frame.name.as_deref().unwrap_or("-") == name;
    let mut found = 0;
    while (found == 0 || matches!(count, Some('+' | '*'))) && frames.next_if(fits).is_some() {
        found += 1;
    }
    if found == 0 && !(count == Some('~') && may_lack) {
        let next = frames.peek();
        return Err(format!("{name} is not where it should be, but {next:x?}"));
    }
    if name.contains("{closure") {
        let adapter = format!("<{name} as core::ops::function::");
        frames.next_if(|frame| frame.letter == letter && has_prefix(frame, &adapter));
    }
    Ok(())
}

fn has_prefix(frame: &Frame, prefix: &str) -> bool {
    let name = frame.name.as_deref();
    name.is_some_and(|name| name.starts_with(prefix))
}
