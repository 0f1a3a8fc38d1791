//! What of the kernel's image is needed to follow it.

use std::path::Path;

use anyhow::{Context, Result};
use object::read::elf::ElfFile32;
use object::{Endianness, Object, ObjectSection, ObjectSegment};
use unwind::ehabi::Tables;
use unwind::{ArmTables, Code, Range};

use crate::oracle::memory::Mapped;
use crate::oracle::names::Names;
use crate::stacks::{self, Declared};

/// Bytes of the image, and their address.
type Part = (Vec<u8>, u64);

/// The kernel's image.
#[derive(Debug)]
pub struct Image {
    /// The rule map.
    pub map: Vec<u8>,
    map_address: u64,
    /// `.ARM.exidx` and `.ARM.extab`.
    exceptions: [Part; 2],
    text: Part,
    outermost: [Range; 1],
    /// Names of functions and labels.
    pub names: Names,
    /// The stacks.
    pub(super) stacks: Vec<Declared>,
    segments: Vec<Mapped>,
    /// The address of the vectors.
    pub(super) vectors: u64,
}

/// Where memory begins.
const RAM: u64 = 0x4000_0000;

impl Image {
    /// Reads an image.
    ///
    /// # Errors
    /// When the file is no kernel with tables.
    pub fn read(path: &Path) -> Result<Self> {
        let data =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let file =
            ElfFile32::<Endianness>::parse(&*data).context("the image is not an ELF file")?;
        let section = |name| -> Result<Part> {
            let section = file.section_by_name(name);
            let section = section.with_context(|| format!("the image has no section {name}"))?;
            Ok((section.data()?.to_vec(), section.address()))
        };
        let names = Names::of(&file);
        let segments = file.segments().map(|segment| Mapped {
            start: segment.address(),
            end: segment.address() + segment.size(),
            // The image runs where it is loaded.
            offset: segment.address().wrapping_sub(RAM),
        });
        let (map, map_address) = section(".unwind_map")?;
        let outermost = names.address("__outermost_start")?..names.address("__outermost_end")?;
        Ok(Self {
            map,
            map_address,
            exceptions: [section(".ARM.exidx")?, section(".ARM.extab")?],
            text: section(".text")?,
            outermost: [Range::new(outermost.start, outermost.end)],
            vectors: names.address("exception_vectors")?,
            stacks: stacks::declared(&file)?,
            segments: segments.collect(),
            names,
        })
    }

    /// Its tables, with these bytes as the map.
    pub(super) fn tables<'a>(&'a self, map: &'a [u8]) -> ArmTables<'a> {
        let [(index, at), (table, table_at)] = &self.exceptions;
        let (at, table_at) = (*at as u32, *table_at as u32);
        let exceptions = Tables::new(index, at, table, table_at, self.text());
        ArmTables::new(map, self.map_address, exceptions).outermost(&self.outermost)
    }

    pub(super) fn code(&self) -> Code<'_> {
        Code::new(&self.text.0, self.text.1)
    }

    /// The addresses of its code.
    pub(super) fn text(&self) -> Range {
        Range::new(self.text.1, self.text.1 + self.text.0.len() as u64)
    }

    /// The first bytes of an instruction.
    pub(super) fn instruction(&self, pc: u64) -> Option<[u8; 4]> {
        let at = usize::try_from(pc.checked_sub(self.text.1)?).ok()?;
        let bytes = self.text.0.get(at..)?;
        let mut four = [0; 4];
        let count = bytes.len().min(4);
        four[..count].copy_from_slice(&bytes[..count]);
        (count >= 2).then_some(four)
    }

    /// Where the image lies in the machine's memory.
    pub(super) fn mapped(&self) -> Vec<Mapped> {
        self.segments.clone()
    }
}
