//! Look-up in a section: by address, and one function after another.

use core::iter::FusedIterator;

use crate::bytes::Bytes;
use crate::sframe::error::LookupError;
use crate::sframe::format::{self, Flags};
use crate::sframe::function::Function;
use crate::sframe::row::{Row, RowFormat};
use crate::sframe::search::last_at_most;
use crate::sframe::section::{Section, function_size};

impl<'a> Section<'a> {
    /// The function at a position of the table, from 0.
    #[must_use]
    pub fn function(&self, index: u32) -> Option<Function<'a>> {
        self.entry(index)?.ok()
    }

    /// All functions, in the order of the table. Entries whose rows lie outside are passed over.
    #[must_use]
    pub const fn functions(&self) -> Functions<'a> {
        Functions {
            section: *self,
            next: 0,
        }
    }

    /// The function that contains the address `pc`. Of several with one start, the last.
    #[must_use]
    pub fn function_at(&self, pc: u64) -> Option<Function<'a>> {
        self.find_usual(pc).or_else(|| self.find(pc).ok())
    }

    /// The row for the address `pc`, and its function.
    ///
    /// # Errors
    /// See [`LookupError`].
    pub fn lookup(&self, pc: u64) -> Result<(Function<'a>, Row), LookupError> {
        match self.find_usual(pc) {
            Some(function) => Ok((function, function.row(pc)?)),
            None => self
                .find(pc)
                .and_then(|function| Ok((function, function.lookup(pc)?))),
        }
    }

    /// [`Self::lookup`], with no more of the function than whether it is a signal or trap frame.
    pub(crate) fn row(&self, pc: u64) -> Result<(Row, bool), LookupError> {
        match self.find_usual(pc) {
            Some(function) => Ok((function.row(pc)?, function.is_signal_frame())),
            None => self
                .find(pc)
                .and_then(|function| Ok((function.lookup(pc)?, function.is_signal_frame()))),
        }
    }

    /// [`Self::function_at`], with the reason when there is none.
    #[inline(never)]
    fn find(&self, pc: u64) -> Result<Function<'a>, LookupError> {
        self.index_of(pc)
            .and_then(|index| self.entry(index))
            .ok_or(LookupError::NoFunction)?
    }

    /// Index of the function that contains `pc`.
    fn index_of(&self, pc: u64) -> Option<u32> {
        if !self.flags.contains(Flags::SORTED) {
            return self.scan(pc);
        }
        // On a table that only says it is sorted the answer is some index or none.
        let found = last_at_most(self.count as usize, pc, |index| {
            self.start(u32::try_from(index).ok()?)
        });
        let mut index = u32::try_from(found?).ok()?;
        let start = self.start(index)?;
        // A function of no bytes may stand behind one that starts where it does: gcc leaves such for code that cannot
        // be reached, and GNU ld sorts by the start alone.
        while pc.wrapping_sub(start) >= u64::from(self.size(index)?) {
            index = index.checked_sub(1)?;
            if self.start(index)? != start {
                return None;
            }
        }
        Some(index)
    }

    /// Index of the function that contains `pc`, in an unsorted table: the greatest start, of equal ones the last.
    #[inline(never)]
    fn scan(&self, pc: u64) -> Option<u32> {
        let mut best: Option<(u64, u32)> = None;
        for index in 0..self.count {
            let start = self.start(index)?;
            let contains = pc.wrapping_sub(start) < u64::from(self.size(index)?);
            if contains && best.is_none_or(|(greatest, _)| start >= greatest) {
                best = Some((start, index));
            }
        }
        best.map(|(_, index)| index)
    }

    /// Offset of a function's entry from the first one.
    #[inline]
    fn entry_offset(&self, index: u32) -> usize {
        (index as usize).wrapping_mul(function_size(self.version))
    }

    /// Address of a function.
    #[inline]
    fn start(&self, index: u32) -> Option<u64> {
        let at = self.entry_offset(index);
        let value = if self.version >= 3 {
            self.functions.u64(at)?
        } else {
            i64::from(self.functions.u32(at)?.cast_signed()).cast_unsigned()
        };
        let field = if self.field_relative {
            self.functions_offset.wrapping_add(at)
        } else {
            0
        };
        Some(self.address.wrapping_add(field as u64).wrapping_add(value))
    }

    fn size(&self, index: u32) -> Option<u32> {
        let size_at = if self.version >= 3 { 8 } else { 4 };
        self.functions
            .u32(self.entry_offset(index).wrapping_add(size_at))
    }

    /// A function's entry, with the attributes that lie beside it. `None`: no such index.
    fn entry(&self, index: u32) -> Option<Result<Function<'a>, LookupError>> {
        if index >= self.count {
            return None;
        }
        let at = self.entry_offset(index);
        let start = self.start(index)?;
        let size = self.size(index)?;
        Some(
            self.attributes(at)
                .map(|(rows, row_count, [info, info2, block])| Function {
                    start,
                    size,
                    rows,
                    row_count,
                    info,
                    info2,
                    block,
                    format: RowFormat {
                        order: self.rows.order,
                        version: self.version,
                        abi: self.abi,
                        fixed_fp: self.fixed_fp,
                        fixed_ra: self.fixed_ra,
                        start_width: info & format::INFO_START_WIDTH,
                        flexible: self.version >= 3
                            && info2 & format::INFO2_KIND == format::KIND_FLEXIBLE,
                    },
                })
                .ok_or(LookupError::Damaged),
        )
    }

    /// The rows of the entry at `at`, their number, and info, info2 and block size.
    fn attributes(&self, at: usize) -> Option<(&'a [u8], u32, [u8; 3])> {
        let entry = |offset: usize| at.wrapping_add(offset);
        let rows_from = |offset: u32| self.rows.data.get(usize::try_from(offset).ok()?..);
        if self.version >= 3 {
            let own = rows_from(self.functions.u32(entry(12))?)?;
            let (&attribute, rows) = own.split_first_chunk::<{ format::ATTRIBUTE_SIZE }>()?;
            let [_, _, info, info2, block] = attribute;
            let count = Bytes::new(own, self.rows.order).u16(0)?;
            Some((rows, u32::from(count), [info, info2, block]))
        } else {
            let rows = rows_from(self.functions.u32(entry(8))?)?;
            let count = self.functions.u32(entry(12))?;
            let info = self.functions.u8(entry(16))?;
            let block = match self.version {
                1 => 0,
                _ => self.functions.u8(entry(17))?,
            };
            Some((rows, count, [info, 0, block]))
        }
    }
}

/// Iterator over a section's functions: [`Section::functions`].
#[derive(Clone, Debug)]
pub struct Functions<'a> {
    section: Section<'a>,
    next: u32,
}

impl<'a> Iterator for Functions<'a> {
    type Item = Function<'a>;

    fn next(&mut self) -> Option<Function<'a>> {
        loop {
            let entry = self.section.entry(self.next)?;
            self.next = self.next.checked_add(1)?;
            if let Ok(function) = entry {
                return Some(function);
            }
        }
    }
}

impl FusedIterator for Functions<'_> {}
