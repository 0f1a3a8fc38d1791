//! `sframe make`: adds tables to a linked file.

mod append;

pub use append::{Appended, NewSection};

use anyhow::{Context, Result, ensure};
use object::{Object, elf};

use crate::cfi::Frames;
use crate::image::Image;
use crate::link::{Options, TOO_FAR, Tables};
use crate::sframe::Table;
use crate::symbols::Blob;
use crate::{sframe, symbols};

/// A file with tables.
#[derive(Debug)]
pub struct Made {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// The tables that were made.
    pub tables: Tables,
}

/// Adds `.sframe` and `.symbols` to a linked ELF file, and reads them back. Tables that it has are replaced; of
/// functions that only they describe, the rows are kept.
///
/// # Errors
/// The file is damaged or has nothing to make tables from, or what was written is not what was meant.
pub fn make(data: &[u8], options: &Options) -> Result<Made> {
    let image = Image::parse(data)?;
    let others = match image.section(sframe::SECTION)? {
        Some(section) => {
            let tables = unwind::sframe::Tables::new(section.data, section.address);
            sframe::functions(&tables).with_context(|| {
                format!(
                    "section .sframe at offset {}, which is to be replaced (without it, after \
                     objcopy --remove-section=.sframe, nothing of it is kept)",
                    section.offset
                )
            })?
        }
        None => Frames::default(),
    };
    let mut tables = Tables::of(&image, options, others)?;
    // A stripped file gets no `.symbols`, which would be empty.
    tables.blob = tables.blob.filter(|blob| blob.function_count() > 0);
    let new: Vec<NewSection> = [
        tables.table.as_ref().map(|table| NewSection {
            name: sframe::SECTION,
            kind: elf::SHT_GNU_SFRAME,
            segment: Some(elf::PT_GNU_SFRAME),
            size: table.size() as u64,
        }),
        tables.blob.as_ref().map(|blob| NewSection {
            name: symbols::SECTION,
            kind: elf::SHT_PROGBITS,
            segment: None,
            size: blob.size() as u64,
        }),
    ]
    .into_iter()
    .flatten()
    .collect();
    ensure!(!new.is_empty(), "no symbols to make a table of");
    let appended = Appended::new(data, &new, image.architecture.page)?;
    let build_id = image.file.build_id()?.unwrap_or_default();
    let table = tables.table.as_ref().map(Content::Table);
    let blob = tables.blob.as_ref().map(Content::Blob);
    let contents: Vec<Vec<u8>> = table
        .into_iter()
        .chain(blob)
        .enumerate()
        .map(|(index, content)| {
            let address = appended.address(index);
            match content {
                Content::Table(table) => table.to_bytes(address),
                Content::Blob(blob) => blob.to_bytes(address, build_id),
            }
        })
        .collect();
    let reaches = |table: &Table| table.reaches(appended.address(0));
    ensure!(tables.table.as_ref().is_none_or(reaches), TOO_FAR);
    let bytes = appended.to_bytes(&contents);
    tables.check_symbols()?;
    tables.check_written(&bytes)?;
    tables.write_files(&image, options)?;
    Ok(Made { bytes, tables })
}

enum Content<'a> {
    Table(&'a Table),
    Blob(&'a Blob),
}
