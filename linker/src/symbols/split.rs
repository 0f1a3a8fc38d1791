//! Split debug information: a unit in the image has lines only, and a `.dwo` file has the unit's functions.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use addr2line::{LookupContinuation, LookupResult};
use anyhow::{Context, Result};
use gimli::{Dwarf, DwarfSections, DwoId};
use object::{Object, ObjectSection};
use rustc_hash::FxHashMap;

use super::reader::Reader;
use super::sections::Sections;
use crate::image::Mapped;

/// The `.dwo` files of an image.
#[derive(Debug, Default)]
pub struct Files {
    found: Vec<(DwoId, Mapped)>,
    /// The files that cannot be read, or are of another compilation.
    pub missing: Vec<PathBuf>,
}

/// The debug information in `.dwo` files, by the number that a unit and its file have in common.
pub type Split<'a> = FxHashMap<DwoId, Arc<Dwarf<Reader<'a>>>>;

impl Files {
    /// Finds the files that the units in an image name.
    ///
    /// # Errors
    /// Returns an error if the debug information is damaged.
    pub fn of(dwarf: &Dwarf<Reader<'_>>) -> Result<Self> {
        let mut files = Self::default();
        let damaged = "damaged section .debug_info";
        let mut units = dwarf.units();
        while let Some(header) = units.next().context(damaged)? {
            let unit = dwarf.unit(header).context(damaged)?;
            let Some(id) = unit.dwo_id else { continue };
            let Some(name) = unit.dwo_name().context(damaged)? else {
                continue;
            };
            let name = dwarf.attr_string(&unit, name).context(damaged)?;
            let mut path = PathBuf::new();
            for part in unit.comp_dir.into_iter().chain([name]) {
                path.push(OsStr::from_bytes(part.slice()));
            }
            match Mapped::open(&path).ok().filter(|data| is_of(data, id)) {
                Some(data) => files.found.push((id, data)),
                None => files.missing.push(path),
            }
        }
        Ok(files)
    }

    /// Reads the sections of all files.
    ///
    /// # Errors
    /// Returns an error if a section is damaged.
    pub fn sections(&self) -> Result<Vec<(DwoId, Sections<'_>)>> {
        let read = self
            .found
            .iter()
            .map(|(id, data)| Ok((*id, sections(data)?)));
        read.collect()
    }
}

/// Opens debug information for readers of the image's, `parent`.
pub fn open<'a>(files: &'a [(DwoId, Sections<'a>)], parent: &Dwarf<Reader<'a>>) -> Split<'a> {
    let opened = files.iter().map(|(id, sections)| {
        let mut dwarf = sections.open();
        dwarf.make_dwo(parent);
        (*id, Arc::new(dwarf))
    });
    opened.collect()
}

/// The result of a lookup, which reads the files that it needs.
pub fn resolve<'a, L: LookupContinuation<Buf = Reader<'a>>>(
    mut result: LookupResult<L>,
    split: &Split<'a>,
) -> L::Output {
    loop {
        result = match result {
            LookupResult::Output(output) => return output,
            LookupResult::Load { load, continuation } => {
                continuation.resume(split.get(&load.dwo_id).cloned())
            }
        };
    }
}

/// Whether a file has the unit with this number. Only the first unit counts, because `addr2line` reads no other.
fn is_of(data: &[u8], id: DwoId) -> bool {
    let first = || {
        let sections = sections(data).ok()?;
        let dwarf = sections.open();
        let header = dwarf.units().next().ok()??;
        dwarf.unit(header).ok()?.dwo_id
    };
    first() == Some(id)
}

fn sections(data: &[u8]) -> Result<Sections<'_>> {
    let file = object::File::parse(data)?;
    let read = |id: gimli::SectionId| -> Result<Cow<'_, [u8]>> {
        let section = id.dwo_name().and_then(|name| file.section_by_name(name));
        match section {
            Some(section) => Ok(section.uncompressed_data()?),
            None => Ok(Cow::Borrowed(&[])),
        }
    };
    Ok(Sections::new(DwarfSections::load(read)?, &file))
}
