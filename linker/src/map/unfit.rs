//! Why an image gets no map.

use std::fmt;

/// What a map cannot say. An image with it keeps `.sframe`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// A function, or a row, does not begin where an instruction can: this address.
    Unaligned(u64),
    /// A function begins before the one before it ends: this address.
    Overlap(u64),
    /// An offset of the row for this address does not fit.
    Offset(u64),
    /// The function at this address has more changes than a look-up reads.
    TooManyChanges(u64),
    /// More different rules than the format can number.
    TooManyRules,
    /// More code, or more gaps in it, than the format can number.
    TooLarge,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unaligned(at) => write!(
                f,
                "the address {at:#x} is not a multiple of the instruction alignment"
            ),
            Self::Overlap(at) => {
                write!(f, "the function at {at:#x} overlaps the previous function")
            }
            Self::Offset(at) => write!(
                f,
                "an offset in the unwind row at {at:#x} is too large for an unwind rule map"
            ),
            Self::TooManyChanges(at) => write!(
                f,
                "the function at {at:#x} has too many rows for an unwind rule map"
            ),
            Self::TooManyRules => {
                f.write_str("the image has too many different unwind rows for an unwind rule map")
            }
            Self::TooLarge => f.write_str("the image has too much code for an unwind rule map"),
        }
    }
}

impl std::error::Error for Unfit {}
