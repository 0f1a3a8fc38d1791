//! A function of a table: where its code lies, and its rows.

use core::iter::FusedIterator;

use crate::lookup::{Found, LookupError};
use crate::memory::Range;
use crate::row::Row;
use crate::rules::Rules;
use crate::sframe::find::MAX_READ;
use crate::sframe::format;
use crate::sframe::row::{RawRow, RowFormat};

/// The block size that PC-mask functions of version 1 leave out. Their only writer is GNU ld 2.40, for x86-64
/// PLT entries of 16 bytes.
const VERSION_1_BLOCK: u32 = 16;

/// A function descriptor entry (FDE), with the attributes that version 3 keeps beside the rows.
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
    /// Address of the first instruction.
    #[must_use]
    pub const fn start(&self) -> u64 {
        self.start
    }

    /// Bytes of code.
    #[must_use]
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// Rows that the table says the function has.
    #[must_use]
    pub const fn row_count(&self) -> u32 {
        self.row_count
    }

    /// Where its code lies.
    pub(crate) const fn range(&self) -> Range {
        Range::new(self.start, self.start.saturating_add(self.size as u64))
    }

    /// Whether `pc` (an address) is inside.
    #[must_use]
    pub const fn contains(&self, pc: u64) -> bool {
        pc.wrapping_sub(self.start) < self.size as u64
    }

    /// Whether the function is a signal or trap frame: its caller was interrupted, not calling (version 3).
    #[must_use]
    pub const fn is_signal_frame(&self) -> bool {
        self.format.version >= 3 && self.info & format::INFO_SIGNAL != 0
    }

    /// Whether the rows describe one block that is repeated through the function (PC-mask; PLT entries).
    #[must_use]
    pub const fn is_pc_mask(&self) -> bool {
        self.info & format::INFO_PC_MASK != 0
    }

    /// Whether signed return addresses use key B (AArch64).
    #[must_use]
    pub const fn uses_key_b(&self) -> bool {
        self.info & format::INFO_PAUTH_KEY_B != 0
    }

    /// Whether the rows have control words (version 3's flexible kind).
    #[must_use]
    pub const fn is_flexible(&self) -> bool {
        self.format.version >= 3 && self.info2 & format::INFO2_KIND == format::KIND_FLEXIBLE
    }

    /// Width code of the rows' start offsets: 0, 1, 2 are 1, 2, 4 bytes.
    pub(crate) const fn start_width(&self) -> u8 {
        self.info & format::INFO_START_WIDTH
    }

    /// Bytes of the repeated block of a PC-mask function, as the table has it. Version 1 does not say; it is 16.
    #[must_use]
    pub const fn block_size(&self) -> u32 {
        match self.format.version {
            1 if self.is_pc_mask() => VERSION_1_BLOCK,
            _ => self.block as u32,
        }
    }

    /// The rows, in the order of the table. Ends early at a row that is damaged: compare with [`Self::row_count`].
    #[must_use]
    pub const fn rows(&self) -> Rows<'a> {
        Rows {
            function: *self,
            rest: self.rows,
            left: self.row_count,
        }
    }

    /// The row for the address `pc`.
    #[must_use]
    pub fn row_at(&self, pc: u64) -> Option<Row> {
        self.lookup(pc).ok()
    }

    /// As [`Self::row_at`], with the reason if there is none.
    ///
    /// # Errors
    /// See [`LookupError`].
    pub fn lookup(&self, pc: u64) -> Result<Row, LookupError> {
        self.decode(self.find_row(pc)?)
    }

    /// Decodes one of its rows.
    pub(super) fn decode(&self, raw: RawRow<'_>) -> Result<Row, LookupError> {
        let mut rules = Rules::NO_CALLER;
        let decoded = self.format.decode(raw, self.is_flexible(), &mut rules);
        decoded.map(|()| raw.row(rules)).ok_or(LookupError::Damaged)
    }

    /// As [`Self::lookup`], but finds only what a walk needs.
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

    /// The row for the address `pc`, not decoded.
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

    /// The offset of the row to look for: of `pc`, an address, from the start of the function or of the repeated block.
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

    /// The first of `rows`, which are some of this function's, and the rows after it. `None` if it does not lie wholly inside,
    /// or its words have no valid width.
    pub(super) fn first_row<'r>(&self, rows: &'r [u8]) -> Option<(RawRow<'r>, &'r [u8])> {
        let width = 1_usize.checked_shl(self.start_width().into())?;
        let (start, rest) = rows.split_at_checked(width)?;
        let (&info, rest) = rest.split_first()?;
        RawRow::split(self.format.order.number(start), info, rest)
    }

    /// Whether the rows are of a kind that the table's version does not define.
    pub(super) const fn is_unknown_kind(&self) -> bool {
        self.info & format::INFO_START_WIDTH > 2
            || (self.format.version >= 3 && self.info2 & format::INFO2_KIND > format::KIND_FLEXIBLE)
    }
}

/// Iterator over a function's rows: [`Function::rows`].
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
