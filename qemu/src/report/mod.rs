//! Parses the text of reports: the grammar in `unwind/src/report.rs`, and the first lines of this repository's kernel. It is the
//! only parser of reports on the host.

mod failure;
mod line;

pub use failure::has_failure;
pub use line::{End, Frame, Line, Named, Source, TailCall, Verdict};

/// What a line that begins a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// The kernel ends: a panic, an exception, a hang.
    Failure,
    /// The kernel goes on: a breakpoint, or somebody outside asks.
    Question,
    /// A CPU that had to stop for another's report, or failed as well.
    OtherCpu,
    /// A task, whose trace follows.
    Task,
}

impl Begin {
    /// What a line begins, if it begins a report.
    #[must_use]
    pub fn of(line: &str) -> Option<Self> {
        let begins = |words: &[&str]| words.iter().any(|begin| line.starts_with(begin));
        let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
        if begins(&["panicked at ", "fault on cpu ", "hang on cpu "]) {
            Some(Self::Failure)
        } else if begins(&["breakpoint on cpu ", "interrupted on cpu "]) {
            Some(Self::Question)
        } else if line.starts_with("cpu ")
            && has(&[" stopped at ", " also failed: ", " failed too: "])
        {
            Some(Self::OtherCpu)
        } else if line.starts_with("task ")
            && !line.ends_with(": has ended")
            && (!line.contains(": runs on cpu ")
                || line.ends_with(", this one")
                || line.ends_with(", stopped there"))
        {
            Some(Self::Task)
        } else {
            None
        }
    }
}

/// Begin of a line about a failure inside of a report.
const FAILED_TO_REPORT: &str = "during the report: ";

/// Whether a line says that the report itself failed.
#[must_use]
pub fn is_failure_to_report(line: &str) -> bool {
    line.starts_with(FAILED_TO_REPORT)
}
