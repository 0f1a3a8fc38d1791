//! Functions with rows, and code without rows: what call frame information is read to, and tables are written from.

use std::fmt;

use unwind::sframe::Row;

use crate::reason::Reason;

/// Code with one list of rows: a function, or a part of one. Rows have the type of the reader in `unwind`, so that written
/// rows and those read back can be compared directly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Address of the first instruction.
    pub start: u64,
    /// Bytes of code.
    pub size: u32,
    /// Ascending by offset, the first at 0, each different from the one before. Empty in a signal frame that rows cannot
    /// describe, and where they were wrong and the right ones are not known.
    pub rows: Vec<Row>,
    /// The function is entered by an interrupt, exception or signal, not by a call: DWARF's augmentation `S`.
    pub signal: bool,
    /// Signed return addresses use key B (AArch64): DWARF's augmentation `B`.
    pub key_b: bool,
    /// It is a part of the function before it, which has no rows in between, or has them up to here. Only a rule map can say so.
    pub continues: bool,
    /// The rows describe one block of so many bytes, which is repeated through the function (PC-mask; PLT entries).
    pub block: Option<u8>,
}

impl Function {
    /// Address after the last instruction.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start.wrapping_add(self.size.into())
    }

    /// Whether all of it has one row, which says that there is no caller.
    #[must_use]
    pub fn has_no_caller(&self) -> bool {
        matches!(&self.rows[..], [row] if row.offset == 0 && row.is_outermost())
    }
}

/// Code that a table has no rows for: a function, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Address of its first instruction.
    pub start: u64,
    /// Bytes of code.
    pub size: u64,
    /// Why it has none.
    pub why: Construct,
}

/// Why code has no rows: mostly a construct of `.eh_frame` that SFrame cannot express.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Construct {
    /// The CIE keeps the return address in another column than the ABI.
    ReturnColumn(u16),
    /// There is no rule for the CFA (`.cfi_startproc simple`).
    NoCfa,
    /// A rule that no row can express.
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
    /// The code also belongs to another function, which starts at this address and has other rows.
    Overlaps(u64),
    /// The rows in the input's `.sframe` cannot be read.
    Damaged,
    /// The call frame instructions cannot be interpreted.
    Malformed(gimli::Error),
    /// There is no call frame information, and no row could be proven from the code.
    Unproven(Reason),
}

/// Whether a row has the same rules as the one before it.
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
            Self::ReturnColumn(column) => write!(
                f,
                "call frame information has the unsupported return address column {column}"
            ),
            Self::NoCfa => f.write_str("call frame information has no rule for the CFA"),
            Self::Rule { of, rule } => write!(f, "{of}: {rule}"),
            Self::Offset(offset) => write!(
                f,
                "an offset in call frame information, {offset}, does not fit in 32 bits"
            ),
            Self::NeedsVersion3(what) => write!(f, "{what} require SFrame version 3 (--sframe=v3)"),
            Self::TooManyRows(rows) => write!(
                f,
                "the function has {rows} unwind rows, but the maximum is 65535"
            ),
            Self::TooLong => f.write_str("the function has more than 4 GiB of code"),
            Self::Overlaps(start) => write!(f, "the function overlaps the function at {start:#x}"),
            Self::Damaged => {
                f.write_str("the rows of the function in the existing section .sframe are damaged")
            }
            Self::Malformed(error) => write!(f, "malformed call frame instructions: {error}"),
            Self::Unproven(reason) => write!(
                f,
                "there is no call frame information, and no row can be synthesized from the code: {reason}"
            ),
        }
    }
}
