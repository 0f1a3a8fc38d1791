//! The result of a look-up: the rules of a row and its function, or why there is no row.

use core::fmt;

use crate::memory::Range;
use crate::rules::Rules;
use crate::text::{Filled, texts};

/// The row of a source for an address, and its function: the result of [`RowSource::look_up`](crate::RowSource::look_up).
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::*;
/// use unwind::{Found, Proof, Range, RowSource, sframe::Tables};
///
/// let mut found = Found::EMPTY;
/// Tables::new(&TABLE, 0x2000).look_up(0x1018, &mut found)?;
/// assert_eq!(found.range, Range::new(0x1010, 0x1030));
/// assert_eq!((found.proof, found.is_trap), (Proof::Proven, false));
/// # Ok::<(), unwind::LookupError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The addresses of the function, or a part of them that contains the address that was looked up. If it is a part,
    /// [`RowSource::function`](crate::RowSource::function) returns all of them.
    pub range: Range,
    /// A number for the source's own use, in [`RowSource::is_one_function`](crate::RowSource::is_one_function).
    pub place: u32,
    /// Whether the function is trap or signal code, whose row leads to the interrupted frame.
    pub is_trap: bool,
    /// Whether the linker proved the row. A walk that uses an unproven row never ends with [`Complete`](crate::End::Complete).
    pub proof: Proof,
    /// The rules of the row.
    pub rules: Rules,
}

impl Found {
    /// A value for a look-up to overwrite.
    pub const EMPTY: Self = Self {
        range: Range::new(0, 0),
        place: 0,
        is_trap: false,
        proof: Proof::Unknown,
        rules: Rules::NO_CALLER,
    };

    /// Checks whether the row leads to a signed return address, whose signature is not part of the address. An interrupted program counter is
    /// not signed: bits of a signature in it come from a failed authentication.
    #[inline(always)]
    pub(crate) const fn is_signed(&self) -> bool {
        self.rules.is_signed() && !self.is_trap
    }

    /// Returns the last address of [`Self::range`], which is in the function even if the range is a part of it.
    #[inline(always)]
    pub(crate) const fn last_address(&self) -> u64 {
        self.range.end.wrapping_sub(1)
    }
}

/// The proof of a row. A row is proven if the linker checked that it follows from the code, on every path to its instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Proof {
    /// The row is proven.
    Proven,
    /// The table lists the row as unproven: the linker could not derive it from the code.
    Unproven,
    /// The row holds if the processor entered the row's function, as it enters trap code. The code contains no proof of that, because nothing in
    /// it returns from a trap. A walk compares the stack with what the processor pushes.
    IfEntered,
    /// The table contains no proof: another tool wrote it, or the linker did not run the check.
    Unknown,
}

/// The reason why a table has no usable row for an address.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::*;
/// use unwind::{LookupError, sframe::Tables};
///
/// let tables = Tables::new(&TABLE, 0x2000);
/// assert!(tables.lookup(0x1018).is_ok());
/// assert_eq!(tables.lookup(0x1030).err(), Some(LookupError::NoFunction));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum LookupError {
    /// No function of the table contains the address.
    NoFunction,
    /// The function has no rows.
    NoRows {
        /// Whether the function is marked as trap or signal code, whose frame the writer could not describe.
        signal: bool,
    },
    /// The function's first row starts after the address.
    NoRow,
    /// The entry or the rows of the function violate the format.
    Damaged,
    /// The function is of a kind that the table's version does not define.
    Unsupported,
    /// The search would read too many entries, so that the time of a step would not be bounded.
    ///
    /// A look-up reads at most 65,536 functions that are not sorted, and at most 65,536 rows of a function: 200,000 numbers. If a linker did
    /// not merge sections, a look-up reads the first section as if it were alone, and further sections with at most 65,536 functions
    /// together. A section that is sorted or has fewer than 64 functions counts as 64. That is at most 500,000 numbers in all.
    TooLarge,
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.filled().write(f)
    }
}

impl LookupError {
    /// The text of [`Display`](fmt::Display).
    pub(crate) fn filled(&self) -> Filled {
        texts! { *self, [0; 2];
            Self::NoFunction => "no function in the unwind table contains the address",
            Self::NoRows { signal: true } => "the unwind table has no rows for the trap handler",
            Self::NoRows { signal: false } => "the unwind table has no rows for the function",
            Self::NoRow => "the first unwind row of the function starts after the address",
            Self::Damaged => "the unwind table entry of the function is damaged",
            Self::Unsupported => "the unwind table entry of the function has an unsupported format",
            Self::TooLarge => "the unwind table is too large to search",
        }
    }
}

impl core::error::Error for LookupError {}
