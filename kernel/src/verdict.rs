//! How a run ends, as the exit status of QEMU tells it.

/// What the machine's owner is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The scenario came to its end.
    Success,
    /// The kernel panicked, or met a fault.
    Panicked,
}

impl Verdict {
    /// QEMU's exit status: 33 success, 101 panicked, as Rust programs do. Both odd: isa-debug-exit makes no others.
    pub const fn status(self) -> u8 {
        match self {
            Self::Success => 33,
            Self::Panicked => 101,
        }
    }
}
