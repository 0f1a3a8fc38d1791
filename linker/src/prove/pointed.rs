//! Functions that tables of pointers name: a call through such a pointer is no direct call.

use object::{Object, ObjectSection, SectionFlags, elf};
use rustc_hash::FxHashSet;

use crate::image::Image;
use crate::symbols::{Symbol, Symbols};

/// Bytes that the address of a table of exception vectors is a multiple of (AArch64).
const VECTORS: u64 = 2048;

/// Returns the starts of functions whose symbols have a size, and whose addresses are in aligned words of data. What may be a table of exception
/// vectors does not count. Nor do words of the global offset table, where linkers write all addresses that code names.
#[must_use]
pub(super) fn functions(image: &Image<'_>, symbols: &Symbols) -> FxHashSet<u64> {
    let word = usize::from(image.architecture.word);
    // A pointer to T32 code has bit 0 set.
    let mask = match image.architecture.machine {
        object::Architecture::Arm => !1,
        _ => !0,
    };
    let has_vectors = image.architecture.machine == object::Architecture::Aarch64;
    let is_start = |address: &u64| {
        let symbol = symbols.at(*address);
        let is_vectors = has_vectors && address.is_multiple_of(VECTORS);
        let is_sized = |symbol: &Symbol| symbol.start == *address && symbol.is_sized;
        !is_vectors && symbol.is_some_and(is_sized)
    };
    let is_data = |flags| match flags {
        SectionFlags::Elf { sh_flags, .. } => {
            sh_flags & (elf::SHF_ALLOC | elf::SHF_EXECINSTR) == elf::SHF_ALLOC
        }
        _ => false,
    };
    let mut all = FxHashSet::default();
    if image.architecture.is_big_endian() {
        return all;
    }
    for section in image.file.sections() {
        let data = section.data().unwrap_or_default();
        let is_offset_table = section.name().is_ok_and(|name| name.starts_with(".got"));
        if !is_data(section.flags()) || is_offset_table {
            continue;
        }
        let before = section.address().wrapping_neg() % word as u64;
        let words = data.get(before as usize..).unwrap_or_default();
        let words = words.chunks_exact(word).map(|bytes| {
            let number = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
            bytes.iter().rev().fold(0, number) & mask
        });
        all.extend(words.filter(is_start));
    }
    all
}
