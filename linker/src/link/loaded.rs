//! Compares the bytes that two images load: a stripped image, and the one that the tables were checked against.

use anyhow::{Result, bail, ensure};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, File, Object, ObjectSection, ObjectSegment, SectionFlags, elf};

use crate::image::{Image, build_id};

/// Checks that a stripped image loads the same bytes at the same addresses as the image that the tables were checked against. Both
/// have space for the tables, which is still empty.
///
/// # Errors
/// Returns an error if they differ, with the first section that does.
pub(super) fn check_same(checked: &Image<'_>, stripped: &Image<'_>) -> Result<()> {
    let mut others = stripped.file.sections().filter(is_loaded);
    for section in checked.file.sections().filter(is_loaded) {
        let name = section.name().unwrap_or_default();
        let Some(other) = others.next() else {
            bail!(differs(&format!(
                "section {name} is missing in the stripped image"
            )));
        };
        let place = |section: &object::Section<'_, '_>| {
            (section.address(), section.size(), section.flags())
        };
        let is_same =
            section.name_bytes()? == other.name_bytes()? && place(&section) == place(&other);
        ensure!(
            is_same,
            differs(&format!(
                "section {name} at {address:#x} has a different address, size, name or flags in the stripped image",
                address = section.address()
            ))
        );
        if let Some(offset) = difference(section.data()?, other.data()?) {
            let address = section.address() + offset as u64;
            bail!(differs(&format!(
                "section {name} has different bytes at {address:#x} in the stripped image"
            )));
        }
    }
    if let Some(more) = others.next() {
        let name = more.name().unwrap_or_default();
        bail!(differs(&format!(
            "section {name} exists only in the stripped image"
        )));
    }
    ensure!(
        program_headers(&checked.file)? == program_headers(&stripped.file)?,
        differs("the stripped image and the unstripped image have different program headers")
    );
    // The headers, and what fills the space between sections.
    for (segment, other) in checked.file.segments().zip(stripped.file.segments()) {
        let bytes = segment_bytes(checked, &segment)?;
        if let Some(offset) = difference(&bytes, &segment_bytes(stripped, &other)?) {
            let address = segment.address() + offset as u64;
            bail!(differs(&format!(
                "the byte at {address:#x}, outside all sections, is different in the stripped image"
            )));
        }
    }
    Ok(())
}

fn differs(what: &str) -> String {
    format!(
        "{what}, so the unwind tables do not match the stripped image: link without the options that strip the image, and strip the image afterwards"
    )
}

pub(super) fn is_loaded(section: &object::Section<'_, '_>) -> bool {
    matches!(section.flags(), SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(elf::SHF_ALLOC))
}

/// The offset of the first different byte, except in build ids.
fn difference(bytes: &[u8], others: &[u8]) -> Option<usize> {
    if bytes == others {
        return None;
    }
    let [bytes, others] = [bytes, others].map(without_build_ids);
    let first = bytes
        .iter()
        .zip(&others)
        .position(|(one, other)| one != other);
    first.or_else(|| (bytes.len() != others.len()).then(|| bytes.len().min(others.len())))
}

/// The loaded section that has a note with a build id, though it is no section of notes, so that no program finds the build id.
pub(super) fn hidden_build_id(image: &Image<'_>) -> Result<Option<String>> {
    if build_id(&image.file)?.is_some() {
        return Ok(None);
    }
    for section in image.file.sections().filter(is_loaded) {
        let bytes = section.data()?;
        if without_build_ids(bytes) != bytes {
            return Ok(Some(section.name().unwrap_or_default().to_owned()));
        }
    }
    Ok(None)
}

