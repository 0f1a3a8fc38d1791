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
use object::elf::{self, FileHeader64, ProgramHeader64, SectionHeader64};
use object::pod::bytes_of;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, U16, U32, U64};

type Segment = ProgramHeader64<Endianness>;
type Header = SectionHeader64<Endianness>;

/// Alignment of a section, in bytes.
const ALIGNMENT: u64 = 8;

/// The largest gap in the file, in bytes, that [`Location::of`] may leave.
const MAX_GAP: u64 = 64 << 20;

/// The error if the file reaches up to the last address.
const NO_ADDRESSES: &str = "no addresses left for tables";

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
}

/// A file with room for new sections, whose addresses are known before their content.
#[derive(Debug)]
pub struct Appended<'data> {
    data: &'data [u8],
    header: FileHeader64<Endianness>,
    segments: Vec<Segment>,
    sections: Vec<Header>,
    names: Vec<u8>,
    /// Offsets in the file of the parts.
    segments_at: u64,
    names_at: u64,
    sections_at: u64,
    /// Address and offset in the file of each new section.
    places: Vec<(u64, u64)>,
}

impl<'data> Appended<'data> {
    /// Finds addresses and offsets for the sections.
    ///
    /// # Errors
    /// The file is damaged, or not a linked ELF file of 64 bits, or has no segments.
    pub fn new(data: &'data [u8], new: &[NewSection], page: u64) -> Result<Self> {
        let file = ElfFile64::<Endianness>::parse(data).context("damaged ELF file")?;
        let endian = file.endian();
        let mut header = *file.elf_header();
        let mut segments = file.elf_program_headers().to_vec();
        // Remove the segments of sections that are replaced.
        segments.retain(|segment| {
            let kind = segment.p_type(endian);
            new.iter().all(|section| section.segment != Some(kind))
        });
        let mut sections: Vec<Header> = file.elf_section_table().iter().copied().collect();
        let names_index = file
            .elf_header()
            .shstrndx(endian, data)
            .context("damaged ELF file: section names")?;
        let names_header = sections.get_mut(names_index as usize);
        let names_header = names_header.context("no section names")?;
        let mut names = names_header
            .data(endian, data)
            .context("damaged ELF file: section names")?
            .to_vec();
        let of_sections = new.iter().filter(|section| section.segment.is_some());
        let count = segments.len() + 1 + of_sections.count();
        let place = Location::of(&segments, endian, data.len() as u64, page)?;

        let mut end = (count * size_of::<Segment>()) as u64;
        let sizes = new.iter().map(|section| section.size + ALIGNMENT);
        place
            .address
            .checked_add(end + sizes.sum::<u64>())
            .context(NO_ADDRESSES)?;
        let mut places = Vec::new();
        let mut more = Vec::new();
        for section in new {
            let at = end.next_multiple_of(ALIGNMENT);
            end = at + section.size;
            let (address, offset) = (place.address + at, place.offset + at);
            places.push((address, offset));
            let known = file
                .elf_section_table()
                .section_by_name(endian, section.name.as_bytes());
            let name = match known {
                Some((_, known)) => known.sh_name(endian),
                None => add_name(&mut names, section.name)?,
            };
            let header = section_header(section, name, address, offset, endian);
            match known {
                Some((index, _)) => sections[index.0] = header,
                None => sections.push(header),
            }
            if let Some(kind) = section.segment {
                let at = place.at(at);
                more.push(at.segment(kind, section.size, ALIGNMENT, endian));
            }
        }
        let after_loads = 1 + segments
            .iter()
            .rposition(|segment| segment.p_type(endian) == elf::PT_LOAD)
            .context("nothing is loaded")?;
        segments.insert(after_loads, place.segment(elf::PT_LOAD, end, page, endian));
        segments.append(&mut more);
        // The program headers have moved.
        for segment in &mut segments {
            if segment.p_type(endian) == elf::PT_PHDR {
                let size = (count * size_of::<Segment>()) as u64;
                *segment = place.segment(elf::PT_PHDR, size, ALIGNMENT, endian);
            }
        }
        ensure!(
            segments.len() < elf::PN_XNUM.into() && sections.len() < 0xff00,
            "more segments or sections than the file's header can count"
        );

        let names_at = place.offset + end;
        let sections_at = (names_at + names.len() as u64).next_multiple_of(ALIGNMENT);
        let names_header = &mut sections[names_index as usize];
        names_header.sh_offset = U64::new(endian, names_at);
        names_header.sh_size = U64::new(endian, names.len() as u64);
        header.e_phoff = U64::new(endian, place.offset);
        header.e_shoff = U64::new(endian, sections_at);
        // Both are below 0xffff.
        header.e_phnum = U16::new(endian, segments.len() as u16);
        header.e_shnum = U16::new(endian, sections.len() as u16);
        Ok(Self {
            data,
            header,
            segments,
            sections,
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
        let size = self.sections_at as usize + size_of_val(self.sections.as_slice());
        let mut out = Vec::with_capacity(size);
        out.extend_from_slice(self.data);
        out[..size_of_val(&self.header)].copy_from_slice(bytes_of(&self.header));
        out.resize(self.segments_at as usize, 0);
        for segment in &self.segments {
            out.extend_from_slice(bytes_of(segment));
        }
        for (content, &(_, offset)) in contents.iter().zip(&self.places) {
            out.resize(offset as usize, 0);
            out.extend_from_slice(content);
        }
        out.resize(self.names_at as usize, 0);
        out.extend_from_slice(&self.names);
        out.resize(self.sections_at as usize, 0);
        for section in &self.sections {
            out.extend_from_slice(bytes_of(section));
        }
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
    fn of(segments: &[Segment], endian: Endianness, length: u64, page: u64) -> Result<Self> {
        let loads = || {
            segments
                .iter()
                .filter(|segment| segment.p_type(endian) == elf::PT_LOAD)
        };
        let end_of = |load: &&Segment| load.p_vaddr(endian).checked_add(load.p_memsz(endian));
        let (Some(first), Some(last)) = (loads().next(), loads().max_by_key(end_of)) else {
            bail!("nothing is loaded, so there is no address for tables");
        };
        let above = |value: u64| value.checked_next_multiple_of(page).context(NO_ADDRESSES);
        let end = end_of(&last).context("damaged ELF file: a segment beyond the last address")?;
        let mut place = Self {
            address: above(end)?,
            offset: above(length)?,
            physical: last.p_paddr(endian).wrapping_sub(last.p_vaddr(endian)),
        };
        if segments
            .iter()
            .any(|segment| segment.p_type(endian) == elf::PT_PHDR)
        {
            let distance = first.p_vaddr(endian).wrapping_sub(first.p_offset(endian));
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

    fn segment(
        self,
        kind: elf::ProgramType,
        size: u64,
        alignment: u64,
        endian: Endianness,
    ) -> Segment {
        Segment {
            p_type: U32::new(endian, kind),
            p_flags: U32::new(endian, elf::PF_R),
            p_offset: U64::new(endian, self.offset),
            p_vaddr: U64::new(endian, self.address),
            p_paddr: U64::new(endian, self.address.wrapping_add(self.physical)),
            p_filesz: U64::new(endian, size),
            p_memsz: U64::new(endian, size),
            p_align: U64::new(endian, alignment),
        }
    }
}

fn section_header(
    section: &NewSection,
    name: u32,
    address: u64,
    offset: u64,
    endian: Endianness,
) -> Header {
    Header {
        sh_name: U32::new(endian, name),
        sh_type: U32::new(endian, section.kind),
        sh_flags: U64::new(endian, elf::SHF_ALLOC),
        sh_addr: U64::new(endian, address),
        sh_offset: U64::new(endian, offset),
        sh_size: U64::new(endian, section.size),
        sh_link: U32::new(endian, 0),
        sh_info: U32::new(endian, 0),
        sh_addralign: U64::new(endian, ALIGNMENT),
        sh_entsize: U64::new(endian, 0),
    }
}

/// Adds a name; its offset.
fn add_name(names: &mut Vec<u8>, name: &str) -> Result<u32> {
    let at = u32::try_from(names.len()).context("more than 4 GiB of section names")?;
    names.extend_from_slice(name.as_bytes());
    names.push(0);
    Ok(at)
}
