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
mod tests {
    use std::time::Duration;

    use super::*;

    const REPORT: &str = "kernel\r\npanicked at src/a.rs:1:2: no\r\n   0: 0x0000000000000000 p a\r\n\
                          end of backtrace: complete, 1 frames\r\n";

    fn booted(verdict: Verdict, serial: &str) -> Booted {
        Booted {
            verdict,
            serial: serial.into(),
            has_report: report::has_failure(serial.as_bytes()),
            asked: Vec::new(),
            took: Duration::from_secs(5),
            lacks: None,
        }
    }

    #[test]
    fn a_panic_needs_a_whole_report() {
        let whole = scenario(Outcome::Panics, &booted(Verdict::Panicked, REPORT));
        assert_eq!(whole.status, Status::Success, "{}", whole.words);
        assert!(whole.words.contains("1 frames"), "{}", whole.words);
        let spoilt = [
            ("panicked at ", "paniced at ", "no line"),
            (
                "end of",
                "end with",
                "the last line of its backtrace is missing",
            ),
            ("complete,", "incomplete: no row,", "not complete"),
        ];
        for (from, to, words) in spoilt {
            let serial = REPORT.replace(from, to);
            let judged = scenario(Outcome::Panics, &booted(Verdict::Panicked, &serial));
            assert_eq!(judged.status, Status::Failed);
            assert!(judged.words.contains(words), "{}", judged.words);
        }
    }

    /// The end line of another list is not that of the failure's.
    #[test]
    fn a_panic_needs_all_frames_of_its_own_list() {
        let frame = |number| format!("{number:>4}: 0x0000000000000000 r a\n");
        let end = |count| format!("end of backtrace: complete, {count} frames\n");
        let begin = "panicked at a:1:2: no\ncpu 0, x86_64\n".to_owned();
        let other = "cpu 1, task main1, stopped at 0x10, stack boot of cpu 1\n".to_owned();
        let task = "task first: ready\n".to_owned();
        let out = "   ----- 40 frames left out -----\n".to_owned();
        let compact = |number| format!("{number:>3} r a (a:1)\n");
        let judged = |lines: &[String]| {
            let serial = lines.concat();
            scenario(Outcome::Panics, &booted(Verdict::Panicked, &serial)).status
        };
        let whole = [
            vec![begin.clone(), frame(0), frame(1), end(2)],
            vec![begin.clone(), frame(0), out.clone(), frame(41), end(42)],
            vec![begin.clone(), frame(0), end(1), other.clone(), end(3)],
            vec![begin.clone(), compact(0), compact(1), end(2)],
            vec![begin.clone(), compact(0), compact(41), end(42)],
        ];
        for lines in whole {
            assert_eq!(judged(&lines), Status::Success, "{lines:?}");
        }
        let lacking = [
            vec![begin.clone(), end(2)],
            vec![begin.clone(), compact(0), end(2)],
            vec![begin.clone(), compact(1), compact(0), end(1)],
            vec![begin.clone(), frame(0), end(2)],
            vec![begin.clone(), frame(1), end(1)],
            vec![begin.clone(), frame(0), frame(2), end(2)],
            vec![begin.clone(), frame(0), frame(41), end(42)],
            vec![begin.clone(), frame(0), other.clone(), frame(0), end(1)],
            vec![begin.clone(), other, frame(0), end(1)],
            vec![begin.clone(), frame(0), task.clone(), frame(1), end(2)],
            vec![begin, task, frame(0), end(1)],
        ];
        for lines in lacking {
            assert_eq!(judged(&lines), Status::Failed, "{lines:?}");
        }
    }

    #[test]
    fn a_scenario_that_should_hang_must_not_succeed() {
        let judged = |verdict| scenario(Outcome::Hangs, &booted(verdict, ""));
        let success = judged(Verdict::Success);
        assert_eq!(success.status, Status::Failed);
        assert_eq!(success.words, "succeeded, but should have hung");
        assert_eq!(judged(Verdict::TimedOut).status, Status::TimedOut);
    }

