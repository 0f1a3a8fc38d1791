//! The two classes of ELF files, of 32 and of 64 bits: the same fields, of other sizes and in another order.

use anyhow::{Context, Result};
use object::elf::{
    self, FileHeader32, FileHeader64, ProgramHeader32, ProgramHeader64, SectionHeader32,
    SectionHeader64,
};
use object::pod::bytes_of;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, U16, U32, U64};

/// The error if the tables lie behind the last offset that a file's header can name.
pub(crate) const TOO_LONG: &str =
    "with the added tables, the file is too long for the offsets in its ELF headers";

/// A program header, of either class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) kind: elf::ProgramType,
    pub(crate) flags: elf::ProgramFlags,
    pub(crate) offset: u64,
    pub(crate) address: u64,
    pub(crate) physical: u64,
    /// Bytes in the file, and in memory.
    pub(crate) size: u64,
    pub(crate) in_memory: u64,
    pub(crate) alignment: u64,
}

/// A section header, of either class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) name: u32,
    pub(crate) kind: elf::SectionType,
    pub(crate) flags: elf::SectionFlags,
    pub(crate) address: u64,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) link: u32,
    pub(crate) info: u32,
    pub(crate) alignment: u64,
    pub(crate) entry_size: u64,
}

/// Where a file's header says that other headers are, and how many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Headers {
    pub(crate) segments_at: u64,
    pub(crate) segments: u16,
    pub(crate) sections_at: u64,
    pub(crate) sections: u16,
}

/// A class. Numbers that are written are known to fit: see [`Class::LAST`].
pub(crate) trait Class: FileHeader<Endian = Endianness> {
    /// Bytes of a program header, and of a section header.
    const SEGMENT: usize;
    const SECTION: usize;
    /// The greatest address, and offset in a file.
    const LAST: u64;

    /// The file's header with these fields.
    fn with(self, headers: Headers, endian: Endianness) -> Vec<u8>;

    /// The bytes of a program header.
    fn segment(segment: &Segment, endian: Endianness) -> Vec<u8>;

    /// The bytes of a section header.
    fn section(header: &Header, endian: Endianness) -> Vec<u8>;
}

impl Segment {
    /// Reads one.
    pub(crate) fn read<T: ProgramHeader<Endian = Endianness>>(
        from: &T,
        endian: Endianness,
    ) -> Self {
        Self {
            kind: from.p_type(endian),
            flags: from.p_flags(endian),
            offset: from.p_offset(endian).into(),
            address: from.p_vaddr(endian).into(),
            physical: from.p_paddr(endian).into(),
            size: from.p_filesz(endian).into(),
            in_memory: from.p_memsz(endian).into(),
            alignment: from.p_align(endian).into(),
        }
    }
}

impl Header {
    /// Reads one.
    pub(crate) fn read<T: SectionHeader<Endian = Endianness>>(
        from: &T,
        endian: Endianness,
    ) -> Self {
        Self {
            name: from.sh_name(endian),
            kind: from.sh_type(endian),
            flags: from.sh_flags(endian),
            address: from.sh_addr(endian).into(),
            offset: from.sh_offset(endian).into(),
            size: from.sh_size(endian).into(),
            link: from.sh_link(endian),
            info: from.sh_info(endian),
            alignment: from.sh_addralign(endian).into(),
            entry_size: from.sh_entsize(endian).into(),
        }
    }
}

/// An error unless a file of a class has room for an end: the address, or the offset, behind the last byte.
pub(crate) fn fits<C: Class>(end: u64, what: &'static str) -> Result<()> {
    let last = end.checked_sub(1).filter(|last| *last <= C::LAST);
    last.map(|_| ()).context(what)
}

impl Class for FileHeader64<Endianness> {
    const SEGMENT: usize = size_of::<ProgramHeader64<Endianness>>();
    const SECTION: usize = size_of::<SectionHeader64<Endianness>>();
    const LAST: u64 = u64::MAX;

    fn with(mut self, headers: Headers, endian: Endianness) -> Vec<u8> {
        self.e_phoff = U64::new(endian, headers.segments_at);
        self.e_phnum = U16::new(endian, headers.segments);
        self.e_shoff = U64::new(endian, headers.sections_at);
        self.e_shnum = U16::new(endian, headers.sections);
        bytes_of(&self).to_vec()
    }

    fn segment(segment: &Segment, endian: Endianness) -> Vec<u8> {
        let word = |value| U64::new(endian, value);
        bytes_of(&ProgramHeader64 {
            p_type: U32::new(endian, segment.kind),
            p_flags: U32::new(endian, segment.flags),
            p_offset: word(segment.offset),
            p_vaddr: word(segment.address),
            p_paddr: word(segment.physical),
            p_filesz: word(segment.size),
            p_memsz: word(segment.in_memory),
            p_align: word(segment.alignment),
        })
        .to_vec()
    }

    fn section(header: &Header, endian: Endianness) -> Vec<u8> {
        let word = |value| U64::new(endian, value);
        bytes_of(&SectionHeader64 {
            sh_name: U32::new(endian, header.name),
            sh_type: U32::new(endian, header.kind),
            sh_flags: U64::new(endian, header.flags),
            sh_addr: word(header.address),
            sh_offset: word(header.offset),
            sh_size: word(header.size),
            sh_link: U32::new(endian, header.link),
            sh_info: U32::new(endian, header.info),
            sh_addralign: word(header.alignment),
            sh_entsize: word(header.entry_size),
        })
        .to_vec()
    }
}

impl Class for FileHeader32<Endianness> {
    const SEGMENT: usize = size_of::<ProgramHeader32<Endianness>>();
    const SECTION: usize = size_of::<SectionHeader32<Endianness>>();
    const LAST: u64 = u32::MAX as u64;

    fn with(mut self, headers: Headers, endian: Endianness) -> Vec<u8> {
        self.e_phoff = U32::new(endian, headers.segments_at as u32);
        self.e_phnum = U16::new(endian, headers.segments);
        self.e_shoff = U32::new(endian, headers.sections_at as u32);
        self.e_shnum = U16::new(endian, headers.sections);
        bytes_of(&self).to_vec()
    }

    fn segment(segment: &Segment, endian: Endianness) -> Vec<u8> {
        let word = |value| U32::new(endian, value as u32);
        bytes_of(&ProgramHeader32 {
            p_type: U32::new(endian, segment.kind),
            p_offset: word(segment.offset),
            p_vaddr: word(segment.address),
            p_paddr: word(segment.physical),
            p_filesz: word(segment.size),
            p_memsz: word(segment.in_memory),
            p_flags: U32::new(endian, segment.flags),
            p_align: word(segment.alignment),
        })
        .to_vec()
    }

    fn section(header: &Header, endian: Endianness) -> Vec<u8> {
        let word = |value| U32::new(endian, value as u32);
        bytes_of(&SectionHeader32 {
            sh_name: U32::new(endian, header.name),
            sh_type: U32::new(endian, header.kind),
            sh_flags: U32::new_u64_truncate(endian, header.flags),
            sh_addr: word(header.address),
            sh_offset: word(header.offset),
            sh_size: word(header.size),
            sh_link: U32::new(endian, header.link),
            sh_info: U32::new(endian, header.info),
            sh_addralign: word(header.alignment),
            sh_entsize: word(header.entry_size),
        })
        .to_vec()
    }
}
