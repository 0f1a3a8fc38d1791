//! The image as it is linked, with whatever symbols the link has defined.

#[cfg(target_arch = "arm")]
mod exidx;
#[cfg(not(target_arch = "arm"))]
mod sframe;

use unwind::symbols::SymbolTable;

#[cfg(target_arch = "arm")]
use exidx as tables;
#[cfg(not(target_arch = "arm"))]
use sframe as tables;

use super::memory::Stacks;
use crate::image::{Image, Section};
use crate::regions::Regions;

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
        [] => Regions::described(
            || tables::code(&image),
            |region| stacks.are_memory(region.start, region.end),
        ),
        _ => Regions::one(image.code),
    };
    // Nobody has to place the linker's note: this is the build that the names were made for.
    if let Ok(symbols) = SymbolTable::parse(image.symbols.bytes, image.symbols.address) {
        image.build_id = symbols.build_id();
    }
    (image, regions)
}
