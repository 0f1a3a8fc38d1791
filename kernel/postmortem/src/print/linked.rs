//! The image as it is linked, with whatever symbols the link has defined.

use unwind::symbols::SymbolTable;

use super::memory::Stacks;
use super::regions::Regions;
use crate::image::{Image, Section};

// Weak symbols are zero where nobody defines them: an image that was linked by another linker links all the same, and a report
// says that it has no tables.
#[cfg(target_os = "none")]
core::arch::global_asm!(
    ".pushsection .data.rel.ro.postmortem_linked, \"aw\"",
    ".balign 8",
    ".global postmortem_linked",
    "postmortem_linked:",
    ".irp name, __text_start, __text_end, __sframe_start, __sframe_end, __symbols_start, __symbols_end",
    ".weak \\name",
    ".quad \\name",
    ".endr",
    ".popsection",
);

/// The addresses of those symbols.
#[cfg(target_os = "none")]
fn symbols() -> [u64; 6] {
    unsafe extern "C" {
        static postmortem_linked: [u64; 6];
    }
    // SAFETY: the assembly above defines it; volatile, because a loader may have relocated it.
    unsafe { (&raw const postmortem_linked).read_volatile() }
}

/// A program on the host has none of them.
#[cfg(not(target_os = "none"))]
fn symbols() -> [u64; 6] {
    [0; 6]
}

/// The image that this code is part of, and its code. Not inlined, as what it takes of the stack is not needed later.
#[inline(never)]
pub(super) fn image(stacks: &Stacks) -> (Image, Regions) {
    let [text, text_end, sframe, sframe_end, names, names_end] = symbols();
    let [code, tables, names] =
        [(text, text_end), (sframe, sframe_end), (names, names_end)].map(|(start, end)| {
            // A boot loader may have loaded less, and a kernel may have unmapped what it needs no more.
            let is_there = start != 0 && (stacks.cannot_tell() || stacks.are_memory(start, end));
            match is_there {
                // SAFETY: the link puts constant bytes of the image between these symbols.
                true => unsafe { Section::between(start as *const u8, end as *const u8) },
                false => Section::new(&[]),
            }
        });
    let mut image = Image::new(code, tables, names);
    let regions = match code.bytes {
        [] => Regions::described(&image, stacks),
        _ => Regions::one(code),
    };
    // Nobody has to place the linker's note: this is the build that the names were made for.
    if let Ok(symbols) = SymbolTable::parse(names.bytes, names.address) {
        image.build_id = symbols.build_id();
    }
    (image, regions)
}
