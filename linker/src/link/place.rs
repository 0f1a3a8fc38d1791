//! The sections and symbols of an image that hold the tables.

use anyhow::{Context, Result, bail, ensure};
use object::elf::{self, SectionHeader32, SectionHeader64};
use object::pod::bytes_of;
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, Object, ObjectSection, ObjectSegment, ObjectSymbol, SectionIndex};

use crate::image::{Image, Section};
use crate::{map, sframe, symbols};

/// Bytes for a place in a file.
#[derive(Debug)]
pub(super) struct Patch {
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
}

/// The names of a table's sections, and of the symbols around it, as in `tables.ld`.
#[derive(Debug)]
pub(super) struct TableSection {
    section: &'static str,
    input_section: &'static str,
    start: &'static str,
    end: &'static str,
}

/// What to do where the tables have no place.
pub(super) const PLACE_THEM: &str = "write INCLUDE tables.ld into the linker script, after every section that holds code \
     (sframe-link --sframe-script prints tables.ld)";

/// What to do where a linker script has memory regions, and the linker cannot choose.
pub(super) const NAME_REGION: &str = "copy the sections that sframe-link --sframe-script prints into the linker script, behind all \
     code, each with its region: > FLASH";

pub(super) const SFRAME: TableSection = TableSection {
    section: sframe::SECTION,
    input_section: sframe::INPUT_SECTION,
    start: "__sframe_start",
    end: "__sframe_end",
};

pub(super) const SYMBOLS: TableSection = TableSection {
    section: symbols::SECTION,
    input_section: symbols::INPUT_SECTION,
    start: "__symbols_start",
    end: "__symbols_end",
};

/// Whether a section of this name is a table's.
pub(super) fn is_of_tables(name: &str) -> bool {
    [SFRAME, SYMBOLS].iter().any(|table| table.section == name)
}

/// Checks that the linker script has a table's section, before the second link.
pub(super) fn expect(image: &Image<'_>, place: &TableSection) -> Result<()> {
    for symbol in [place.start, place.end] {
        if address_of(image, symbol).is_none() {
            bail!(
                "{symbol} is not defined, so there is no place for {}: {PLACE_THEM}",
                place.section,
            );
        }
    }
    Ok(())
}

/// The section for a table, which must have the size given.
pub(super) fn find<'data>(
    image: &Image<'data>,
    place: &TableSection,
    size: usize,
) -> Result<Section<'data>> {
    let name = place.section;
    let section = match image.section(place.input_section)? {
        Some(section) => section,
        None => image.section(name)?.with_context(|| {
            format!(
                "the linker script does not put {} into {name}",
                place.input_section
            )
        })?,
    };
    ensure!(
        section.data.len() == size,
        "section {name} has {} bytes, {size} are wanted: the linker script must put {} there, and nothing else",
        section.data.len(),
        place.input_section,
    );
    let end = section.address.wrapping_add(size as u64);
    // A stripped image has no symbols; the first link had them.
    for (symbol, expected) in [(place.start, section.address), (place.end, end)] {
        if let Some(found) = address_of(image, symbol) {
            ensure!(
                found == expected,
                "{symbol} is {found:#x}, but section {name} is at {:#x} to {end:#x}",
                section.address,
            );
        }
    }
    let is_loaded = image.file.segments().any(|segment| {
        let offset = section.address.checked_sub(segment.address());
        let (at, length) = segment.file_range();
        offset.is_some_and(|offset| {
            at.checked_add(offset) == Some(section.offset)
                && offset
                    .checked_add(size as u64)
                    .is_some_and(|end| end <= length)
        })
    });
    ensure!(
        is_loaded || size == 0,
        "section {name} at {:#x} to {end:#x} is in no segment that is loaded: the linker script must put it into one \
         (a phdr of type PT_LOAD), and must not make it NOLOAD, INFO or DSECT",
        section.address,
    );
    Ok(section)
}

/// The section header with the type and the name by which other programs find `.sframe`.
pub(super) fn sframe_header(image: &Image<'_>, section: Section<'_>) -> Result<Option<Patch>> {
    let object::File::Elf64(elf) = &image.file else {
        // All supported architectures have 64-bit files.
        return Ok(None);
    };
    let endian = elf.endian();
    let headers = elf.elf_header().e_shoff(endian);
    let at = headers + (section.index * size_of::<SectionHeader64<Endianness>>()) as u64;
    let index = SectionIndex(section.index);
    let mut header = *elf.elf_section_table().section(index)?;
    header.sh_type.set(endian, elf::SHT_GNU_SFRAME);
    if elf.section_by_index(index)?.name()? == sframe::INPUT_SECTION {
        // `.sframe` is the end of the input section's name.
        let more = sframe::INPUT_SECTION.len() - sframe::SECTION.len();
        let name = header.sh_name.get(endian);
        header.sh_name.set(endian, name + more as u32);
    }
    Ok(Some(Patch {
        offset: at,
        bytes: bytes_of(&header).to_vec(),
    }))
}

/// The patches that give the section with a rule map its name, in a file of 32 bits: the names of sections are written again behind the
/// file's end.
pub(super) fn map_header(image: &Image<'_>, section: Section<'_>) -> Result<Vec<Patch>> {
    let object::File::Elf32(elf) = &image.file else {
        bail!("a file of 64 bits for {}", image.architecture.name);
    };
    let (endian, data) = (elf.endian(), elf.data());
    let table = elf.elf_section_table();
    let names_index = SectionIndex(elf.elf_header().shstrndx(endian, data)? as usize);
    let mut names_header = *table.section(names_index)?;
    let mut names = names_header.data(endian, data)?.to_vec();
    let name = names.len() as u32;
    names.extend_from_slice(map::SECTION.as_bytes());
    names.push(0);
    let end = u32::try_from(data.len()).context("the file is too large")?;
    names_header.sh_offset.set(endian, end);
    names_header.sh_size.set(endian, names.len() as u32);
    let mut header = *table.section(SectionIndex(section.index))?;
    header.sh_name.set(endian, name);
    let headers = u64::from(elf.elf_header().e_shoff(endian));
    let patch = |index: usize, header: &SectionHeader32<Endianness>| Patch {
        offset: headers + (index * size_of::<SectionHeader32<Endianness>>()) as u64,
        bytes: bytes_of(header).to_vec(),
    };
    Ok(vec![
        Patch {
            offset: end.into(),
            bytes: names,
        },
        patch(names_index.0, &names_header),
        patch(section.index, &header),
    ])
}

fn address_of(image: &Image<'_>, name: &str) -> Option<u64> {
    let symbol = image.file.symbol_by_name(name)?;
    (!symbol.is_undefined()).then(|| symbol.address())
}
