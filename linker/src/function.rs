//! What both ends of the conversion have in common: functions with rows, and functions that cannot have any.

use std::fmt;

use unwind::sframe::Row;

use crate::reason::Reason;

/// Code with one list of rows: a function, or a part of one. The rows are those of the reader in `unwind`, so that what was meant and what is read
/// back are compared as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Address of the first instruction.
    pub start: u64,
    /// Bytes of code.
    pub size: u32,
    /// Ascending by offset, the first at 0, each different from the one before. Empty in a signal frame that rows cannot
    /// describe, and where they were wrong and the right ones are not known.
    pub rows: Vec<Row>,
    /// The function is entered by an interruption, not by a call: DWARF's augmentation `S`.
    pub signal: bool,
    /// Signed return addresses use key B (AArch64): DWARF's augmentation `B`.
    pub key_b: bool,
    /// The rows describe one block of so many bytes, which is repeated through the function (PC-mask; PLT entries).
    pub block: Option<u8>,
}

impl Function {
    /// Address after the last instruction.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start.wrapping_add(self.size.into())
    }
}

/// Code that a table has no rows for: a function, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Address of its first instruction.
    pub start: u64,
    /// Bytes of code.
    pub size: u64,
    /// What cannot be said.
    pub why: Construct,
}

/// What `.eh_frame` says and SFrame cannot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Construct {
    /// The CIE keeps the return address in another column than the ABI.
    ReturnColumn(u16),
    /// There is no rule for the CFA (`.cfi_startproc simple`).
    NoCfa,
    /// A rule of the kind named, for the value named.
    Rule {
        /// The CFA or a register.
        of: &'static str,
        /// The rule, in DWARF's words.
        rule: String,
    },
    /// An offset, in bytes, beyond the 32 bits of a word.
    Offset(i64),
    /// Something that only version 3 has.
    NeedsVersion3(&'static str),
    /// More rows than the 16 bits of the count hold.
    TooManyRows(usize),
    /// More bytes of code than the 32 bits of the size hold.
    TooLong,
    /// The code also belongs to another function, which starts at this address and says something else.
    Overlaps(u64),
    /// A table that already was there has no rows for it that can be read.
    Damaged,
    /// The instructions cannot be interpreted.
    Malformed(gimli::Error),
    /// There is no call frame information, and the code does not tell either.
    Unproven(Reason),
}

/// Whether a row only repeats what the one before it said.
pub(crate) fn says_the_same(last: &Row, row: &Row) -> bool {
    *last
        == Row {
            offset: last.offset,
            ..*row
        }
}

impl fmt::Display for Construct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReturnColumn(column) => write!(f, "return address in column {column}"),
            Self::NoCfa => f.write_str("no rule for the CFA"),
            Self::Rule { of, rule } => write!(f, "{of}: {rule}"),
            Self::Offset(offset) => write!(f, "offset {offset} does not fit in 32 bits"),
            Self::NeedsVersion3(what) => write!(f, "{what} need version 3"),
            Self::TooManyRows(rows) => write!(f, "{rows} rows are more than 65535"),
            Self::TooLong => f.write_str("more than 4 GiB of code"),
            Self::Overlaps(start) => write!(f, "overlaps the function at {start:#x}"),
            Self::Damaged => f.write_str("damaged in the .sframe that was there"),
            Self::Malformed(error) => write!(f, "malformed instructions: {error}"),
            Self::Unproven(reason) => write!(f, "no call frame information, and {reason}"),
        }
    }
}