/// A copy in which the bytes of build ids are zero. A linker computes a build id over the whole file, with what is stripped. A linker script can
/// move the note to any section.
fn without_build_ids(bytes: &[u8]) -> Vec<u8> {
    /// The length of the name, that of the build id, type and name, in each byte order; the second number differs.
    const LITTLE: [&[u8]; 2] = [b"\x04\0\0\0", b"\x03\0\0\0GNU\0"];
    const BIG: [&[u8]; 2] = [b"\0\0\0\x04", b"\0\0\0\x03GNU\0"];
    const WORD: usize = 4;
    /// No build id is longer, so that bytes which look like a note hide no more.
    const LONGEST: u32 = 64;
    let mut bytes = bytes.to_vec();
    for at in (0..bytes.len()).step_by(WORD) {
        let header = (2 * WORD).min(bytes.len() - at);
        let (start, rest) = bytes[at..].split_at_mut(header);
        let (Some(length), false) = (start.last_chunk().copied(), rest.is_empty()) else {
            continue;
        };
        let length = match [LITTLE, BIG]
            .map(|[name, kind]| start.starts_with(name) && rest.starts_with(kind))
        {
            [true, _] => u32::from_le_bytes(length),
            [_, true] => u32::from_be_bytes(length),
            _ => continue,
        };
        if length <= LONGEST {
            let id = rest[LITTLE[1].len()..].iter_mut();
            id.take(length as usize).for_each(|byte| *byte = 0);
        }
    }
    bytes
}

/// The bytes of a segment in the file. Fields of the ELF header that refer to the sections, whose number stripping changes, are zero.
fn segment_bytes(image: &Image<'_>, segment: &object::Segment<'_, '_>) -> Result<Vec<u8>> {
    let mut bytes = segment.data()?.to_vec();
    let fields: &[_] = match (segment.file_range(), &image.file) {
        // `e_shoff`; `e_shnum` and `e_shstrndx`.
        ((0, _), File::Elf64(_)) => &[0x28..0x30, 0x3c..0x40],
        ((0, _), File::Elf32(_)) => &[0x20..0x24, 0x30..0x34],
        _ => &[],
    };
    for field in fields {
        if let Some(field) = bytes.get_mut(field.clone()) {
            field.fill(0);
        }
    }
    Ok(bytes)
}

/// Type, flags, addresses, sizes and alignment of each program header.
fn program_headers(file: &File<'_>) -> Result<Vec<[u64; 7]>> {
    match file {
        File::Elf32(file) => program_headers_of(file.elf_header(), file.data()),
        File::Elf64(file) => program_headers_of(file.elf_header(), file.data()),
        _ => Ok(Vec::new()),
    }
}

fn program_headers_of<Elf: FileHeader<Endian = Endianness>>(
    header: &Elf,
    data: &[u8],
) -> Result<Vec<[u64; 7]>> {
    let endian = header.endian()?;
    let headers = header.program_headers(endian, data)?.iter();
    let fields = headers.map(|header| {
        [
            header.p_type(endian).0.into(),
            header.p_flags(endian).0.into(),
            header.p_vaddr(endian).into(),
            header.p_paddr(endian).into(),
            header.p_filesz(endian).into(),
            header.p_memsz(endian).into(),
            header.p_align(endian).into(),
        ]
    });
    Ok(fields.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_ids_do_not_differ() {
        let note = |id: &[u8]| {
            let note: &[&[u8]] = &[b"codecode\x04\0\0\0\x04\0\0\0\x03\0\0\0GNU\0", id, b"more"];
            note.concat()
        };
        let big = |id: &[u8]| [&b"\0\0\0\x04\0\0\0\x04\0\0\0\x03GNU\0"[..], id].concat();
        assert_eq!(difference(&note(b"1234"), &note(b"5678")), None);
        assert_eq!(difference(&big(b"1234"), &big(b"5678")), None);
        // What only looks like a note hides nothing.
        let long = |id: &[u8]| [&b"\x04\0\0\0\xff\xff\xff\xff\x03\0\0\0GNU\0"[..], id].concat();
        assert_eq!(difference(&long(b"1234"), &long(b"5678")), Some(16));
        let other_name = |id: &[u8]| [&b"\x05\0\0\0\x04\0\0\0\x03\0\0\0GNU\0"[..], id].concat();
        assert_eq!(
            difference(&other_name(b"1234"), &other_name(b"5678")),
            Some(16)
        );
        let mut other = note(b"5678");
        *other.last_mut().unwrap() = 0;
        assert_eq!(difference(&note(b"1234"), &other), Some(31));
        assert_eq!(difference(&note(b"1234")[4..], &other), Some(4));
        assert_eq!(difference(b"1234", b"12"), Some(2));
        assert_eq!(difference(b"12345678", b"12305678"), Some(3));
    }
}
