//! The text of reports, taken apart: the grammar that `unwind/src/report.rs` writes down, and the first lines of this repository's
//! kernel. Whoever reads a report on the host reads it by this.

mod line;

pub use line::{End, Frame, Line, Named, Source, TailCall, Verdict};

/// Whose trace follows a line that begins a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// The kernel ends: a panic, an exception, a hang.
    Failure,
    /// The kernel goes on: a breakpoint, or somebody outside asks.
    Question,
    /// A CPU that had to stop for another's report, or failed as well.
    OtherCpu,
    /// A task, with its trace behind.
    Task,
}

impl Begin {
    /// What the line begins, if it begins something.
    #[must_use]
    pub fn of(line: &str) -> Option<Self> {
        let begins = |words: &[&str]| words.iter().any(|begin| line.starts_with(begin));
        let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
        if begins(&["panicked at ", "fault on cpu ", "hang on cpu "]) {
            Some(Self::Failure)
        } else if begins(&["breakpoint on cpu ", "interrupted on cpu "]) {
            Some(Self::Question)
        } else if line.starts_with("cpu ") && has(&[" stopped at ", " failed too: "]) {
            Some(Self::OtherCpu)
        } else if line.starts_with("task ")
            && !line.ends_with(": has ended")
            && (!line.contains(": runs on cpu ") || line.ends_with(", this one"))
        {
            Some(Self::Task)
        } else {
            None
        }
    }
}

/// Whether a line tells of an error in a report.
#[must_use]
pub fn is_failure_to_report(line: &str) -> bool {
    line.starts_with("during the report: ")
}
