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

/// Returns the ranges of code whose checksums the tables contain, and the functions with rows. Code in writable sections, such as boot
/// code, has rows but no checksum.
pub(super) fn code(image: &Image) -> impl Iterator<Item = Range> {
    let checked = image.tables.checked_code();
    checked.chain(image.tables.functions())
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::machine::tests::with_code_at;
    use crate::tables::ImageTables;

    #[test]
    fn code_contains_functions_without_checksum() {
        const APART: usize = 1 << 17;
        let (bytes, tables) = with_code_at(&[APART], 0xcc);
        let none = Section::new(&[]);
        let mut image = Image::new(none, none, none);
        image.tables = ImageTables::new(tables, bytes.as_ptr() as u64);
        let checked = image.tables.checked_code().next().expect("a checksum");
        let function = image.tables.functions().next().expect("a function");
        assert!(!checked.holds(function.start, 1));
        let code: Vec<_> = code(&image).collect();
        assert_eq!(code, [checked, function]);
    }
}
