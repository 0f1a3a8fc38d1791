//! Where boot loaders enter an image for x86-64 in 32-bit mode: the entry of one with a Multiboot header, and that of Xen's PVH.

use object::{Architecture, Object as _, ObjectSection as _};

use crate::prove::multiboot;

/// The type of the note with the entry: Xen's `XEN_ELFNOTE_PHYS32_ENTRY`.
const PHYS32_ENTRY: u32 = 18;

/// Returns the addresses, ascending.
#[must_use]
pub(crate) fn entries_of_32_bits(file: &object::File<'_>) -> Vec<u64> {
    let mut entries = Vec::new();
    if file.architecture() != Architecture::X86_64 {
        return entries;
    }
    for section in file.sections() {
        let (Ok(data), Some((in_file, _))) = (section.data(), section.file_range()) else {
            continue;
        };
        let parts = multiboot::code_around(data, in_file);
        if parts.iter().map(|part| part.len()).sum::<usize>() < data.len() {
            entries.push(file.entry());
        }
        if section.name().is_ok_and(|name| name.starts_with(".note")) {
            entries.extend(
                data.chunks_exact(4)
                    .enumerate()
                    .filter_map(|(index, _)| note(&data[index * 4..])),
            );
        }
    }
    entries.sort_unstable();
    entries.dedup();
    entries
}

/// The entry that a note at the start of these bytes states: sizes of name and description, type, name, description.
fn note(data: &[u8]) -> Option<u64> {
    let word = |index: usize| {
        let bytes = data.get(index * 4..)?.first_chunk()?;
        Some(u32::from_le_bytes(*bytes))
    };
    let is_entry = word(0)? == 4 && word(2)? == PHYS32_ENTRY && word(3)?.to_le_bytes() == *b"Xen\0";
    let high = match word(1)? {
        4 => 0,
        8 => u64::from(word(5)?) << 32,
        _ => return None,
    };
    is_entry.then_some(())?;
    Some(high | u64::from(word(4)?))
}
