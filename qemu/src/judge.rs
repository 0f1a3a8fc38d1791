//! Judges whether a boot ended as it should.

use linker::symbols::printable;

use crate::machine::{Booted, Verdict};
use crate::report::{self, Begin, Line};
use crate::scenario::Outcome;
use crate::status::Status;

/// An exit status, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The exit status.
    pub status: Status,
    /// Why, in words that follow "SCENARIO: ".
    pub words: String,
}

impl Judgement {
    fn new(status: Status, words: impl Into<String>) -> Self {
        let words = words.into();
        Self { status, words }
    }

    /// Adds what a boot lacks. That hides no verdict, but is no success.
    fn without(self, booted: &Booted) -> Self {
        let Some(lacks) = &booted.lacks else {
            return self;
        };
        let status = match self.status {
            Status::Success => Status::Failed,
            status => status,
        };
        Self::new(status, format!("{}; {lacks}", self.words))
    }
}

/// Judges a scenario by its expected outcome.
#[must_use]
pub fn scenario(expected: Outcome, booted: &Booted) -> Judgement {
    by_outcome(expected, booted).without(booted)
}

/// Judges an image without an expected outcome, by its own verdict.
#[must_use]
pub fn image(booted: &Booted) -> Judgement {
    by_verdict(booted).without(booted)
}

fn by_outcome(expected: Outcome, booted: &Booted) -> Judgement {
    let failed = |words: &str| Judgement::new(Status::Failed, words);
    match (&booted.verdict, expected) {
        (
            Verdict::TimedOut
            | Verdict::OutOfGuestTime
            | Verdict::Left
            | Verdict::Interrupted
            | Verdict::Failed(_),
            _,
        )
        | (_, Outcome::Interactive)
        | (Verdict::Panicked, Outcome::Hangs) => by_verdict(booted),
        (Verdict::Success, Outcome::Succeeds | Outcome::SucceedsAfterReset) => {
            Judgement::new(Status::Success, "succeeded, as expected")
        }
        (Verdict::Success, Outcome::Hangs) => failed("succeeded, but should have hung"),
        (Verdict::Success, _) => failed("succeeded, but should have panicked"),
        (Verdict::Panicked, Outcome::Succeeds | Outcome::SucceedsAfterReset) => {
            failed("panicked, but should have succeeded")
        }
        (Verdict::Panicked, Outcome::FailsToReport) => match failed_report(&booted.serial) {
            true => Judgement::new(
                Status::Success,
                "panicked twice, as expected, and printed one line for each panic",
            ),
            false => failed("panicked, but the panic report did not fail as expected"),
        },
        (Verdict::Panicked, Outcome::Panics | Outcome::PanicsInDoubt) => {
            let doubt = expected == Outcome::PanicsInDoubt;
            match whole_report(&booted.serial, doubt) {
                Ok(end) if doubt => Judgement::new(
                    Status::Success,
                    format!("panicked, as expected; the backtrace is marked as in doubt ({end})"),
                ),
                Ok(frames) => Judgement::new(
                    Status::Success,
                    format!("panicked, as expected, with a complete backtrace ({frames})"),
                ),
                Err(lacks) => failed(lacks),
            }
        }
    }
}

fn by_verdict(booted: &Booted) -> Judgement {
    match &booted.verdict {
        Verdict::Success => Judgement::new(Status::Success, "succeeded"),
        Verdict::Panicked => Judgement::new(Status::Panicked, "panicked"),
        Verdict::Left if booted.has_report => {
            Judgement::new(Status::Panicked, "panicked, and then the user ended QEMU")
        }
        Verdict::Left => Judgement::new(Status::Success, "left"),
        Verdict::Interrupted => Judgement::new(Status::Interrupted, "interrupted by Ctrl-C"),
        Verdict::TimedOut => {
            let seconds = booted.took.as_secs();
            Judgement::new(Status::TimedOut, format!("timed out after {seconds} s"))
        }
        Verdict::OutOfGuestTime => Judgement::new(
            Status::TimedOut,
            "the machine's own clock reached the time limit",
        ),
        Verdict::Failed(how) => Judgement::new(Status::Failed, how.clone()),
    }
}

