//! The levels of a blob: how much it says about an address.

use std::fmt;

use unwind::symbols::format::{self, Promise};

/// How much a `.symbols` blob holds, ascending. [`format::promise`] has what each level promises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Names of functions.
    Names,
    /// Names, and the line of the outermost frame, for any address.
    Lines,
    /// Names, and all frames at call sites, to which return addresses lead.
    CallSites,
    /// [`Lines`](Self::Lines) and [`CallSites`](Self::CallSites).
    Calls,
    /// [`Calls`](Self::Calls), and all frames at instructions that can fault: all that a trace of a crash needs.
    #[default]
    Faults,
    /// All frames, for any address.
    All,
}

impl Level {
    /// The number in a blob's header.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Names => format::LEVEL_NAMES,
            Self::Lines => format::LEVEL_LINES,
            Self::CallSites => format::LEVEL_CALL_SITES,
            Self::Calls => format::LEVEL_CALLS,
            Self::Faults => format::LEVEL_FAULTS,
            Self::All => format::LEVEL_ALL,
        }
    }

    /// The largest size of a chunk's rows, in bytes before compression. A look-up reads half a chunk on average: half the size
    /// makes it almost twice as fast, but a table of all frames 3 % larger, of calls 8 %.
    pub(super) const fn chunk_size(self) -> usize {
        match self {
            Self::Names => 128,
            Self::Lines | Self::CallSites | Self::Calls | Self::Faults => 192,
            Self::All => 256,
        }
    }

    /// Whether it needs to know which instructions are calls, or can fault.
    #[must_use]
    pub fn wants_instructions(self) -> bool {
        let promise = self.promise();
        promise.calls != promise.elsewhere
    }

    /// What it promises.
    pub(super) const fn promise(self) -> Promise {
        format::promise(self.number())
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Names => "names",
            Self::Lines => "lines",
            Self::CallSites => "call-sites",
            Self::Calls => "calls",
            Self::Faults => "faults",
            Self::All => "all",
        })
    }
}
