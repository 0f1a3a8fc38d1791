//! Writes the tables: into the second link, and into files of other formats.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use anyhow::{Result, ensure};
use object::elf;

use super::headers::{self, Added, Content};
use super::options::Options;
use super::place::{self, Patch, TableSection};
use super::tables::Tables;
use crate::gsym::gsym;
use crate::image::{Image, Mapped, Section, build_id};
use crate::symt::symt;
use crate::{map, sframe, symbols, whole};

/// The error for code that version 2 cannot reach.
pub(crate) const TOO_FAR: &str =
    "some code is more than 2 GiB away from .sframe, too far for SFrame version 2: use --sframe=v3";

impl Tables {
    /// The bytes to write into an image that has space for the tables. `within`: their addresses, if they are within a section of the script.
    pub(super) fn patches(
        &self,
        image: &Image<'_>,
        within: Option<[u64; 2]>,
    ) -> Result<Vec<Patch>> {
        let mut patches = Vec::new();
        let (mut renamed, mut added) = (Vec::new(), Vec::new());
        let [of_rows, of_symbols] = within.map_or([None; 2], |starts| starts.map(Some));
        let find = |table: &TableSection, size, start| place::find(image, table, size, start);
        let code = self.code_checksums.again(image)?;
        let stack_pointers = self.stack_pointers.values(image)?;
        let table = self.table.clone().map(|table| {
            let table = table.with_stack_pointers(stack_pointers.clone());
            table.with_code(code.clone())
        });
        let room = self.room();
        let size = room.sframe.unwrap_or_default();
        if let Some(map) = self.loaded_map().cloned() {
            let place = find(&place::SFRAME, size, of_rows)?;
            let map = map.with_stack_pointers(stack_pointers).with_code(code);
            let mut bytes = map.to_bytes(place.address);
            // Readers ignore the padding: the header has the length.
            bytes.resize(size, 0);
            patches.push(Patch {
                offset: place.offset,
                bytes,
            });
            match of_rows {
                Some(_) => added.push(loaded(map::SECTION, elf::SHT_PROGBITS, &place)),
                None => renamed.push((place.index, map::SECTION)),
            }
            if let Some(table) = &table {
                ensure!(table.reaches(place.address), TOO_FAR);
                added.push(Added {
                    name: sframe::SECTION,
                    kind: elf::SHT_GNU_SFRAME,
                    // Starts of functions are relative to it.
                    address: place.address,
                    content: Content::Appended(table.to_bytes(place.address)),
                });
            }
        } else if let Some(table) = &table {
            let place = find(&place::SFRAME, size, of_rows)?;
            ensure!(table.reaches(place.address), TOO_FAR);
            patches.push(Patch {
                offset: place.offset,
                bytes: table.to_bytes_of(place.address, size),
            });
            match of_rows {
                Some(_) => added.push(loaded(sframe::SECTION, elf::SHT_GNU_SFRAME, &place)),
                None => patches.extend(place::sframe_header(image, place)?),
            }
        }
        if let Some(blob) = &self.blob {
            let size = room.symbols.unwrap_or_default();
            let place = find(&place::SYMBOLS, size, of_symbols)?;
            let build_id = build_id(&image.file)?.unwrap_or_default();
            let mut bytes = blob.to_bytes(place.address, build_id);
            // Readers ignore the padding: the header has the length.
            bytes.resize(size, 0);
            patches.push(Patch {
                offset: place.offset,
                bytes,
            });
            if of_symbols.is_some() {
                added.push(loaded(symbols::SECTION, elf::SHT_PROGBITS, &place));
            }
        }
        patches.extend(headers::patches(image, &renamed, &added)?);
        Ok(patches)
    }

    /// Writes the tables into the linked image, and reads them back.
    pub(super) fn write(&self, path: &Path, patches: &[Patch]) -> Result<()> {
        let file = OpenOptions::new().write(true).open(path)?;
        for patch in patches {
            write_at(&file, &patch.bytes, patch.offset)?;
        }
        drop(file);
        self.check_written(&Mapped::open(path)?)
    }

    /// Writes the files that `--gsym` and `--symt` name.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written, or SYMT cannot express the address of some code.
    pub fn write_files(&self, image: &Image<'_>, options: &Options) -> Result<()> {
        if let Some(path) = &options.gsym {
            let build_id = build_id(&image.file)?.unwrap_or_default();
            whole::write(path, &gsym(&self.code, build_id))?;
        }
        if let Some(path) = &options.symt {
            whole::write(path, &symt(&self.code)?)?;
        }
        Ok(())
    }
}

/// The header of a table that is loaded within a section of the script.
fn loaded(name: &'static str, kind: elf::SectionType, place: &Section<'_>) -> Added {
    Added {
        name,
        kind,
        address: place.address,
        content: Content::Loaded {
            offset: place.offset,
            size: place.data.len() as u64,
        },
    }
}

/// Writes all bytes at an offset in a file.
#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

/// Writes all bytes at an offset in a file.
#[cfg(not(unix))]
fn write_at(mut file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    use std::io::{Seek, SeekFrom, Write};

    file.seek(SeekFrom::Start(offset))?;
    file.write_all(bytes)
}
