//! A function of a table: the addresses of its code, and its rows.

use core::iter::FusedIterator;

use crate::lookup::{Found, LookupError};
use crate::memory::Range;
use crate::row::Row;
use crate::rules::Rules;
use crate::sframe::find::MAX_READ;
use crate::sframe::format;
use crate::sframe::row::{RawRow, RowFormat};

/// The block size of PC-mask functions in version 1, which does not contain it. Their only writer is GNU ld 2.40, for x86-64
/// PLT entries of 16 bytes.
const VERSION_1_BLOCK: u32 = 16;

/// A function of a section: a function descriptor entry (FDE), with the attributes that version 3 stores before the rows.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::*;
/// use unwind::sframe::Tables;
///
/// let function = Tables::new(&TABLE, 0x2000).function_at(0x1018).expect("a function");
/// assert!(function.contains(0x102f) && !function.contains(0x1030));
/// let offsets: Vec<u32> = function.rows().map(|row| row.offset).collect();
/// assert_eq!(offsets, [0, 1]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Function<'a> {
    pub(crate) start: u64,
    pub(crate) size: u32,
    /// The row sub-section from this function's first row on.
    pub(crate) rows: &'a [u8],
    pub(crate) row_count: u32,
    pub(crate) info: u8,
    pub(crate) info2: u8,
    pub(crate) block: u8,
    pub(crate) format: RowFormat,
}

impl<'a> Function<'a> {
    /// Returns the address of the first instruction.
    #[must_use]
    pub const fn start(&self) -> u64 {
        self.start
    }

    /// Returns the size of the code in bytes.
    #[must_use]
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// Returns the number of rows, as the table contains it.
    #[must_use]
    pub const fn row_count(&self) -> u32 {
        self.row_count
    }

    /// Returns the addresses of the code.
    pub(crate) const fn range(&self) -> Range {
        Range::new(self.start, self.start.saturating_add(self.size as u64))
    }

    /// Checks whether the function contains the address `pc`.
    #[must_use]
    pub const fn contains(&self, pc: u64) -> bool {
        pc.wrapping_sub(self.start) < self.size as u64
    }

    /// Checks whether the function is signal or trap code, whose rows lead to the interrupted frame (version 3).
    #[must_use]
    pub const fn is_signal_frame(&self) -> bool {
        self.format.version >= 3 && self.info & format::INFO_SIGNAL != 0
    }

    /// Checks whether the rows describe one block that is repeated through the function (PC-mask, for PLT entries).
    #[must_use]
    pub const fn is_pc_mask(&self) -> bool {
        self.info & format::INFO_PC_MASK != 0
    }

    /// Checks whether signed return addresses use key B (AArch64).
    #[must_use]
    pub const fn uses_key_b(&self) -> bool {
        self.info & format::INFO_PAUTH_KEY_B != 0
    }

    /// Checks whether the rows have control words (the flexible kind of version 3).
    #[must_use]
    pub const fn is_flexible(&self) -> bool {
        self.format.version >= 3 && self.info2 & format::INFO2_KIND == format::KIND_FLEXIBLE
    }

    /// Returns the width code of the rows' start offsets: 0, 1, 2 for 1, 2, 4 bytes.
    pub(crate) const fn start_width(&self) -> u8 {
        self.info & format::INFO_START_WIDTH
    }

    /// Returns the size of the repeated block of a PC-mask function in bytes: 16 in version 1, which does not contain the size.
    #[must_use]
    pub const fn block_size(&self) -> u32 {
        match self.format.version {
            1 if self.is_pc_mask() => VERSION_1_BLOCK,
            _ => self.block as u32,
        }
    }

