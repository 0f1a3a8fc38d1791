//! The verdict of a run, as QEMU's exit status.

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The scenario ran to its end.
    Success,
    /// The kernel panicked or faulted.
    Panicked,
}

impl Verdict {
    /// QEMU's exit status: 33 success, 101 panicked, as Rust programs do. Both are odd, because isa-debug-exit gives no even
    /// ones.
    pub const fn status(self) -> u8 {
        match self {
            Self::Success => 33,
            Self::Panicked => 101,
        }
    }
}
