//! Adds sections to a linked ELF file by appending to it.
//!
//! Every byte of the file keeps its offset, and only fields of the ELF header change, so that no reference by offset or address
//! can break. Appended are the program headers, which need two more entries than fit where they were, the new sections, the
//! section names and the section headers. Rewriting the whole file, as objcopy does, was rejected: it has to understand
//! everything in it.
//!
//! The new sections are allocated, in a new read-only `PT_LOAD` after all others, together with the program headers, which have
//! to be in memory, too.

use anyhow::{Context, Result, bail, ensure};
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{ElfFile, SectionHeader};
use object::{Endianness, FileKind};

use crate::class::{Class, Header, Headers, Segment, TOO_LONG, fits};

/// Alignment of a section, in bytes.
const ALIGNMENT: u64 = 8;

/// The largest gap in the file, in bytes, that [`Location::of`] may leave.
const MAX_GAP: u64 = 64 << 20;

/// The error if the file reaches up to the last address.
const NO_ADDRESSES: &str = "there is no address space for unwind tables after the last segment";

/// A section to add, or to replace the one of this name with.
#[derive(Clone, Copy, Debug)]
pub struct NewSection {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: elf::SectionType,
    /// The type of a segment for this section alone, if it gets one.
    pub segment: Option<elf::ProgramType>,
    /// Size in bytes.
    pub size: u64,
    /// If it is not loaded: the index of the new section whose address it has, for what in it is relative to that.
    pub beside: Option<usize>,
}

/// What a file has no more.
#[derive(Clone, Copy, Debug)]
pub struct Gone<'a> {
    /// The names of sections.
    pub sections: &'a [&'static str],
    /// The types of segments: those of sections that are replaced among them.
    pub segments: &'a [elf::ProgramType],
}

/// A file with room for new sections, whose addresses are known before their content.
#[derive(Debug)]
pub struct Appended<'data> {
    data: &'data [u8],
    /// The bytes of the file's header, of the program headers and of the section headers.
    header: Vec<u8>,
    segments: Vec<u8>,
    sections: Vec<u8>,
    names: Vec<u8>,
    /// Offsets in the file of the parts.
    segments_at: u64,
    names_at: u64,
    sections_at: u64,
    /// Address and offset in the file of each new section.
    places: Vec<(u64, u64)>,
}

impl<'data> Appended<'data> {
    /// Finds addresses and offsets for the sections. Those that are not loaded are the last of them.
    ///
    /// # Errors
    /// Returns an error if the file is damaged, is not a linked ELF file, has no segments, or has no space for the sections.
    pub fn new(data: &'data [u8], new: &[NewSection], gone: &Gone<'_>, page: u64) -> Result<Self> {
        match FileKind::parse(data).context("damaged ELF file")? {
            FileKind::Elf32 => Self::of::<FileHeader32<Endianness>>(data, new, gone, page),
            _ => Self::of::<FileHeader64<Endianness>>(data, new, gone, page),
        }
    }

    fn of<C: Class>(
        data: &'data [u8],
        new: &[NewSection],
        gone: &Gone<'_>,
        page: u64,
    ) -> Result<Self> {
        let file = ElfFile::<C>::parse(data).context("damaged ELF file")?;
        let endian = file.endian();
        let segments = file.elf_program_headers().iter();
        let mut segments: Vec<Segment> = segments.map(|one| Segment::read(one, endian)).collect();
        segments.retain(|segment| !gone.segments.contains(&segment.kind));
        let sections = file.elf_section_table().iter();
        let mut sections: Vec<Header> = sections.map(|one| Header::read(one, endian)).collect();
        let names_index = file
            .elf_header()
            .shstrndx(endian, data)
            .context("damaged ELF file: cannot read the section names")?;
        let names_header = file.elf_section_table().iter().nth(names_index as usize);
        let mut names = names_header
            .context("damaged ELF file: the section name table is missing")?
            .data(endian, data)
            .context("damaged ELF file: cannot read the section names")?
            .to_vec();
        let of_sections = new.iter().filter(|section| section.segment.is_some());
        let count = segments.len() + 1 + of_sections.count();
        let place = Location::of(&segments, data.len() as u64, page)?;

        for name in gone.sections {
            let known = file
                .elf_section_table()
                .section_by_name(endian, name.as_bytes());
            if let Some((index, _)) = known {
                // A header of this type is none. The others keep their numbers.
                let none = &mut sections[index.0];
                none.kind = elf::SHT_NULL;
                none.name = 0;
            }
        }

        let headers = (count * C::SEGMENT) as u64;
        let sizes = new.iter().map(|section| section.size + ALIGNMENT);
        let room = headers + sizes.sum::<u64>();
        let above = place.address.checked_add(room).context(NO_ADDRESSES)?;
        fits::<C>(above, NO_ADDRESSES)?;
        let mut end = headers;
        // Those that are not loaded come last, behind the new segment's end.
        let mut loaded = end;
        let mut places: Vec<(u64, u64)> = Vec::new();
        let mut more = Vec::new();
        for section in new {
            let at = end.next_multiple_of(ALIGNMENT);
            end = at + section.size;
            let offset = place.offset + at;
            let address = match section.beside {
                Some(index) => places[index].0,
                None => {
                    loaded = end;
                    place.address + at
                }
            };
            places.push((address, offset));
            let known = file
                .elf_section_table()
                .section_by_name(endian, section.name.as_bytes());
            let name = match known {
                Some((_, known)) => known.sh_name(endian),
                None => add_name(&mut names, section.name)?,
            };
            let header = section_header(section, name, address, offset);
            match known {
                Some((index, _)) => sections[index.0] = header,
                None => sections.push(header),
            }
            if let Some(kind) = section.segment {
                let at = place.at(at);
                more.push(at.segment(kind, section.size, ALIGNMENT));
            }
        }
        let after_loads = 1 + segments
            .iter()
            .rposition(|segment| segment.kind == elf::PT_LOAD)
            .context("no PT_LOAD segment")?;
        segments.insert(after_loads, place.segment(elf::PT_LOAD, loaded, page));
        segments.append(&mut more);
        // The program headers have moved.
        for segment in &mut segments {
            if segment.kind == elf::PT_PHDR {
                *segment = place.segment(elf::PT_PHDR, headers, ALIGNMENT);
            }
        }
        ensure!(
            segments.len() < elf::PN_XNUM.into() && sections.len() < 0xff00,
            "the file has too many segments or sections for the counts in the ELF header"
        );

        let names_at = place.offset + end;
        let sections_at = (names_at + names.len() as u64).next_multiple_of(ALIGNMENT);
        fits::<C>(sections_at + (sections.len() * C::SECTION) as u64, TOO_LONG)?;
        let names_header = &mut sections[names_index as usize];
        names_header.offset = names_at;
        names_header.size = names.len() as u64;
        let headers = Headers {
            segments_at: place.offset,
            sections_at,
            // Both are below 0xffff.
            segments: segments.len() as u16,
            sections: sections.len() as u16,
        };
        let segments = segments.iter().flat_map(|one| C::segment(one, endian));
        let sections = sections.iter().flat_map(|one| C::section(one, endian));
        Ok(Self {
            data,
            header: file.elf_header().with(headers, endian),
            segments: segments.collect(),
            sections: sections.collect(),
            names,
            segments_at: place.offset,
            names_at,
            sections_at,
            places,
        })
    }

