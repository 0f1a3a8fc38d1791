//! The sections of debug information.

use std::borrow::Cow;

use anyhow::{Context, Result};
use gimli::{AbbreviationsCacheStrategy, Dwarf, EndianSlice, RunTimeEndian, SectionId};
use object::{Object, ObjectSection};
use rustc_hash::FxHashSet;

use super::reader::{Reader, endian};
use super::removed::{Live, remove, without_removed};
use super::{Symbols, dropped, folded};
use crate::compressed::uncompressed;

/// The sections of debug information, uncompressed.
#[derive(Debug)]
pub struct Sections<'data> {
    sections: gimli::DwarfSections<Cow<'data, [u8]>>,
    endian: RunTimeEndian,
    /// Bytes of an address.
    word: u8,
}

impl<'data> Sections<'data> {
    /// Finds the sections; `None` if there are no lines. With `live`, the lines of removed functions are left out.
    ///
    /// # Errors
    /// Returns an error if a section is damaged.
    pub fn of(file: &object::File<'data>, live: Option<&Live>) -> Result<Option<Self>> {
        Self::kept(file, live, |data| data)
    }

    fn kept<'file>(
        file: &object::File<'file>,
        live: Option<&Live>,
        keep: impl Fn(Cow<'file, [u8]>) -> Cow<'data, [u8]>,
    ) -> Result<Option<Self>> {
        let section = |id: SectionId| -> Result<Cow<'data, [u8]>> {
            let Some(section) = file.section_by_name(id.name()) else {
                return Ok(Cow::Borrowed(&[]));
            };
            let data = uncompressed(&section);
            let data = data.with_context(|| {
                format!(
                    "damaged ELF file: cannot read section {name}",
                    name = id.name()
                )
            })?;
            let live = live.filter(|_| id == SectionId::DebugLine);
            Ok(keep(match live {
                Some(live) => without_removed(data, file, live)?,
                None => data,
            }))
        };
        let size = |name: &str| {
            file.section_by_name(name)
                .map_or(0, |section| section.size())
        };
        if size(".debug_info") == 0 || size(".debug_line") == 0 {
            return Ok(None);
        }
        let sections = gimli::DwarfSections::load(section)?;
        Ok(Some(Self::new(sections, file)))
    }

    /// Sections of a file.
    pub(super) fn new(
        sections: gimli::DwarfSections<Cow<'data, [u8]>>,
        file: &object::File<'_>,
    ) -> Self {
        Self {
            sections,
            endian: endian(file),
            word: if file.is_64() { 8 } else { 4 },
        }
    }

    /// Leaves out the lines of functions that were folded into another one, as far as these symbols name them.
    ///
    /// # Errors
    /// Returns an error if debug information is damaged.
    pub(super) fn leave_out_folded(&mut self, symbols: &Symbols) -> Result<()> {
        let shared = symbols.0.iter().filter(|symbol| symbol.is_folded);
        let shared: FxHashSet<u64> = shared.map(|symbol| symbol.start).collect();
        if !shared.is_empty() {
            let operands = folded::operands(&self.open(), &shared, self.word)?;
            self.sections.debug_line = self.sections.debug_line.borrow(|section| {
                let mut section = section.clone();
                remove(&mut section, &operands, self.word);
                section
            });
        }
        Ok(())
    }

    /// Leaves out the functions that are not in the image, so that no address is in one of them.
    ///
    /// # Errors
    /// Returns an error if debug information is damaged.
    pub(super) fn leave_out_dropped(&mut self, live: Option<&Live>) -> Result<()> {
        let Some(live) = live else {
            return Ok(());
        };
        let dropped::Operands { info, addresses } = dropped::operands(&self.open(), live)?;
        let without = |section: &Cow<'data, [u8]>, operands: &[usize]| {
            let mut section = section.clone();
            remove(&mut section, operands, self.word);
            section
        };
        let sections = &self.sections;
        let debug_info = sections
            .debug_info
            .borrow(|section| without(section, &info));
        let debug_addr = (sections.debug_addr).borrow(|section| without(section, &addresses));
        self.sections.debug_info = debug_info;
        self.sections.debug_addr = debug_addr;
        Ok(())
    }

    /// Returns the size of `.debug_info`, or of `.debug_info.dwo`.
    pub(super) fn debug_info_size(&self) -> usize {
        let mut size = 0;
        self.sections
            .debug_info
            .borrow(|section| size = section.len());
        size
    }

    /// The sections for readers, of which several share what all need: the abbreviations, which are read once.
    #[must_use]
    pub fn open(&self) -> Dwarf<Reader<'_>> {
        let endian = self.endian;
        let mut dwarf = self
            .sections
            .borrow(|section| EndianSlice::new(section, endian));
        dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::All);
        dwarf
    }
}

impl Sections<'static> {
    /// [`Self::of`], as a copy that does not need the file.
    ///
    /// # Errors
    /// Returns an error if a section is damaged.
    pub fn copied(file: &object::File<'_>, live: Option<&Live>) -> Result<Option<Self>> {
        Self::kept(file, live, |data| Cow::Owned(data.into_owned()))
    }
}
