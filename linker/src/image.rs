//! An ELF file, opened.

use std::borrow::Cow;
use std::fs::File;
use std::ops::Deref;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, bail};
use memmap2::Mmap;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, Object, ObjectKind, ObjectSection, SectionFlags, elf};

use crate::architecture::Architecture;
use crate::compressed;

/// A linked ELF file that tables can be made for.
#[derive(Debug)]
pub struct Image<'data> {
    /// The architecture that it runs on.
    pub architecture: &'static Architecture,
    /// The file, parsed.
    pub file: object::File<'data>,
}

/// A section of an image.
#[derive(Clone, Copy, Debug)]
pub struct Section<'data> {
    /// Number in the section table.
    pub index: usize,
    /// Address in memory.
    pub address: u64,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// The bytes in the file.
    pub data: &'data [u8],
}

impl<'data> Image<'data> {
    /// Parses a linked ELF file.
    ///
    /// # Errors
    /// Returns an error if the file is not a linked ELF file, is damaged, or is for an architecture without tables.
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        let file = linked(data)?;
        let machine = file.architecture();
        let Some(architecture) = Architecture::of(machine, !file.is_little_endian()) else {
            let order = match file.is_little_endian() {
                true => "",
                false => ", big-endian",
            };
            bail!(
                "unsupported architecture {machine:?}{order}: supported architectures are x86-64, AArch64, s390x and 32-bit ARM"
            );
        };
        Ok(Self { architecture, file })
    }

    /// The offset in the file and the uncompressed bytes of the section with a name; `None` if it is missing or empty.
    ///
    /// # Errors
    /// Returns an error if the section is outside the file, or cannot be decompressed.
    pub fn uncompressed(&self, name: &str) -> Result<Option<(u64, Cow<'data, [u8]>)>> {
        let Some(section) = self.file.section_by_name(name) else {
            return Ok(None);
        };
        let Some((offset, _)) = section.file_range() else {
            return Ok(None);
        };
        let data = compressed::uncompressed(&section).with_context(|| {
            format!("damaged ELF file: cannot read section {name} at offset {offset}")
        })?;
        Ok((!data.is_empty()).then_some((offset, data)))
    }

    /// The addresses of executable sections.
    #[must_use]
    pub fn code(&self) -> Vec<Range<u64>> {
        self.file
            .sections()
            .filter(|section| is_code(section.flags()))
            .map(|section| {
                let start = section.address();
                start..start.saturating_add(section.size())
            })
            .collect()
    }

    /// Checks that no two sections with code have the same addresses, as overlays have: a table has one row and one name for an
    /// address.
    ///
    /// # Errors
    /// Returns an error if two do.
    pub fn check_no_overlays(&self) -> Result<()> {
        let sections = self.file.sections();
        let mut code: Vec<_> = sections
            .filter(|section| is_code(section.flags()) && section.size() > 0)
            .map(|section| {
                let end = section.address().saturating_add(section.size());
                (section.address(), end, section)
            })
            .collect();
        code.sort_by_key(|(start, ..)| *start);
        let overlapping = code.windows(2).find(|pair| pair[1].0 < pair[0].1);
        if let Some([(.., first), (start, _, second)]) = overlapping {
            bail!(
                "sections {first} and {second} both contain code at {start:#x}, but unwind tables can describe only one function per address: link overlays at different addresses or as separate images",
                first = first.name().unwrap_or_default().escape_debug(),
                second = second.name().unwrap_or_default().escape_debug(),
            );
        }
        Ok(())
    }

    /// The section of a name, if it has bytes in the file.
    ///
    /// # Errors
    /// Returns an error if the section is outside the file.
    pub fn section(&self, name: &str) -> Result<Option<Section<'data>>> {
        section(&self.file, name)
    }

    /// The sections of a name that have bytes in the file, in the order of the file. Compilers give `.eh_frame` two types, and GNU
    /// ld keeps them apart if no linker script tells it to join them.
    ///
    /// # Errors
    /// Returns an error if a section is outside the file.
    pub fn sections(&self, name: &str) -> Result<Vec<Section<'data>>> {
        let all = self.file.sections();
        let named = all.filter(|section| section.name_bytes() == Ok(name.as_bytes()));
        let read = named.map(|section| read(&section, name));
        read.filter_map(Result::transpose).collect()
    }
}

/// Whether a file is a linked image for an architecture that no tables can be made for.
#[must_use]
pub fn is_unsupported(data: &[u8]) -> bool {
    linked(data)
        .is_ok_and(|file| Architecture::of(file.architecture(), !file.is_little_endian()).is_none())
}

/// Whether a section contains code that is loaded. What is not loaded has no address, and can have the flag all the same.
#[must_use]
pub fn is_code(flags: SectionFlags) -> bool {
    let wanted = elf::SHF_ALLOC | elf::SHF_EXECINSTR;
    matches!(flags, SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(wanted))
}

