//! Look-up in a section: with an address, or all functions in order.

use core::iter::FusedIterator;

use crate::bytes::Bytes;
use crate::lookup::{Found, LookupError};
use crate::row::Row;
use crate::sframe::format::{self, Flags};
use crate::sframe::function::Function;
use crate::sframe::row::RowFormat;
use crate::sframe::section::{Section, function_size};

/// The greatest number of functions, or of rows, that a look-up reads one after another. No writer of sorted tables makes a
/// function with more rows; of unsorted ones, which linkers that do not know `.sframe` leave, it is a large kernel.
pub(super) const MAX_READ: u32 = 1 << 16;

/// The functions that a search of a sorted section reads, at most; and what a section costs at least, because its header is read.
const LEAST_COST: u32 = 64;

/// The greatest number of empty functions at the start of another one: compilers make one or two.
const MAX_EMPTY: u32 = 15;

impl<'a> Section<'a> {
    /// Returns all functions, in the order of the table. Entries whose rows are outside of the section are skipped.
    #[must_use]
    pub const fn functions(&self) -> Functions<'a> {
        Functions {
            section: *self,
            next: 0,
        }
    }

    /// Returns the function that contains the address `pc`. If several have the same start, returns the last of them.
    #[must_use]
    pub fn function_at(&self, pc: u64) -> Option<Function<'a>> {
        self.find(pc).ok()
    }

    /// Returns the row for the address `pc` and its function. Walks use a faster look-up; `sframe-link` compares the results of both for each
    /// row that it writes.
    ///
    /// # Errors
    /// Returns an error if no usable row exists for `pc`: see [`LookupError`].
    pub fn lookup(&self, pc: u64) -> Result<(Function<'a>, Row), LookupError> {
        let function = self.find(pc)?;
        Ok((function, function.lookup(pc)?))
    }

    /// Does what [`Self::look_up`] does, for sections of any form.
    #[inline(never)]
    pub(super) fn look_up_any(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        let index = self.index_of(pc)?;
        let function = self.function(index).ok_or(LookupError::Damaged)?;
        function.look_up(pc, found)
    }

    /// Checks whether a function contains `pc`. Returns an error if none does, or if that is not known.
    pub(crate) fn covers(&self, pc: u64) -> Result<(), LookupError> {
        self.index_of(pc).map(|_| ())
    }

    /// Returns the maximum number of functions that a look-up reads: all, unless they are sorted. The header counts as several.
    pub(super) const fn cost(&self) -> u32 {
        if self.flags.contains(Flags::SORTED) || self.count < LEAST_COST {
            LEAST_COST
        } else {
            self.count
        }
    }

    /// Checks whether a look-up with this error found no function here: there is none, or there are too many to be searched. A function with
    /// too many rows has the same error, but was found.
    pub(super) const fn lacks(&self, error: LookupError) -> bool {
        match error {
            LookupError::NoFunction => true,
            LookupError::TooLarge => self.cost() > MAX_READ,
            _ => false,
        }
    }

    /// Does what [`Self::function_at`] does, with the reason if there is none.
    fn find(&self, pc: u64) -> Result<Function<'a>, LookupError> {
        let index = self.index_of(pc)?;
        self.function(index).ok_or(LookupError::Damaged)
    }

    /// Returns the index of the function that contains `pc`.
    #[inline(never)]
    fn index_of(&self, pc: u64) -> Result<u32, LookupError> {
        let index = if self.flags.contains(Flags::SORTED) {
            self.search(pc)
        } else if self.count <= MAX_READ {
            self.scan(pc)
        } else {
            return Err(LookupError::TooLarge);
        };
        index.ok_or(LookupError::NoFunction)
    }

    /// Returns the index of the function that contains `pc`, in a sorted table. If the table is not sorted although its flag is set, the result
    /// may be `None`.
    fn search(&self, pc: u64) -> Option<u32> {
        let (mut base, mut size) = (0_u32, self.count);
        while size > 1 {
            let half = size >> 1;
            let middle = base.wrapping_add(half);
            if self.place(middle)?.0 <= pc {
                base = middle;
            }
            size = size.wrapping_sub(half);
        }
        // An empty function may follow one with the same start: gcc emits them for unreachable code, and GNU ld sorts only by
        // the start.
        let (start, mut length) = self.place(base)?;
        let lowest = base.saturating_sub(MAX_EMPTY);
        // The first function of all may be behind the address.
        while pc.checked_sub(start)? >= u64::from(length) {
            base = (base > lowest).then(|| base.wrapping_sub(1))?;
            let before = self.place(base)?;
            length = (before.0 == start).then_some(before.1)?;
        }
        Some(base)
    }

    /// Returns the index of the function that contains `pc`, in an unsorted table. Among several, the greatest start; among equal starts, the last.
    fn scan(&self, pc: u64) -> Option<u32> {
        let mut best: Option<(u64, u32)> = None;
        for index in 0..self.count {
            let (start, length) = self.place(index)?;
            let distance = pc.checked_sub(start);
            let contains = distance.is_some_and(|distance| distance < u64::from(length));
            if contains && best.is_none_or(|(greatest, _)| start >= greatest) {
                best = Some((start, index));
            }
        }
        best.map(|(_, index)| index)
    }

    /// A function's entry: its bytes.
    #[inline(always)]
    fn bytes(&self, index: u32) -> Option<Bytes<'a>> {
        let size = function_size(self.version);
        let at = (index as usize).checked_mul(size)?;
        let data = self.functions.data.get(at..)?.get(..size)?;
        Some(Bytes::new(data, self.functions.order))
    }

    /// A function's start and size.
    #[inline(never)]
    fn place(&self, index: u32) -> Option<(u64, u32)> {
        let bytes = self.bytes(index)?;
        let (value, size) = if self.version >= 3 {
            (bytes.u64(0)?, bytes.u32(8)?)
        } else {
            let value = i64::from(bytes.u32(0)?.cast_signed());
            (value.cast_unsigned(), bytes.u32(4)?)
        };
        let mut start = self.address.wrapping_add(value);
        if self.field_relative {
            let at = (index as usize).wrapping_mul(bytes.data.len());
            start = start.wrapping_add(self.functions_offset.wrapping_add(at) as u64);
        }
        Some((start, size))
    }

    /// Returns the function with this index in the table, from 0. `None` if there is none, or if its rows are outside of the section.
    #[must_use]
    #[inline(never)]
    pub fn function(&self, index: u32) -> Option<Function<'a>> {
        let bytes = self.bytes(index)?;
        let (start, size) = self.place(index)?;
        let rows_field = if self.version >= 3 { 12 } else { 8 };
        let rows_at = usize::try_from(bytes.u32(rows_field)?).ok()?;
        let mut rows = self.rows.data.get(rows_at..)?;
        let (row_count, info, info2, block);
        if self.version >= 3 {
            let attributes;
            (attributes, rows) = rows.split_first_chunk::<{ format::ATTRIBUTE_SIZE }>()?;
            let [first, second, attributes @ ..] = *attributes;
            row_count = bytes.order.number(&[first, second]);
            [info, info2, block] = attributes;
        } else {
            row_count = bytes.u32(12)?;
            // Version 1 ends with the info.
            (info, info2, block) = (bytes.u8(16)?, 0, bytes.u8(17).unwrap_or(0));
        }
        Some(Function {
            start,
            size,
            rows,
            row_count,
            info,
            info2,
            block,
            format: RowFormat {
                order: bytes.order,
                version: self.version,
                abi: self.abi,
                fixed_fp: self.fixed_fp,
                fixed_ra: self.fixed_ra,
            },
        })
    }
}

/// Iterator over the functions of a section. [`Section::functions`] returns it.
#[derive(Clone, Debug)]
pub struct Functions<'a> {
    section: Section<'a>,
    next: u32,
}

impl<'a> Iterator for Functions<'a> {
    type Item = Function<'a>;

    fn next(&mut self) -> Option<Function<'a>> {
        while self.next < self.section.count {
            let function = self.section.function(self.next);
            self.next = self.next.wrapping_add(1);
            if function.is_some() {
                return function;
            }
        }
        None
    }
}

impl FusedIterator for Functions<'_> {}
