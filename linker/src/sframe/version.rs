//! The versions of the format that can be written.

use std::fmt;

use unwind::sframe::format;

/// A version of the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// Version 2 with errata 1: a start is relative to its own field, within 2 GiB. It has no signal frames and no flexible rows.
    V2,
    /// Version 3.
    #[default]
    V3,
}

impl Version {
    /// Whether a row can mark a register of the caller as lost.
    #[must_use]
    pub const fn has_lost(self) -> bool {
        matches!(self, Self::V3)
    }

    /// The version by the header's number. Tables of version 1 are written as version 2, which can express them.
    #[must_use]
    pub const fn of(number: u8) -> Self {
        match number {
            ..=2 => Self::V2,
            _ => Self::V3,
        }
    }

    /// The header's number.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::V2 => 2,
            Self::V3 => 3,
        }
    }

    /// Bytes of a function's entry in the index.
    #[must_use]
    pub const fn function_size(self) -> usize {
        match self {
            Self::V2 => format::FUNCTION_SIZE_V2,
            Self::V3 => format::FUNCTION_SIZE_V3,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.number())
    }
}