/// The build id of a file, in a section or a segment of notes; `None` if it has none.
///
/// # Errors
/// Returns an error if the notes are outside the file.
pub fn build_id<'data>(file: &object::File<'data>) -> Result<Option<&'data [u8]>> {
    let found = file.build_id().context("damaged build id note")?;
    // A linker script can put the note into a section of another type.
    let in_segments = || match file {
        object::File::Elf32(file) => in_segments(file.elf_header(), file.data()),
        object::File::Elf64(file) => in_segments(file.elf_header(), file.data()),
        _ => Ok(None),
    };
    found.map_or_else(in_segments, |id| Ok(Some(id)))
}

fn in_segments<'data, Elf: FileHeader<Endian = Endianness>>(
    header: &Elf,
    data: &'data [u8],
) -> Result<Option<&'data [u8]>> {
    let endian = header.endian()?;
    for segment in header.program_headers(endian, data)? {
        let Some(mut notes) = segment.notes(endian, data)? else {
            continue;
        };
        while let Some(note) = notes.next()? {
            if note.name() == elf::ELF_NOTE_GNU && note.n_type(endian) == elf::NT_GNU_BUILD_ID {
                return Ok(Some(note.desc()));
            }
        }
    }
    Ok(None)
}

/// Whether a file starts as an ELF file does.
#[must_use]
pub fn is_elf(data: &[u8]) -> bool {
    data.starts_with(b"\x7fELF")
}

/// Parses a linked ELF file of any architecture.
///
/// # Errors
/// Returns an error if the file is not a linked ELF file, or is damaged.
pub fn linked(data: &[u8]) -> Result<object::File<'_>> {
    if !is_elf(data) {
        bail!("not an ELF file");
    }
    if let Some(what) = beyond_end(data) {
        bail!("damaged ELF file: {what}");
    }
    let file = object::File::parse(data).context("damaged ELF file")?;
    match file.kind() {
        ObjectKind::Executable | ObjectKind::Dynamic => Ok(file),
        ObjectKind::Relocatable => {
            bail!("the file is an object file, but a linked image was expected")
        }
        kind => bail!("the ELF file has type {kind:?}, but a linked image was expected"),
    }
}

/// The section of a name, if it has bytes in the file.
///
/// # Errors
/// Returns an error if the section is outside the file.
pub fn section<'data>(file: &object::File<'data>, name: &str) -> Result<Option<Section<'data>>> {
    match file.section_by_name(name) {
        Some(section) => read(&section, name),
        None => Ok(None),
    }
}

/// A section, if it has bytes in the file.
fn read<'data>(section: &object::Section<'data, '_>, name: &str) -> Result<Option<Section<'data>>> {
    let Some((offset, _)) = section.file_range() else {
        return Ok(None);
    };
    let data = section.data().with_context(|| {
        format!("damaged ELF file: cannot read section {name} at offset {offset}")
    })?;
    Ok(Some(Section {
        index: section.index().0,
        address: section.address(),
        offset,
        data,
    }))
}

/// Reads a whole file.
///
/// # Errors
/// Returns an error if the file cannot be read. The error contains its name.
pub fn read_file(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// A message if the file is too short for its headers: the most frequent damage, from truncation.
fn beyond_end(data: &[u8]) -> Option<String> {
    match FileKind::parse(data).ok()? {
        FileKind::Elf32 => headers_beyond_end::<elf::FileHeader32<Endianness>>(data),
        FileKind::Elf64 => headers_beyond_end::<elf::FileHeader64<Endianness>>(data),
        _ => None,
    }
}

fn headers_beyond_end<Elf: FileHeader<Endian = Endianness>>(data: &[u8]) -> Option<String> {
    let length = data.len() as u64;
    let Ok(header) = Elf::parse(data) else {
        let size = size_of::<Elf>();
        return Some(format!(
            "the ELF header needs {size} bytes, but the file has only {length} bytes"
        ));
    };
    let endian = header.endian().ok()?;
    let tables: [(&str, u64, u16, u16); 2] = [
        (
            "program headers",
            header.e_phoff(endian).into(),
            header.e_phnum(endian),
            header.e_phentsize(endian),
        ),
        (
            "section headers",
            header.e_shoff(endian).into(),
            header.e_shnum(endian),
            header.e_shentsize(endian),
        ),
    ];
    tables.into_iter().find_map(|(what, offset, count, size)| {
        let end = offset.saturating_add(u64::from(count) * u64::from(size));
        (count > 0 && end > length)
            .then(|| format!("the {what} at offset {offset} end at offset {end}, but the file has only {length} bytes"))
    })
}

/// A file mapped into memory. Only the pages that are used are read, which are few of a linker's inputs.
#[derive(Debug)]
pub struct Mapped(Mmap);

impl Mapped {
    /// Maps a whole file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read. The error contains its name.
    pub fn open(path: &Path) -> Result<Self> {
        let map = || {
            let file = File::open(path)?;
            // SAFETY: the bytes of the map must not change while it lives. The file is an input of a link, or the output of a
            // linker that has exited. `link` drops the map before it writes to that file or runs the linker again, and no other
            // process is meant to write to it.
            unsafe { Mmap::map(&file) }
        };
        map()
            .map(Self)
            .with_context(|| format!("cannot read {}", path.display()))
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
