//! Split debug information: a unit in the image has lines only, and a `.dwo` file has the unit's functions. A `.dwp` file contains several
//! `.dwo` files.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use addr2line::{LookupContinuation, LookupResult};
use anyhow::{Context, Result};
use gimli::{
    AttributeValue, Dwarf, DwarfPackage, DwarfPackageSections, DwarfSections, DwoId, EndianSlice,
    RunTimeEndian,
};
use object::Object;
use rustc_hash::FxHashMap;

use super::reader::{Reader, endian};
use super::sections::Sections;
use crate::compressed::uncompressed;
use crate::os_text::from_bytes;

/// The `.dwo` files of an image, and its `.dwp` file.
#[derive(Debug, Default)]
pub struct Files {
    found: Vec<(DwoId, Arc<Sections<'static>>, Range<usize>)>,
    package: Option<Package>,
    /// The `.dwo` files that cannot be read, or are of another compilation.
    pub missing: Vec<PathBuf>,
}

/// The debug information in other files, by the number that a unit in the image and its functions have in common.
pub type Split<'a> = FxHashMap<DwoId, Arc<Dwarf<Reader<'a>>>>;

/// A `.dwp` file.
#[derive(Debug)]
struct Package {
    sections: DwarfPackageSections<Cow<'static, [u8]>>,
    endian: RunTimeEndian,
    /// The units of the image whose functions are in it.
    units: Vec<DwoId>,
}

/// The path of the `.dwp` file of an image: tools write it beside the image.
#[must_use]
pub fn package_of(image: &Path) -> PathBuf {
    let mut path = image.as_os_str().to_owned();
    path.push(".dwp");
    path.into()
}

impl Files {
    /// Reads the files that the units in an image name. `package` is the path of the image's `.dwp` file, which need not exist.
    ///
    /// # Errors
    /// Returns an error if the debug information of the image is damaged.
    pub fn of(dwarf: &Dwarf<Reader<'_>>, package: Option<&Path>) -> Result<Self> {
        let mut files = Self::default();
        let mut package = package.and_then(Package::read);
        let packed = package.as_ref().and_then(Package::open);
        let mut units_of_package = Vec::new();
        let damaged = "damaged section .debug_info";
        // After link-time optimization, one file contains several units.
        let mut read_files = FxHashMap::default();
        let mut units = dwarf.units();
        while let Some(header) = units.next().context(damaged)? {
            let unit = dwarf.unit(header).context(damaged)?;
            let Some(id) = unit.dwo_id else { continue };
            let index = packed.as_ref().map(|packed| &packed.cu_index);
            if index.is_some_and(|index| index.find(id.0).is_some()) {
                units_of_package.push(id);
                continue;
            }
            let Some(name) = unit.dwo_name().context(damaged)? else {
                continue;
            };
            let name = dwarf.attr_string(&unit, name).context(damaged)?;
            let mut path = PathBuf::new();
            for part in unit.comp_dir.into_iter().chain([name]) {
                path.push(from_bytes(part.slice().to_vec()));
            }
            let read = || read(&path).map(Arc::new);
            let sections = read_files.entry(path.clone()).or_insert_with(read);
            let found = sections.as_ref().and_then(|sections| {
                Some((id, Arc::clone(sections), bytes_of_unit(sections, id)?))
            });
            match found {
                Some(found) => files.found.push(found),
                None => files.missing.push(path),
            }
        }
        if let Some(package) = &mut package {
            package.units = units_of_package;
        }
        files.package = package;
        Ok(files)
    }

    /// Opens the files for readers of the image's debug information, `parent`.
    pub fn open<'a>(&'a self, parent: &Dwarf<Reader<'a>>) -> Split<'a> {
        let opened = self.found.iter().map(|(id, sections, bytes)| {
            let mut dwarf = sections.open();
            let unit = dwarf.debug_info.borrow(|all| all.range(bytes.clone()));
            dwarf.debug_info = unit;
            dwarf.make_dwo(parent);
            (*id, Arc::new(dwarf))
        });
        let package = self.package.iter().flat_map(|all| all.units(parent));
        opened.chain(package).collect()
    }
}

impl Package {
    /// Reads a file; `None` if there is none, or it is damaged. The `.dwo` files are searched then.
    fn read(path: &Path) -> Option<Self> {
        let data = std::fs::read(path).ok()?;
        let file = object::File::parse(&*data).ok()?;
        let sections = DwarfPackageSections::load(|id| section(&file, id)).ok()?;
        Some(Self {
            sections,
            endian: endian(&file),
            units: Vec::new(),
        })
    }

    /// `None`: its index is damaged.
    fn open(&self) -> Option<DwarfPackage<Reader<'_>>> {
        let slice = |data| EndianSlice::new(data, self.endian);
        let opened = self.sections.borrow(|data| slice(data), slice(&[]));
        opened.ok()
    }

    fn units<'a>(&'a self, parent: &Dwarf<Reader<'a>>) -> Split<'a> {
        let Some(opened) = self.open() else {
            return Split::default();
        };
        let units = self.units.iter();
        let of_unit = |id: &DwoId| Some((*id, Arc::new(opened.find_cu(*id, parent).ok()??)));
        units.filter_map(of_unit).collect()
    }
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

/// Returns the bytes of the unit with this number in `.debug_info.dwo`. `addr2line` reads only the first unit, so the readers get no other bytes.
fn bytes_of_unit(sections: &Sections<'_>, id: DwoId) -> Option<Range<usize>> {
    let dwarf = sections.open();
    let mut units = dwarf.units();
    while let Some(header) = units.next().ok()? {
        let unit = dwarf.unit(header).ok()?;
        if unit.dwo_id == Some(id) {
            let start = header.debug_info_offset()?.0;
            if start == 0 {
                return Some(0..sections.debug_info_size());
            }
            let is_part = refers_to_other_units(&unit).ok()?;
            return (!is_part).then_some(start..start + header.length_including_self());
        }
    }
    None
}

/// Checks whether entries of a unit refer to `.debug_info.dwo` by offsets from the start of the section, which are wrong in a part of the section.
fn refers_to_other_units(unit: &gimli::Unit<Reader<'_>>) -> gimli::Result<bool> {
    let mut entries = unit.entries();
    while let Some(entry) = entries.next_dfs()? {
        let refers = |value| matches!(value, AttributeValue::DebugInfoRef(_));
        if entry
            .attrs()
            .iter()
            .any(|attribute| refers(attribute.value()))
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reads a `.dwo` file; `None` if there is none, or it is damaged. A copy is kept, because a compiler may write the file again.
fn read(path: &Path) -> Option<Sections<'static>> {
    let data = std::fs::read(path).ok()?;
    let file = object::File::parse(&*data).ok()?;
    let sections = DwarfSections::load(|id| section(&file, id)).ok()?;
    Some(Sections::new(sections, &file))
}

fn section(file: &object::File<'_>, id: gimli::SectionId) -> Result<Cow<'static, [u8]>> {
    let section = id.dwo_name().and_then(|name| file.section_by_name(name));
    match section {
        Some(section) => Ok(Cow::Owned(uncompressed(&section)?.into_owned())),
        None => Ok(Cow::Borrowed(&[])),
    }
}
