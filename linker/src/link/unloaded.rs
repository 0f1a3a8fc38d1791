//! A `.sframe` that is in the file but not loaded, beside a rule map that is.

use anyhow::{Context, Result, ensure};
use object::elf::{self, SectionHeader64};
use object::pod::bytes_of;
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, File, U16, U32, U64};

use super::place::Patch;
use crate::image::{Image, Section};
use crate::{map, sframe};

/// Alignment of what is appended, in bytes.
const ALIGNMENT: u64 = 8;

/// The patches that give the section with the map its name, and append `.sframe` with these bytes, which are those for the map's
/// address. The names of sections and their headers are written again behind the file's end; nothing else changes its place.
pub(super) fn patches(image: &Image<'_>, loaded: Section<'_>, table: &[u8]) -> Result<Vec<Patch>> {
    let File::Elf64(file) = &image.file else {
        // All supported architectures have 64-bit files.
        return Ok(Vec::new());
    };
    let (endian, data) = (file.endian(), file.data());
    let mut header = *file.elf_header();
    let mut sections: Vec<SectionHeader64<Endianness>> =
        file.elf_section_table().iter().copied().collect();
    let names_index = header
        .shstrndx(endian, data)
        .context("damaged ELF file: section names")? as usize;
    let names = sections.get(names_index).context("no section names")?;
    let mut names = names
        .data(endian, data)
        .context("damaged ELF file: section names")?
        .to_vec();
    let mut add_name = |name: &str| {
        let at = names.len() as u32;
        names.extend_from_slice(name.as_bytes());
        names.push(0);
        U32::new(endian, at)
    };
    let own = sections.get_mut(loaded.index).context("no such section")?;
    own.sh_name = add_name(map::SECTION);
    let end = data.len() as u64;
    let table_at = end.next_multiple_of(ALIGNMENT);
    sections.push(SectionHeader64 {
        sh_name: add_name(sframe::SECTION),
        sh_type: U32::new(endian, elf::SHT_GNU_SFRAME),
        sh_flags: U64::new(endian, elf::SectionFlags::default()),
        // Starts of functions are relative to it.
        sh_addr: U64::new(endian, loaded.address),
        sh_offset: U64::new(endian, table_at),
        sh_size: U64::new(endian, table.len() as u64),
        sh_link: U32::new(endian, 0),
        sh_info: U32::new(endian, 0),
        sh_addralign: U64::new(endian, ALIGNMENT),
        sh_entsize: U64::new(endian, 0),
    });
    ensure!(sections.len() < 0xff00, "too many sections");
    let names_at = table_at + table.len() as u64;
    let sections_at = (names_at + names.len() as u64).next_multiple_of(ALIGNMENT);
    let names_header = &mut sections[names_index];
    names_header.sh_offset.set(endian, names_at);
    names_header.sh_size.set(endian, names.len() as u64);
    header.e_shoff.set(endian, sections_at);
    header.e_shnum = U16::new(endian, sections.len() as u16);

    let mut tail = vec![0; (table_at - end) as usize];
    tail.extend_from_slice(table);
    tail.extend_from_slice(&names);
    tail.resize((sections_at - end) as usize, 0);
    for section in &sections {
        tail.extend_from_slice(bytes_of(section));
    }
    let header = Patch {
        offset: 0,
        bytes: bytes_of(&header).to_vec(),
    };
    let tail = Patch {
        offset: end,
        bytes: tail,
    };
    Ok(vec![tail, header])
}
