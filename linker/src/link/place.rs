//! The sections and symbols of an image that hold the tables.

use anyhow::{Context, Result, bail, ensure};
use object::elf::{self, SectionHeader64};
use object::pod::bytes_of;
use object::read::elf::FileHeader;
use object::{
    Endianness, Object, ObjectSection, ObjectSegment, ObjectSymbol, SectionFlags, SectionIndex,
};

use super::options::Options;
use super::room::Room;
use crate::image::{Image, Section};
use crate::{sframe, symbols};

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
    pub(super) start: &'static str,
    pub(super) end: &'static str,
}

/// What to do where the tables have no place.
pub(super) const PLACE_THEM: &str = "add INCLUDE tables.ld to the linker script after every section that contains code (`sframe-link \
     --sframe-script` prints tables.ld)";

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
                "section {section} has no place in the image, because symbol {symbol} is not defined: {PLACE_THEM}",
                section = place.section
            );
        }
    }
    Ok(())
}

/// The section for a table, which must have the size given. `start` is the address of a table within a section of the script.
pub(super) fn find<'data>(
    image: &Image<'data>,
    place: &TableSection,
    size: usize,
    start: Option<u64>,
) -> Result<Section<'data>> {
    let section = match start {
        Some(start) => part(image, place, size, start)?,
        None => own_section(image, place, size)?,
    };
    let name = place.section;
    ensure!(
        is_loaded(image, &section, size),
        "section {name} ({start:#x} to {end:#x}) is not in a loaded segment: in the linker script, assign the section to a PT_LOAD program header, without NOLOAD, INFO or DSECT",
        start = section.address,
        end = section.address.wrapping_add(size as u64),
    );
    Ok(section)
}

/// Whether the first `size` bytes of a section are in a loaded segment.
fn is_loaded(image: &Image<'_>, section: &Section<'_>, size: usize) -> bool {
    let mut segments = image.file.segments();
    let is_in_segment = segments.any(|segment| {
        let offset = section.address.checked_sub(segment.address());
        let (at, length) = segment.file_range();
        offset.is_some_and(|offset| {
            at.checked_add(offset) == Some(section.offset)
                && offset
                    .checked_add(size as u64)
                    .is_some_and(|end| end <= length)
        })
    });
    is_in_segment || size == 0
}

/// The complaint about a table of these sizes whose section is in no loaded segment; `None` if both are loaded.
pub(super) fn unloaded(image: &Image<'_>, room: Room) -> Option<String> {
    let tables = [(SFRAME, room.sframe), (SYMBOLS, room.symbols)];
    let unloaded = tables.into_iter().find(|(place, size)| {
        let size = size.unwrap_or_default();
        let section = own_section(image, place, size);
        section.is_ok_and(|section| !is_loaded(image, &section, size))
    });
    unloaded.map(|(place, _)| {
        format!(
            "section {section} is not in a loaded segment",
            section = place.section
        )
    })
}

/// The space for a table within a section of the script. The linker has filled it with zeros.
fn part<'data>(
    image: &Image<'data>,
    place: &TableSection,
    size: usize,
    start: u64,
) -> Result<Section<'data>> {
    let around = around(image, start).with_context(|| no_place(place))?;
    let at = usize::try_from(start - around.address)?;
    let data = around.data.get(at..).and_then(|data| data.get(..size));
    let data = data.filter(|data| data.iter().all(|byte| *byte == 0));
    Ok(Section {
        address: start,
        offset: around.offset + at as u64,
        data: data.with_context(|| {
            format!(
                "section {section} needs {size} bytes at {start:#x}, but the space is not free",
                section = place.section
            )
        })?,
        ..around
    })
}

/// The section with an address, if it is loaded, is only read, and is after all code.
fn around<'data>(image: &Image<'data>, address: u64) -> Option<Section<'data>> {
    let mut sections = image.file.sections();
    let section = sections.find(|section| {
        let offset = address.checked_sub(section.address());
        let is_read = matches!(section.flags(), SectionFlags::Elf { sh_flags, .. }
            if sh_flags & (elf::SHF_ALLOC | elf::SHF_WRITE | elf::SHF_EXECINSTR | elf::SHF_TLS) == elf::SHF_ALLOC);
        is_read && offset.is_some_and(|offset| offset < section.size())
    })?;
    let is_after = image
        .code()
        .iter()
        .all(|code| code.end <= section.address());
    let (offset, _) = section.file_range().filter(|_| is_after)?;
    let section = Section {
        index: section.index().0,
        address: section.address(),
        offset,
        data: section.data().ok()?,
    };
    is_loaded(image, &section, section.data.len()).then_some(section)
}

/// The addresses of both tables, if those that are wanted are within a section of the script that is loaded, is only read, and is after all code.
pub(super) fn within(image: &Image<'_>, options: &Options) -> Option<[u64; 2]> {
    let starts = [
        address_of(image, SFRAME.start)?,
        address_of(image, SYMBOLS.start)?,
    ];
    let wanted = [options.sframe.is_some(), options.symbols.is_some()];
    let mut tables = starts.iter().zip(wanted);
    let is_within = tables.all(|(start, wanted)| !wanted || around(image, *start).is_some());
    is_within.then_some(starts)
}

/// The section of a table alone.
fn own_section<'data>(
    image: &Image<'data>,
    place: &TableSection,
    size: usize,
) -> Result<Section<'data>> {
    let name = place.section;
    let section = match image.section(place.input_section)? {
        Some(section) => section,
        None => image.section(name)?.with_context(|| {
            format!(
                "the linker script does not place input section {input} in section {name}",
                input = place.input_section
            )
        })?,
    };
    ensure!(
        section.data.len() == size,
        "section {name} has {found} bytes, but {size} were expected: in the linker script, place only {input} in the section",
        found = section.data.len(),
        input = place.input_section,
    );
    let end = section.address.wrapping_add(size as u64);
    // A stripped image has no symbols; the first link had them.
    for (symbol, expected) in [(place.start, section.address), (place.end, end)] {
        if let Some(found) = address_of(image, symbol) {
            ensure!(
                found == expected,
                "symbol {symbol} has the value {found:#x}, but section {name} is at {start:#x} to {end:#x}",
                start = section.address,
            );
        }
    }
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

fn no_place(place: &TableSection) -> String {
    format!(
        "section {section} has no place in the image: {PLACE_THEM}",
        section = place.section
    )
}

fn address_of(image: &Image<'_>, name: &str) -> Option<u64> {
    let symbol = image.file.symbol_by_name(name)?;
    (!symbol.is_undefined()).then(|| symbol.address())
}
