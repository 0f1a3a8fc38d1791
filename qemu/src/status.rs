//! The runner's exit status, which scripts rely on.

use std::process::ExitCode;

/// The exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// The scenario ended as it should, or the image reported success.
    Success = 0,
    /// The runner or the machine failed, or a scenario did not end as expected.
    Failed = 1,
    /// The arguments cannot be used.
    Usage = 2,
    /// The image panicked. 101 is also what a Rust program on a host ends with.
    Panicked = 101,
    /// Time ran out. 124 is also what `timeout` of coreutils ends with.
    TimedOut = 124,
    /// Ctrl-C. 130 is also what shells say of programs that it ends.
    Interrupted = 130,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status as u8)
    }
}

/// An error, and its exit status.
#[derive(Debug)]
pub struct Failure {
    /// What went wrong.
    pub error: anyhow::Error,
    /// [`Status::Failed`] or [`Status::Usage`].
    pub status: Status,
}

impl Failure {
    /// The arguments cannot be used.
    #[must_use]
    pub const fn usage(error: anyhow::Error) -> Self {
        Self {
            error,
            status: Status::Usage,
        }
    }
}

/// `?` on an ordinary error means that the runner failed.
impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self {
            error,
            status: Status::Failed,
        }
    }
}