    #[test]
    fn an_exception_is_reported_too() {
        let fault = REPORT.replace(
            "panicked at src/a.rs:1:2: no",
            "fault on cpu 0 at 0x0: page fault",
        );
        let judged = scenario(Outcome::Panics, &booted(Verdict::Panicked, &fault));
        assert_eq!(judged.status, Status::Success, "{}", judged.words);
    }

    #[test]
    fn a_doubt_must_be_said() {
        let status = |serial: &str| {
            scenario(Outcome::PanicsInDoubt, &booted(Verdict::Panicked, serial)).status
        };
        assert_eq!(status(REPORT), Status::Failed);
        assert_eq!(
            status(&REPORT.replace("complete", "incomplete: no")),
            Status::Success
        );
        assert_eq!(
            status(&REPORT.replace("end of", "end with")),
            Status::Failed
        );
    }

    #[test]
    fn a_report_without_a_verdict_is_not_enough() {
        let failed = Verdict::Failed("reset".into());
        let status = |verdict| scenario(Outcome::Panics, &booted(verdict, REPORT)).status;
        assert_eq!(status(failed), Status::Failed);
        assert_eq!(status(Verdict::Success), Status::Failed);
        assert_eq!(status(Verdict::TimedOut), Status::TimedOut);
    }

    #[test]
    fn what_is_lacking_hides_no_verdict() {
        let judged = |verdict| {
            let booted = Booted {
                lacks: Some("no picture".into()),
                ..booted(verdict, "")
            };
            image(&booted)
        };
        let expected = |status, words: &str| Judgement::new(status, words);
        assert_eq!(
            judged(Verdict::Success),
            expected(Status::Failed, "succeeded; no picture")
        );
        assert_eq!(
            judged(Verdict::Panicked),
            expected(Status::Panicked, "panicked; no picture")
        );
    }

    #[test]
    fn success_must_be_meant() {
        let status = |verdict| scenario(Outcome::Succeeds, &booted(verdict, REPORT)).status;
        assert_eq!(status(Verdict::Success), Status::Success);
        assert_eq!(status(Verdict::Panicked), Status::Failed);
        assert_eq!(status(Verdict::TimedOut), Status::TimedOut);
        assert_eq!(status(Verdict::Left), Status::Panicked);
    }

    #[test]
    fn a_report_that_fails_says_so_in_one_line() {
        let status = |serial: &str| {
            scenario(Outcome::FailsToReport, &booted(Verdict::Panicked, serial)).status
        };
        let failed =
            "kernel\npanicked at a:1:2: no\nduring the report: panicked at b\nfirst failure: no\n";
        assert_eq!(status(failed), Status::Success);
        assert_eq!(status(&failed.replace("during", "in")), Status::Failed);
        assert_eq!(
            status(&failed.replace("panicked at a", "a")),
            Status::Failed
        );
        assert_eq!(status(&(failed.to_owned() + REPORT)), Status::Failed);
    }

    #[test]
    fn an_interactive_scenario_ends_as_it_is_told_to() {
        let status = |verdict| scenario(Outcome::Interactive, &booted(verdict, "")).status;
        assert_eq!(status(Verdict::Success), Status::Success);
        assert_eq!(status(Verdict::Panicked), Status::Panicked);
        // Who leaves is asked for no verdict; the kernel's own report is one.
        assert_eq!(status(Verdict::Left), Status::Success);
        let serial = "panicked at src/main.rs:1:2:\noh\n";
        for judge in [image, |booted: &Booted| {
            scenario(Outcome::Interactive, booted)
        }] {
            let left = judge(&booted(Verdict::Left, serial));
            assert_eq!(left.status, Status::Panicked);
        }
    }

    #[test]
    fn an_image_is_taken_at_its_word() {
        let status = |verdict| image(&booted(verdict, "")).status;
        assert_eq!(status(Verdict::Success), Status::Success);
        assert_eq!(status(Verdict::Panicked), Status::Panicked);
        assert_eq!(status(Verdict::TimedOut), Status::TimedOut);
        assert_eq!(status(Verdict::Failed("reset".into())), Status::Failed);
    }
}
