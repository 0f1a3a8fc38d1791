//! The Multiboot header, which many kernels have in the same section as their code. It is data: followed as code, its bytes can
//! run into the function behind it, which then has no proven row.

use std::ops::Range;

/// The parts of a section that are code, as offsets in bytes.
#[must_use]
pub fn code_around(data: &[u8], in_file: u64) -> Vec<Range<usize>> {
    let mut code = Vec::new();
    let mut from = 0;
    // Boot loaders look for a header at every fourth byte of the file.
    let first = (in_file.wrapping_neg() % 4) as usize;
    let within = LOOKED_THROUGH.saturating_sub(in_file);
    let end = usize::try_from(within).map_or(data.len(), |within| within.min(data.len()));
    for at in (first..end).step_by(4) {
        if at < from {
            continue;
        }
        if let Some(length) = header(&data[at..]) {
            code.push(from..at);
            from = at + length;
        }
    }
    code.push(from..data.len());
    code.retain(|part| !part.is_empty());
    code
}

/// How many bytes of a file boot loaders look through: Multiboot2 specification, 3.1 "OS image format". Those of the first version
/// stop after 8192.
const LOOKED_THROUGH: u64 = 32768;

/// The length of the header that begins here. Its checksum tells it from code: it makes the sum of the first words 0.
fn header(data: &[u8]) -> Option<usize> {
    let word = |index: usize| {
        let bytes = data.get(index * 4..)?.first_chunk()?;
        Some(u32::from_le_bytes(*bytes))
    };
    let sum =
        |count| (0..count).try_fold(0, |sum: u32, index| Some(sum.wrapping_add(word(index)?)));
    let length = match word(0)? {
        // Multiboot specification 0.6.96, 3.1.1 "The layout of Multiboot header": `flags` tell which fields follow.
        0x1bad_b002 if sum(3)? == 0 => match word(1)? {
            flags if flags & 1 << 2 != 0 => 48,
            flags if flags & 1 << 16 != 0 => 32,
            _ => 12,
        },
        // Multiboot2 specification, 3.1.1: the third word is the length.
        0xe852_50d6 if sum(4)? == 0 => usize::try_from(word(2)?).ok()?.max(16),
        _ => return None,
    };
    (length <= data.len()).then_some(length)
}
