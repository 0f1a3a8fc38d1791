//! With the tables that `sframe-link` adds.

use unwind::Range;

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

/// The addresses of those symbols: where each section begins and ends.
#[cfg(target_os = "none")]
pub(super) fn symbols() -> [[u64; 2]; 3] {
    unsafe extern "C" {
        static postmortem_linked: [[u64; 2]; 3];
    }
    // SAFETY: the assembly above defines it; volatile, because a loader may have relocated it.
    unsafe { (&raw const postmortem_linked).read_volatile() }
}

/// A program on the host has none of them.
#[cfg(not(target_os = "none"))]
pub(super) fn symbols() -> [[u64; 2]; 3] {
    [[0; 2]; 3]
}

/// The image with these sections, in the order of the symbols.
pub(super) fn image([code, tables, names]: [Section; 3]) -> Image {
    Image::new(code, tables, names)
}

/// Returns the ranges of code whose checksums the tables contain; in tables without checksums, the functions with rows.
pub(super) fn code(image: &Image) -> impl Iterator<Item = Range> {
    let checked = image.tables.checked_code();
    let functions = match image.tables.checked_code().next() {
        Some(_) => None,
        None => Some(image.tables.functions()),
    };
    checked.chain(functions.into_iter().flatten())
}
