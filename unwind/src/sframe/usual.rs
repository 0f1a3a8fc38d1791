//! A fast look-up for the form of section that current writers make for little-endian machines: version 3, sorted, starts
//! relative to their fields. A function that it finds is the one of [`Section::find`], without a test of the section's form at
//! each step.

use crate::bytes::ByteOrder;
use crate::sframe::blocks::Skipped;
use crate::sframe::format;
use crate::sframe::function::Function;
use crate::sframe::row::RowFormat;
use crate::sframe::search::last_at_most;
use crate::sframe::section::Section;

impl<'a> Section<'a> {
    /// The function that contains `pc`. `None`: there is none, or this look-up does not find it, or the section has another
    /// form.
    #[inline(always)]
    pub(super) fn find_usual(&self, pc: u64) -> Option<(Function<'a>, Skipped)> {
        if !self.usual {
            return None;
        }
        let (entries, _) = self
            .functions
            .data
            .as_chunks::<{ format::FUNCTION_SIZE_V3 }>();
        let begin = self.blocks.begin(pc);
        let (from, window) = match &begin {
            Some(begin) => (begin.function, entries.get(begin.function..=begin.last)?),
            None => (0, entries),
        };
        let at = |index: usize| index.wrapping_mul(format::FUNCTION_SIZE_V3) as u64;
        let base = self.address.wrapping_add(self.functions_offset as u64);
        let base = base.wrapping_add(at(from));
        let field = |index: usize| {
            let field = u64::from_le_bytes(*window.get(index)?.first_chunk()?);
            Some(field.wrapping_add(at(index)))
        };
        // Distances from the window to the code, which have a sign: addresses would take one more sum each.
        let distance = pc.wrapping_sub(base).cast_signed();
        let index = last_at_most(window.len(), distance, |index| {
            Some(field(index)?.cast_signed())
        })?;
        let start = field(index)?.wrapping_add(base);
        let skipped = match begin {
            Some(begin) if index == 0 => begin.skipped,
            _ => Skipped::default(),
        };
        let (_, rest) = window.get(index)?.split_first_chunk::<8>()?;
        let (size, rest) = rest.split_first_chunk()?;
        let size = u32::from_le_bytes(*size);
        if pc.wrapping_sub(start) >= u64::from(size) {
            return None;
        }
        let own = u32::from_le_bytes(*rest.first_chunk()?);
        let own = self.rows.data.get(usize::try_from(own).ok()?..)?;
        let (&[low, high, info, info2, block], rows) = own.split_first_chunk()?;
        let function = Function {
            start,
            size,
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
        };
        Some((function, skipped))
    }
}
