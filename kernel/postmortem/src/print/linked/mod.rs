//! The image as it is linked, found through weak symbols that the link may define.

#[cfg(target_arch = "arm")]
mod exidx;
#[cfg(not(target_arch = "arm"))]
mod sframe;

use core::fmt::{self, Write};

use unwind::Range;
use unwind::symbols::SymbolTable;

#[cfg(target_arch = "arm")]
use exidx as tables;
#[cfg(not(target_arch = "arm"))]
use sframe as tables;

use super::memory::Stacks;
use crate::image::{Image, Section};
use crate::regions::{CODE, GAP, Regions};
use crate::tables::has_checksum;

/// The image that this code is part of, and its code. Not inlined, as what it takes of the stack is not needed later.
#[inline(never)]
pub(super) fn image(stacks: &Stacks) -> (Image, Regions) {
    let sections = tables::symbols().map(|[start, end]| {
        // A boot loader may have loaded less, and a kernel may have unmapped what it needs no more.
        let is_there = start != 0 && (stacks.cannot_tell() || stacks.are_memory(start, end));
        match is_there {
            // SAFETY: the link puts constant bytes of the image between these symbols.
            true => unsafe { Section::between(start as *const u8, end as *const u8) },
            false => Section::new(&[]),
        }
    });
    let mut image = tables::image(sections);
    let regions = match image.code.bytes {
        // If the MMU is off, all addresses can be read, but some are devices. Ranges with checksums are code if the
        // checksum of the tables is right.
        [] if stacks.has_no_mmu() => {
            let is_unchanged = has_checksum(&image.tables.verify());
            Regions::described(|| image.tables.checked_code(), &[GAP], |_| is_unchanged)
        }
        [] => Regions::described(
            || tables::code(&image),
            &[CODE, GAP],
            |region| stacks.are_memory(region.start, region.end),
        ),
        _ => Regions::one(image.code),
    };
    // The kernel does not have to declare the linker's note: the names contain the build that they belong to.
    if let Ok(symbols) = SymbolTable::parse(image.symbols.bytes, image.symbols.address) {
        image.build_id = symbols.build_id();
    }
    (image, regions)
}

/// Writes which tables of the image are not mapped, and what to map, if there are such tables. A kernel that maps its own sections one by
/// one does not know those that the link has added between them.
#[inline(never)]
pub(super) fn write_unmapped(out: &mut dyn Write, stacks: &Stacks) -> fmt::Result {
    if stacks.cannot_tell() {
        return Ok(());
    }
    // The first section is code, of which a kernel may have unmapped what it does not need any more; the last one has the names.
    let [_, sections @ ..] = tables::symbols();
    let mut missing = "function names";
    let mut all = Range::new(u64::MAX, 0);
    for (left, [start, end]) in (0..sections.len()).rev().zip(sections) {
        if start < end && !stacks.are_memory(start, end) {
            if left > 0 {
                missing = "unwind tables";
            }
            all = Range::new(all.start.min(start), all.end.max(end));
        }
    }
    let Range { start, end } = all;
    if end == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "the {missing} at {start:#018x} are not mapped: map the range from {start:#018x} to {end:#018x}"
    )
}