/// The line before the callers of a report that has failed because its stack had too little space: in this version, and in earlier versions.
const NO_ROOM: [&str; 2] = [
    "the stack of the failed code was too small for the report; backtrace of the failed code:",
    "the stack was too small for the report; backtrace of the failure:",
];

/// Whether a report began, said in the next line that it failed, and wrote no further trace, but that of [`NO_ROOM`].
fn failed_report(serial: &[u8]) -> bool {
    let text = String::from_utf8_lossy(serial);
    let rest = text.lines().skip_while(|line| !begins(line)).skip(1);
    let lines: Vec<_> = rest.map(str::trim_end).collect();
    let is_end = |line: &&str| matches!(Line::parse(line), Some((_, Line::End(_))));
    lines
        .first()
        .is_some_and(|line| report::is_failure_to_report(line))
        && !(lines.iter().take_while(|line| !NO_ROOM.contains(line))).any(is_end)
}

fn begins(line: &str) -> bool {
    Begin::of(line) == Some(Begin::Failure)
}

/// Whether the list of another CPU or of a task follows.
fn is_of_another(line: &str) -> bool {
    Begin::of(line).is_some_and(|begin| begin != Begin::Failure)
}

/// The number in a line of a compact report, which has no address: `  0 p kernel::bad::x86_64::read (..src/bad/x86_64/mod.rs:24)`.
fn compact_frame(line: &str) -> Option<usize> {
    let mut words = line.split_whitespace();
    let number = words.next()?.parse().ok()?;
    words
        .next()
        .is_some_and(|word| ["p", "r", "a", "f", "l", "?"].contains(&word))
        .then_some(number)
}

/// Looks for a whole report on the serial line. Returns how many frames it has or, if its callers should be `in_doubt`, the
/// words of its verdict. The error is what it lacks.
fn whole_report(serial: &[u8], in_doubt: bool) -> Result<String, &'static str> {
    // Lines may end in "\r\n", which terminals need.
    let text = String::from_utf8_lossy(serial);
    let mut lines = text.lines().map(str::trim_end);
    if !lines.by_ref().any(begins) {
        return Err(
            "panicked, but printed no line that begins with \"panicked at \" or \"fault on cpu \"",
        );
    }
    // The list of another CPU or of a task has an end line of its own.
    let mut lines = lines.take_while(|line| !is_of_another(line));
    let (mut frames, mut is_gapless) = (0_usize, true);
    let end = lines.find_map(|line| {
        let Some((_, line)) = Line::parse(line) else {
            // A compact report leaves out frames without a line about that.
            let number = compact_frame(line)?;
            is_gapless &= number >= frames;
            frames = number.saturating_add(1);
            return None;
        };
        match line {
            Line::End(end) => return Some(end),
            Line::Frame(frame) => {
                is_gapless &= frame.number.trim().parse() == Ok(frames);
                frames = frames.saturating_add(1);
            }
            Line::LeftOut(count) => frames = frames.saturating_add(count),
            _ => {}
        }
        None
    });
    let Some(end) = end else {
        return Err("panicked, but the last line of its backtrace is missing");
    };
    if !is_gapless || frames != end.frames {
        return Err(
            "panicked, but the number of frames in the backtrace differs from the number in its last line",
        );
    }
    let is_whole = matches!(
        end.verdict,
        report::Verdict::Complete | report::Verdict::User
    );
    match (is_whole, in_doubt) {
        (true, false) => Ok(format!("{} frames", end.frames)),
        (false, true) => Ok(format!("{}, {} frames", printable(end.words), end.frames)),
        (false, false) => Err("panicked, but the backtrace is not complete"),
        (true, true) => Err(
            "panicked with a complete backtrace, but the scenario expects a backtrace that is marked as in doubt",
        ),
    }
}

#[cfg(test)]
mod tests;
