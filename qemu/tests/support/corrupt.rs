//! Damages images on purpose.

use std::path::{Path, PathBuf};

use object::{Architecture, Object, ObjectSection, ObjectSegment};
use unwind::sframe::format::{CHECKSUM_SIZE, CODE_CHECKSUM_SIZE, CODE_MAGIC, LINKED_SIZE};

use super::symbols::{address, function, pointer};

/// Writes a copy of `image` to `folder`, with the bytes of a section changed by `damage`.
pub fn copy(image: &Path, folder: &Path, section: &str, damage: impl FnOnce(&mut [u8])) -> PathBuf {
    let mut bytes = std::fs::read(image).expect("the image can be read");
    let (offset, size) = {
        let file = object::File::parse(&*bytes).expect("the image is ELF");
        let section = file
            .section_by_name(section)
            .unwrap_or_else(|| panic!("the image has no {section}"));
        section.file_range().expect("the section is in the file")
    };
    let range = offset as usize..(offset + size) as usize;
    assert!(!range.is_empty(), "{section} is empty already");
    damage(&mut bytes[range]);
    write(image, folder, &bytes)
}

/// Writes a copy of `image` to `folder` in which the function that the symbol `from` points to begins with a jump to the
/// scenario's function `to`.
pub fn with_jump(image: &Path, folder: &Path, from: &str, to: &str) -> PathBuf {
    let mut bytes = std::fs::read(image).expect("the image can be read");
    let (at, jump) = {
        let file = object::File::parse(&*bytes).expect("the image is ELF");
        let (from, to) = (pointer(&file, from), function(&file, to));
        let text = file.section_by_name(".text").expect("there is code");
        let (offset, _) = text.file_range().expect("code is in the file");
        let distance = to.wrapping_sub(from) as i64 as i32;
        let jump = match file.architecture() {
            // jmp, relative to the next instruction.
            Architecture::X86_64 => [&[0xe9][..], &(distance - 5).to_le_bytes()].concat(),
            // b, relative to itself, in instructions.
            _ => (0x1400_0000 | (distance >> 2) & 0x03ff_ffff)
                .to_le_bytes()
                .to_vec(),
        };
        ((offset + from - text.address()) as usize, jump)
    };
    bytes[at..at + jump.len()].copy_from_slice(&jump);
    sum_again(&mut bytes);
    write(image, folder, &bytes)
}

/// An instruction that a function begins with.
#[derive(Clone, Copy, Debug)]
pub enum Instruction {
    /// A jump to itself.
    Stay,
    /// One that raises an exception.
    Undefined,
}

impl Instruction {
    const fn bytes(self, architecture: Architecture) -> &'static [u8] {
        match (self, architecture) {
            (Self::Stay, Architecture::X86_64) => &[0xeb, 0xfe],
            (Self::Stay, _) => &[0, 0, 0, 0x14],
            (Self::Undefined, Architecture::X86_64) => &[0x0f, 0x0b],
            (Self::Undefined, _) => &[0, 0, 0, 0],
        }
    }
}

/// Writes a copy of `image` to `folder` in which the functions with these names begin with this instruction. A name is a symbol;
/// with `*` before it, that of a pointer to the function; with `::` in it, a path in Rust.
pub fn beginning_with(
    image: &Path,
    folder: &Path,
    functions: &[&str],
    instruction: Instruction,
) -> PathBuf {
    let mut bytes = std::fs::read(image).expect("the image can be read");
    for function in functions {
        let (at, instruction) = {
            let file = object::File::parse(&*bytes).expect("the image is ELF");
            (
                offset(&file, function),
                instruction.bytes(file.architecture()),
            )
        };
        bytes[at..at + instruction.len()].copy_from_slice(instruction);
    }
    sum_again(&mut bytes);
    write(image, folder, &bytes)
}

/// Writes a copy of `image` to `folder` that has these bytes at a symbol.
pub fn overwritten(image: &Path, folder: &Path, symbol: &str, by: &[u8]) -> PathBuf {
    let mut bytes = std::fs::read(image).expect("the image can be read");
    let at = {
        let file = object::File::parse(&*bytes).expect("the image is ELF");
        offset(&file, symbol)
    };
    bytes[at..at + by.len()].copy_from_slice(by);
    write(image, folder, &bytes)
}

/// Where in the file the function with this name is.
fn offset(file: &object::File<'_>, name: &str) -> usize {
    let address = match name.strip_prefix('*') {
        Some(name) => pointer(file, name),
        None if name.contains("::") => function(file, name),
        None => address(file, name),
    };
    let at = file.segments().find_map(|segment| {
        let (offset, size) = segment.file_range();
        let into = address.checked_sub(segment.address())?;
        (into < size).then_some(offset + into)
    });
    at.expect("it is in the file") as usize
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Writes the checksums of the code again, as a link of this code would have done.
fn sum_again(bytes: &mut [u8]) {
    let (table, start, pieces) = {
        let file = object::File::parse(&*bytes).expect("the image is ELF");
        let section = file.section_by_name(".sframe").expect("there are tables");
        let (offset, size) = section.file_range().expect("they are in the file");
        let table = offset as usize..(offset + size) as usize;
        // Behind the list: the linked address and the checksum, each with a magic number.
        let end = table.end - LINKED_SIZE - CHECKSUM_SIZE;
        let (rest, magic) = bytes[..end].split_last_chunk().expect("a magic number");
        assert_eq!(
            u32::from_le_bytes(*magic),
            CODE_MAGIC,
            "a list of checksums"
        );
        let (rest, count) = rest.split_last_chunk().expect("a number");
        let start = rest.len() - u32::from_le_bytes(*count) as usize * CODE_CHECKSUM_SIZE;
        let entries = rest[start..].as_chunks::<CODE_CHECKSUM_SIZE>().0;
        let pieces = entries.iter().map(|entry| {
            let [first, second] = *entry.as_chunks::<8>().0 else {
                unreachable!("16 bytes");
            };
            let address = section.address().wrapping_add(u64::from_le_bytes(first));
            let size = u64::from_le_bytes(second) as u32;
            let at = file.segments().find_map(|segment| {
                let (offset, in_file) = segment.file_range();
                let into = address.checked_sub(segment.address())?;
                (into < in_file).then_some((offset + into) as usize)
            });
            let at = at.expect("code is in the file");
            crc32(&bytes[at..at + size as usize])
        });
        (table.clone(), start, pieces.collect::<Vec<_>>())
    };
    for (number, sum) in pieces.iter().enumerate() {
        let at = start + number * CODE_CHECKSUM_SIZE + 12;
        bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
    }
    let sum = crc32(&bytes[table.start..table.end - CHECKSUM_SIZE]);
    let at = table.end - CHECKSUM_SIZE;
    bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
}

fn write(image: &Path, folder: &Path, bytes: &[u8]) -> PathBuf {
    let name = image.file_name().expect("an image has a name");
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("the copy can be written");
    path
}