    /// The address of a new section.
    #[must_use]
    pub fn address(&self, index: usize) -> u64 {
        self.places[index].0
    }

    /// The file with its new sections. Each content has the size given in its [`NewSection`].
    #[must_use]
    pub fn to_bytes(&self, contents: &[Vec<u8>]) -> Vec<u8> {
        let size = self.sections_at as usize + self.sections.len();
        let mut out = Vec::with_capacity(size);
        out.extend_from_slice(self.data);
        out[..self.header.len()].copy_from_slice(&self.header);
        out.resize(self.segments_at as usize, 0);
        out.extend_from_slice(&self.segments);
        for (content, &(_, offset)) in contents.iter().zip(&self.places) {
            out.resize(offset as usize, 0);
            out.extend_from_slice(content);
        }
        out.resize(self.names_at as usize, 0);
        out.extend_from_slice(&self.names);
        out.resize(self.sections_at as usize, 0);
        out.extend_from_slice(&self.sections);
        out
    }
}

/// Where an appended part goes.
#[derive(Clone, Copy, Debug)]
struct Location {
    address: u64,
    offset: u64,
    /// The physical address minus the virtual one.
    physical: u64,
}

impl Location {
    /// A location after all segments, and after the file's end.
    ///
    /// Linux before 5.18 computes `AT_PHDR` as the first segment's start plus `e_phoff`. If the file is a program that uses it
    /// (it has a `PT_PHDR`), the new segment has the same distance from the first one in memory as in the file.
    fn of(segments: &[Segment], length: u64, page: u64) -> Result<Self> {
        let loads = || {
            let segments = segments.iter();
            segments.filter(|segment| segment.kind == elf::PT_LOAD)
        };
        let end_of = |load: &&Segment| load.address.checked_add(load.in_memory);
        let (Some(first), Some(last)) = (loads().next(), loads().max_by_key(end_of)) else {
            bail!("the file has no PT_LOAD segment that could load the unwind tables");
        };
        let above = |value: u64| value.checked_next_multiple_of(page).context(NO_ADDRESSES);
        let end = end_of(&last)
            .context("damaged ELF file: a segment extends past the last possible address")?;
        let mut place = Self {
            address: above(end)?,
            offset: above(length)?,
            physical: last.physical.wrapping_sub(last.address),
        };
        if segments.iter().any(|segment| segment.kind == elf::PT_PHDR) {
            let distance = first.address.wrapping_sub(first.offset);
            let address = place.address.max(above(length.wrapping_add(distance))?);
            let offset = address.wrapping_sub(distance);
            if (length..length.saturating_add(MAX_GAP)).contains(&offset) {
                place = Self {
                    address,
                    offset,
                    ..place
                };
            }
        }
        Ok(place)
    }

    /// The location `bytes` bytes after this one.
    fn at(self, bytes: u64) -> Self {
        Self {
            address: self.address + bytes,
            offset: self.offset + bytes,
            ..self
        }
    }

    fn segment(self, kind: elf::ProgramType, size: u64, alignment: u64) -> Segment {
        Segment {
            kind,
            flags: elf::PF_R,
            offset: self.offset,
            address: self.address,
            physical: self.address.wrapping_add(self.physical),
            size,
            in_memory: size,
            alignment,
        }
    }
}

fn section_header(section: &NewSection, name: u32, address: u64, offset: u64) -> Header {
    let flags = match section.beside {
        Some(_) => elf::SectionFlags::default(),
        None => elf::SHF_ALLOC,
    };
    Header {
        name,
        kind: section.kind,
        flags,
        address,
        offset,
        size: section.size,
        link: 0,
        info: 0,
        alignment: ALIGNMENT,
        entry_size: 0,
    }
}

/// Adds a name; its offset.
fn add_name(names: &mut Vec<u8>, name: &str) -> Result<u32> {
    let at = u32::try_from(names.len()).context("the section names of the file exceed 4 GiB")?;
    names.extend_from_slice(name.as_bytes());
    names.push(0);
    Ok(at)
}
