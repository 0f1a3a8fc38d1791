//! With the rule map and the exception tables of 32-bit ARM.

use unwind::Range;

use crate::image::{Image, Section};

// Weak symbols are zero if the link does not define them: see `sframe.rs`.
#[cfg(target_os = "none")]
core::arch::global_asm!(
    ".pushsection .data.rel.ro.postmortem_linked, \"aw\"",
    ".balign 4",
    ".global postmortem_linked",
    "postmortem_linked:",
    ".irp name, __text_start, __text_end, __sframe_start, __sframe_end, __exidx_start, __exidx_end, __extab_start, __extab_end, __outermost_start, __outermost_end, __symbols_start, __symbols_end",
    ".weak \\name",
    ".long \\name",
    ".endr",
    ".popsection",
);

/// The addresses of those symbols: where each section begins and ends.
#[cfg(target_os = "none")]
pub(super) fn symbols() -> [[u64; 2]; 6] {
    unsafe extern "C" {
        static postmortem_linked: [[u32; 2]; 6];
    }
    // SAFETY: the assembly above defines it; volatile, because a loader may have relocated it.
    let symbols = unsafe { (&raw const postmortem_linked).read_volatile() };
    symbols.map(|ends| ends.map(u64::from))
}

/// A program on the host has none of them.
#[cfg(not(target_os = "none"))]
pub(super) fn symbols() -> [[u64; 2]; 6] {
    [[0; 2]; 6]
}

/// The image with these sections, in the order of the symbols.
pub(super) fn image([code, map, index, table, outermost, names]: [Section; 6]) -> Image {
    Image::new(code, map, index, table, outermost, names)
}

/// Returns the ranges of code whose checksums the rule map contains. Exception tables do not contain where code is.
pub(super) fn code(image: &Image) -> impl Iterator<Item = Range> {
    image.tables.checked_code()
}