    /// Returns the rows, in the order of the table. The iterator ends before a damaged row: compare with [`Self::row_count`].
    #[must_use]
    pub const fn rows(&self) -> Rows<'a> {
        Rows {
            function: *self,
            rest: self.rows,
            left: self.row_count,
        }
    }

    /// Returns the row for the address `pc`.
    #[must_use]
    pub fn row_at(&self, pc: u64) -> Option<Row> {
        self.lookup(pc).ok()
    }

    /// Returns the row for the address `pc`, or the reason if there is none.
    ///
    /// # Errors
    /// Returns an error if no usable row exists for `pc`: see [`LookupError`].
    pub fn lookup(&self, pc: u64) -> Result<Row, LookupError> {
        self.decode(self.find_row(pc)?)
    }

    /// Decodes one of its rows.
    pub(super) fn decode(&self, raw: RawRow<'_>) -> Result<Row, LookupError> {
        let mut rules = Rules::NO_CALLER;
        let decoded = self.format.decode(raw, self.is_flexible(), &mut rules);
        decoded.map(|()| raw.row(rules)).ok_or(LookupError::Damaged)
    }

    /// Does what [`Self::lookup`] does, but finds only what a walk needs.
    #[inline(always)]
    pub(super) fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        let raw = self.find_row(pc)?;
        found.range = self.range();
        found.is_trap = self.is_signal_frame();
        let decoded = self
            .format
            .decode(raw, self.is_flexible(), &mut found.rules);
        decoded.ok_or(LookupError::Damaged)
    }

    /// Returns the row for the address `pc`, not decoded.
    #[inline(never)]
    fn find_row(&self, pc: u64) -> Result<RawRow<'a>, LookupError> {
        let offset = self.offset(pc)?;
        let mut rest = self.rows;
        let mut found = Err(LookupError::NoRow);
        for _ in 0..self.row_count {
            let (raw, behind) = self.first_row(rest).ok_or(LookupError::Damaged)?;
            if raw.start > offset {
                break;
            }
            found = Ok(raw);
            rest = behind;
        }
        found
    }

    /// Returns the offset of `pc` from the start of the function, or of the repeated block, with which to search the row.
    #[inline(always)]
    fn offset(&self, pc: u64) -> Result<u32, LookupError> {
        if !self.contains(pc) {
            return Err(LookupError::NoFunction);
        }
        if self.is_unknown_kind() {
            return Err(LookupError::Unsupported);
        }
        if self.row_count == 0 {
            return Err(LookupError::NoRows {
                signal: self.is_signal_frame(),
            });
        }
        if self.row_count > MAX_READ {
            return Err(LookupError::TooLarge);
        }
        // It is below `size`, so it fits.
        let offset = u32::try_from(pc.wrapping_sub(self.start)).unwrap_or(u32::MAX);
        if !self.is_pc_mask() {
            return Ok(offset);
        }
        offset
            .checked_rem(self.block_size())
            .ok_or(LookupError::Damaged)
    }

    /// Returns the first of `rows`, which are rows of this function, and the rows after it. `None` if a part of it is outside, or if its words
    /// have no valid width.
    pub(super) fn first_row<'r>(&self, rows: &'r [u8]) -> Option<(RawRow<'r>, &'r [u8])> {
        let width = 1_usize.checked_shl(self.start_width().into())?;
        let (start, rest) = rows.split_at_checked(width)?;
        let (&info, rest) = rest.split_first()?;
        RawRow::split(self.format.order.number(start), info, rest)
    }

    /// Checks whether the rows are of a kind that the table's version does not define.
    pub(super) const fn is_unknown_kind(&self) -> bool {
        self.info & format::INFO_START_WIDTH > 2
            || (self.format.version >= 3 && self.info2 & format::INFO2_KIND > format::KIND_FLEXIBLE)
    }
}

/// Iterator over the rows of a function. [`Function::rows`] returns it.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    function: Function<'a>,
    rest: &'a [u8],
    left: u32,
}

impl Iterator for Rows<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        self.left = self.left.checked_sub(1)?;
        let function = &self.function;
        let row = (!function.is_unknown_kind())
            .then(|| function.first_row(self.rest))
            .flatten()
            .and_then(|(raw, rest)| {
                self.rest = rest;
                function.decode(raw).ok()
            });
        if row.is_none() {
            self.left = 0;
        }
        row
    }
}

impl FusedIterator for Rows<'_> {}
