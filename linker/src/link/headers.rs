//! Section headers that a link adds to an image: for tables within a section of the linker script, and for a `.sframe` that is in the file but
//! not loaded, next to a rule map that is.

use anyhow::{Context, Result, ensure};
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{ElfFile, SectionHeader};
use object::{Endianness, File};

use super::place::Patch;
use crate::class::{Class, Header, Headers, TOO_LONG, fits};
use crate::image::Image;

/// Alignment of what is appended, in bytes.
const ALIGNMENT: u64 = 8;

/// A section that is not loaded under its own name.
#[derive(Debug)]
pub(super) struct Added {
    pub(super) name: &'static str,
    pub(super) kind: elf::SectionType,
    /// The address of its bytes in memory, or the address that the content refers to.
    pub(super) address: u64,
    pub(super) content: Content,
}

/// The bytes of a section.
#[derive(Debug)]
pub(super) enum Content {
    /// Loaded with another section, at this offset in the file, with this size.
    Loaded { offset: u64, size: u64 },
    /// Appended to the file.
    Appended(Vec<u8>),
}

/// The patches that give sections with these numbers other names, and add sections. The names of sections and their headers are written again
/// after the file's end; nothing else changes its place. Sections keep their numbers.
///
/// An added section has no `SHF_ALLOC`, because programs that load or copy sections may refuse two at one address.
pub(super) fn patches(
    image: &Image<'_>,
    renamed: &[(usize, &'static str)],
    added: &[Added],
) -> Result<Vec<Patch>> {
    if renamed.is_empty() && added.is_empty() {
        return Ok(Vec::new());
    }
    match &image.file {
        File::Elf32(file) => patches_of::<FileHeader32<Endianness>>(file, renamed, added),
        File::Elf64(file) => patches_of::<FileHeader64<Endianness>>(file, renamed, added),
        _ => Ok(Vec::new()),
    }
}

fn patches_of<C: Class>(
    file: &ElfFile<'_, C>,
    renamed: &[(usize, &'static str)],
    added: &[Added],
) -> Result<Vec<Patch>> {
    let (endian, data) = (file.endian(), file.data());
    let header = *file.elf_header();
    let sections = file.elf_section_table().iter();
    let mut sections: Vec<Header> = sections.map(|one| Header::read(one, endian)).collect();
    let names_index = header
        .shstrndx(endian, data)
        .context("damaged ELF file: cannot read the section names")? as usize;
    let names = file.elf_section_table().iter().nth(names_index);
    let mut names = names
        .context("damaged ELF file: the section name table is missing")?
        .data(endian, data)
        .context("damaged ELF file: cannot read the section names")?
        .to_vec();
    let mut add_name = |name: &str| {
        let at = names.len() as u32;
        names.extend_from_slice(name.as_bytes());
        names.push(0);
        at
    };
    for (index, name) in renamed {
        sections.get_mut(*index).context("no such section")?.name = add_name(name);
    }
    let end = data.len() as u64;
    let mut tail = Vec::new();
    for section in added {
        let (offset, size) = match &section.content {
            Content::Loaded { offset, size } => (*offset, *size),
            Content::Appended(bytes) => {
                let at = (end + tail.len() as u64).next_multiple_of(ALIGNMENT);
                tail.resize((at - end) as usize, 0);
                tail.extend_from_slice(bytes);
                (at, bytes.len() as u64)
            }
        };
        sections.push(Header {
            name: add_name(section.name),
            kind: section.kind,
            flags: elf::SectionFlags::default(),
            address: section.address,
            offset,
            size,
            link: 0,
            info: 0,
            alignment: ALIGNMENT,
            entry_size: 0,
        });
    }
    ensure!(sections.len() < 0xff00, "too many sections");
    let names_at = end + tail.len() as u64;
    let sections_at = (names_at + names.len() as u64).next_multiple_of(ALIGNMENT);
    fits::<C>(sections_at + (sections.len() * C::SECTION) as u64, TOO_LONG)?;
    sections[names_index].offset = names_at;
    sections[names_index].size = names.len() as u64;
    let headers = Headers {
        segments_at: header.e_phoff(endian).into(),
        segments: header.e_phnum(endian),
        sections_at,
        sections: sections.len() as u16,
    };
    tail.extend_from_slice(&names);
    tail.resize((sections_at - end) as usize, 0);
    for section in &sections {
        tail.extend_from_slice(&C::section(section, endian));
    }
    let header = Patch {
        offset: 0,
        bytes: header.with(headers, endian),
    };
    Ok(vec![
        Patch {
            offset: end,
            bytes: tail,
        },
        header,
    ])
}
