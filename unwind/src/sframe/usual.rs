//! A fast look-up for sections as current writers write them for little-endian machines: version 3, sorted, starts relative to their
//! fields. In tables that are sorted, the result is the result of [`Section::find`], without a test of the section's form at each step.

use crate::bytes::ByteOrder;
use crate::lookup::{Found, LookupError};
use crate::memory::Range;
use crate::reads;
use crate::sframe::format;
use crate::sframe::function::Function;
use crate::sframe::row::{RowFormat, last_at_most as last_row};
use crate::sframe::search::last_at_most;
use crate::sframe::section::Section;
use crate::sframe::tail;

/// A function's entry.
struct Entry<'a> {
    start: u64,
    size: u32,
    /// The address after the function.
    end: u64,
    /// The section's rows, from the function's attributes on.
    own: &'a [u8],
}

impl<'a> Section<'a> {
    /// Returns the function of an entry.
    #[inline(always)]
    fn function_of(&self, entry: &Entry<'a>) -> Option<Function<'a>> {
        let (&[low, high, info, info2, block], rows) = entry.own.split_first_chunk()?;
        Some(Function {
            start: entry.start,
            size: entry.size,
            rows,
            row_count: u32::from(u16::from_le_bytes([low, high])),
            info,
            info2,
            block,
            format: RowFormat {
                order: ByteOrder::Little,
                version: 3,
                abi: self.abi,
                fixed_fp: self.fixed_fp,
                fixed_ra: self.fixed_ra,
            },
        })
    }

    /// Does what [`Self::lookup`] does, but finds only what a walk needs.
    ///
    /// The slower paths are reached with a jump, so that their stack frames do not add to this one.
    #[inline(never)]
    pub(crate) fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        found.proof = tail::proof(self.unproven, self.address, pc);
        let Some(entry) = self.entry(pc) else {
            return self.look_up_any(pc, found);
        };
        found.range = Range::new(entry.start, entry.end);
        match self.look_up_common(&entry, pc, found) {
            Some(()) => Ok(()),
            None => self.look_up_seldom(entry.own, entry.size, pc, found),
        }
    }

    /// Does what [`Self::look_up`] does, if the function and the row have the common form.
    #[inline(always)]
    fn look_up_common(&self, entry: &Entry<'_>, pc: u64, found: &mut Found) -> Option<()> {
        let (&[low, high, info, info2, _], rows) = entry.own.split_first_chunk()?;
        if info2 & format::INFO2_KIND != format::KIND_DEFAULT {
            return None;
        }
        let count = u32::from(u16::from_le_bytes([low, high]));
        // It is below the size, so it fits.
        let offset = pc.wrapping_sub(entry.start) as u32;
        let row = match info & (format::INFO_START_WIDTH | format::INFO_PC_MASK) {
            0 => last_row::<1, 2>(rows, count, ByteOrder::Little, offset),
            1 => last_row::<2, 3>(rows, count, ByteOrder::Little, offset),
            _ => return None,
        };
        found.rules = row.ok()?.common_rules(self)?;
        found.is_trap = info & format::INFO_SIGNAL != 0;
        Some(())
    }

    /// Does what [`Self::look_up`] does, for a function of any form, whose addresses are in `found` already. The parameters fit into registers, so
    /// that this function is reached with a jump.
    #[inline(never)]
    fn look_up_seldom(
        &self,
        own: &'a [u8],
        size: u32,
        pc: u64,
        found: &mut Found,
    ) -> Result<(), LookupError> {
        let Range { start, end } = found.range;
        let entry = Entry {
            start,
            size,
            end,
            own,
        };
        match self.function_of(&entry) {
            Some(function) => function.look_up(pc, found),
            None => self.look_up_any(pc, found),
        }
    }

    /// Returns the entry of the function that contains `pc`.
    #[inline(always)]
    fn entry(&self, pc: u64) -> Option<Entry<'a>> {
        if !self.usual {
            return None;
        }
        // An entry has two of these words.
        let (words, _) = self.functions.data.as_chunks::<8>();
        let at = |index: usize| index.wrapping_mul(8) as u64;
        let base = self.address.wrapping_add(self.functions_offset as u64);
        let field = |index: usize| {
            reads::note();
            let field = u64::from_le_bytes(*words.get(index)?);
            Some(field.wrapping_add(at(index)))
        };
        // Compare signed distances from `base` rather than addresses, which saves one addition for each probe.
        let distance = pc.wrapping_sub(base).cast_signed();
        let index = last_at_most::<2, _>(words.len(), distance, |index| {
            Some(field(index)?.cast_signed())
        })?;
        let start = field(index)?.wrapping_add(base);
        let place = u64::from_le_bytes(*words.get(index.wrapping_add(1))?);
        let size = place as u32;
        if pc.wrapping_sub(start) >= u64::from(size) {
            return None;
        }
        // Reject a function that extends past the last address, because its range would wrap around to 0.
        let end = start.checked_add(size.into())?;
        let own = self.rows.data.get((place >> 32) as usize..)?;
        Some(Entry {
            start,
            size,
            end,
            own,
        })
    }
}
