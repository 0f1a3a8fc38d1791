//! The result of a look-up: the rules of a row, and of which function it is, or why there is none.

use core::fmt;

use crate::memory::Range;
use crate::rules::Rules;
use crate::text::{Filled, texts};

/// The row that a source has for an address, and its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The function's range of addresses, or a part of it with the address that was looked up:
    /// [`RowSource::function`](crate::RowSource::function) has all of it then.
    pub range: Range,
    /// A number of the source's own, which tells [`RowSource::is_one_function`](crate::RowSource::is_one_function) where it has found this.
    pub place: u32,
    /// Whether it is trap or signal code: its row leads to what was interrupted.
    pub is_trap: bool,
    /// Whether the linker has proven the row. A walk that uses an unproven row never ends [`Complete`](crate::End::Complete).
    pub proof: Proof,
    /// What the row says.
    pub rules: Rules,
}

impl Found {
    /// What a look-up may overwrite.
    pub const EMPTY: Self = Self {
        range: Range::new(0, 0),
        place: 0,
        is_trap: false,
        proof: Proof::Unknown,
        rules: Rules::NO_CALLER,
    };

    /// Whether the row leads to a signed return address, whose signature is no part of the address. No interrupted program counter is
    /// signed: bits of a signature in it are those of a failed authentication.
    #[inline(always)]
    pub(crate) const fn is_signed(&self) -> bool {
        self.rules.is_signed() && !self.is_trap
    }

    /// The last address of [`Self::range`], which is one of the function however much of that the range is.
    #[inline(always)]
    pub(crate) const fn last_address(&self) -> u64 {
        self.range.end.wrapping_sub(1)
    }
}

/// Whether a row is proven: the linker has checked that the row follows from the code on every path to its instruction.
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
    /// The table contains no proof: another tool has written it, or the linker did not run the check.
    Unknown,
}

/// Why a table has no row for an address, or none that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum LookupError {
    /// No function of the table contains the address.
    NoFunction,
    /// The function is there, but has no rows at all. With the signal bit set: a trap or signal frame that the
    /// writer could not describe.
    NoRows {
        /// The function is marked as a signal or trap frame.
        signal: bool,
    },
    /// The function's first row starts after the address.
    NoRow,
    /// The function's entry or rows break the rules of the format.
    Damaged,
    /// The function is of a kind that the table's version does not define.
    Unsupported,
    /// The search would read too much, so that a step would not take a bounded time with any table. A look-up reads at most
    /// 65,536 functions that are not sorted, and as many rows of a function: 200,000 numbers. Of sections one behind another, as
    /// linkers leave them that do not merge any, the first one is read as if it were alone, and of further ones as many as have 65,536
    /// functions together; one that is sorted, or has fewer than 64, counts as 64. That makes 500,000 numbers in all.
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
            Self::NoFunction => "no function in the table",
            Self::NoRows { signal: true } => "a trap frame without rows",
            Self::NoRows { signal: false } => "a function without rows",
            Self::NoRow => "the rows of its function start after it",
            Self::Damaged => "its table entry is damaged",
            Self::Unsupported => "its table entry is of an unknown kind",
            Self::TooLarge => "its table is too large to be searched",
        }
    }
}

impl core::error::Error for LookupError {}
