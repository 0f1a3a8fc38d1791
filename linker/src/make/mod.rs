//! `sframe make`: adds tables to a linked file.

mod append;

pub use append::{Appended, Gone, NewSection};

use anyhow::{Context, Result, bail, ensure};
use object::elf;

use crate::cfi::Frames;
use crate::image::{Image, build_id};
use crate::link::{Options, TOO_FAR, Tables};
use crate::map::{self, Map};
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

/// Adds `.sframe` and `.symbols` to a linked ELF file, and reads them back. If a rule map is loaded instead, `.sframe` is in the file
/// beside it; a file for 32-bit ARM gets only the map. Tables that it has are replaced; of functions that only they describe, the rows are kept.
///
/// # Errors
/// Returns an error if the file is damaged, has nothing to make tables from, or the written tables differ from the intended ones.
pub fn make(data: &[u8], options: &Options) -> Result<Made> {
    let image = Image::parse(data)?;
    let others = replaced(&image)?;
    let mut tables = Tables::of(&image, options, others)?;
    // A stripped file gets no `.symbols`, which would be empty.
    tables.blob = tables.blob.filter(|blob| blob.function_count() > 0);
    let contents = contents(&tables);
    ensure!(
        !contents.is_empty(),
        "there are no tables to add, because no table is selected or the file has no function symbols"
    );
    let new: Vec<NewSection> = contents.iter().map(Content::section).collect();
    let appended = Appended::new(data, &new, &gone(&tables), image.architecture.page)?;
    let build_id = build_id(&image.file)?.unwrap_or_default();
    let contents: Vec<Vec<u8>> = contents
        .iter()
        .enumerate()
        .map(|(index, content)| content.to_bytes(appended.address(index), build_id))
        .collect();
    let reaches = |table: &Table| table.reaches(appended.address(0));
    ensure!(tables.table.as_ref().is_none_or(reaches), TOO_FAR);
    let bytes = appended.to_bytes(&contents);
    tables.check_symbols()?;
    tables.check_written(&bytes)?;
    tables.write_files(&image, options)?;
    Ok(Made { bytes, tables })
}

/// The rows of a linked file that has none of ours, for a reader that keeps them beside the file: the content of `.sframe`, or of the rule map
/// for 32-bit ARM, as it would be at address 0.
///
/// # Errors
/// Returns an error if the file is damaged, or has nothing to make rows from.
pub fn rows_beside(data: &[u8]) -> Result<Vec<u8>> {
    let image = Image::parse(data)?;
    let options = Options {
        symbols: None,
        ..Options::default()
    };
    let tables = Tables::of(&image, &options, Frames::default())?;
    ensure!(
        !tables.frames.functions.is_empty(),
        "cannot create unwind rows, because the file has neither function symbols nor call frame information"
    );
    match (&tables.table, &tables.map) {
        (Some(table), _) => Ok(table.to_bytes(0)),
        (None, Some(Ok(map))) => Ok(map.to_bytes(0)),
        (None, Some(Err(unfit))) => bail!("{unfit}"),
        (None, None) => bail!("unwind tables are not supported for the architecture of the file"),
    }
}

/// The rows of an image that has `.sframe` already. Those of a rule map are made again: each was found in the code.
fn replaced(image: &Image<'_>) -> Result<Frames> {
    let Some(section) = image.section(sframe::SECTION)? else {
        return Ok(Frames::default());
    };
    let tables = unwind::sframe::Tables::new(section.data, section.address);
    sframe::functions(&tables).with_context(|| {
        format!(
            "cannot read the existing section .sframe at offset {offset} (to remove the section, run `objcopy --remove-section=.sframe`)",
            offset = section.offset
        )
    })
}

/// The sections that are added. The map is the first one, as `.sframe` has its address; what is not loaded is the last one.
fn contents(tables: &Tables) -> Vec<Content<'_>> {
    let map = tables.loaded_map().map(Content::Map);
    let is_loaded = map.is_none();
    let table = tables
        .table
        .as_ref()
        .map(|table| Content::Table { table, is_loaded });
    let blob = tables.blob.as_ref().map(Content::Blob);
    let all = match is_loaded {
        true => [table, blob, None],
        false => [map, blob, table],
    };
    all.into_iter().flatten().collect()
}

/// What of a file that has tables is no more in it. It keeps what is not made again.
fn gone(tables: &Tables) -> Gone<'static> {
    let is_made = tables.table.is_some();
    Gone {
        sections: match is_made && tables.loaded_map().is_none() {
            true => &[map::SECTION],
            false => &[],
        },
        segments: if is_made { &[elf::PT_GNU_SFRAME] } else { &[] },
    }
}

enum Content<'a> {
    Map(&'a Map),
    Table { table: &'a Table, is_loaded: bool },
    Blob(&'a Blob),
}

impl Content<'_> {
    fn section(&self) -> NewSection {
        let plain = |name, size| NewSection {
            name,
            kind: elf::SHT_PROGBITS,
            segment: None,
            size: size as u64,
            beside: None,
        };
        match *self {
            Self::Map(map) => plain(map::SECTION, map.size()),
            Self::Blob(blob) => plain(symbols::SECTION, blob.size()),
            Self::Table { table, is_loaded } => NewSection {
                kind: elf::SHT_GNU_SFRAME,
                segment: is_loaded.then_some(elf::PT_GNU_SFRAME),
                beside: (!is_loaded).then_some(0),
                ..plain(sframe::SECTION, table.size())
            },
        }
    }

    fn to_bytes(&self, address: u64, build_id: &[u8]) -> Vec<u8> {
        match self {
            Self::Map(map) => map.to_bytes(address),
            Self::Table { table, .. } => table.to_bytes(address),
            Self::Blob(blob) => blob.to_bytes(address, build_id),
        }
    }
}
