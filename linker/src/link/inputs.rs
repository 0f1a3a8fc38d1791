//! Reads the `.sframe` of the linker's inputs, for functions that nothing else describes: assembly for which the assembler was
//! told to write no other table.
//!
//! The linker does not link these sections: lld would only concatenate them, and they would keep unused code alive. They are
//! read from the object files and archives on the command line, and each function's address in the image is found by its
//! symbol.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use object::read::archive::ArchiveFile;
use object::{Object, ObjectKind, ObjectSection, ObjectSymbol, SectionFlags, SectionKind, elf};
use unwind::sframe::{StartRule, Tables};

use super::strip;
use crate::architecture::Architecture;
use crate::cfi::Frames;
use crate::image::{Image, Mapped};
use crate::{relocatable, sframe};

/// The functions of the inputs' tables, at their addresses in the image.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    pub(super) frames: Frames,
    /// A message for each function whose address is not known, and each table that cannot be read.
    pub(super) lost: Vec<String>,
}

/// What the object files of a link have besides what is linked.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Those with a table, which are few, and the files that they are in.
    with_table: Vec<(PathBuf, Vec<u8>)>,
    /// There is one.
    has_objects: bool,
    /// One has `.debug_frame`.
    pub(super) has_debug_frame: bool,
    /// One has debug information.
    has_debug: bool,
    /// One is a library that the linker looks for.
    pub(super) names_libraries: bool,
    /// Of the first one.
    pub(super) architecture: Option<&'static Architecture>,
    /// Bytes of all sections that can be loaded.
    loaded: u64,
}

/// So many bytes lld links as quickly with one thread: others take as long to start as they save.
const LITTLE: u64 = 1 << 20;

/// Looks at the files on the linker's command line.
pub(super) fn find(arguments: &[OsString]) -> Result<Found> {
    let mut found = Found::default();
    for argument in arguments {
        found.names_libraries |= strip::is_library(argument);
        let path = Path::new(argument);
        if !path.is_file() {
            continue;
        }
        let data = Mapped::open(path)?;
        for object in objects(&data) {
            found.look_at(object, path);
        }
    }
    Ok(found)
}

impl Found {
    /// Whether there is anything to link.
    pub(super) fn is_any(&self) -> bool {
        self.has_objects || self.names_libraries
    }

    /// Whether there is little to link, in a link with or without debug information.
    pub(super) fn are_little(&self, with_debug: bool) -> bool {
        self.loaded <= LITTLE && !(with_debug && (self.has_debug || self.names_libraries))
    }

    fn look_at(&mut self, object: &[u8], path: &Path) {
        let Ok(file) = object::File::parse(object) else {
            return;
        };
        if file.kind() != ObjectKind::Relocatable {
            return;
        }
        self.has_objects = true;
        let architecture = || Architecture::of(file.architecture(), !file.is_little_endian());
        self.architecture = self.architecture.or_else(architecture);
        let mut has_table = false;
        for section in file.sections() {
            let is_loaded = matches!(section.flags(),
                SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(elf::SHF_ALLOC));
            if is_loaded && section.kind() != SectionKind::UninitializedData {
                self.loaded = self.loaded.saturating_add(section.size());
            }
            match section.name_bytes() {
                Ok(name) if name == sframe::SECTION.as_bytes() => has_table = true,
                Ok(name) if name.starts_with(b".debug") || name.starts_with(b".zdebug") => {
                    self.has_debug = true;
                    self.has_debug_frame |= matches!(name, b".debug_frame" | b".zdebug_frame");
                }
                _ => {}
            }
        }
        if has_table {
            self.with_table.push((path.to_owned(), object.to_vec()));
        }
    }

    /// Reads the tables.
    pub(super) fn read(&self, image: &Image<'_>) -> Inputs {
        let mut inputs = Inputs::default();
        let mut addresses = None;
        for (path, object) in &self.with_table {
            let addresses = addresses.get_or_insert_with(|| Addresses::of(image));
            // A damaged table in an input is a warning: it must not fail the link.
            if let Err(error) = inputs.add(object, addresses, path) {
                let line = format!(
                    "ignoring .sframe in the input file {path}: {error:#}",
                    path = path.display()
                );
                // One message for all members of an archive.
                if !inputs.lost.contains(&line) {
                    inputs.lost.push(line);
                }
            }
        }
        inputs.frames.sort();
        inputs
    }
}

/// The object files in a file: itself, or the members of an archive, or none.
fn objects(data: &[u8]) -> Vec<&[u8]> {
    if data.starts_with(b"\x7fELF") {
        return vec![data];
    }
    let Ok(archive) = ArchiveFile::parse(data) else {
        return Vec::new();
    };
    let members = archive.members().flatten();
    members
        .filter_map(|member| member.data(data).ok())
        .filter(|member| member.starts_with(b"\x7fELF"))
        .collect()
}

/// Address and size of the image's functions, by name. `None`: several functions have the name.
struct Addresses(HashMap<Vec<u8>, Option<(u64, u64)>>);

impl Addresses {
    fn of(image: &Image<'_>) -> Self {
        let mut addresses: HashMap<Vec<u8>, Option<(u64, u64)>> = HashMap::new();
        for symbol in image.file.symbols().filter(ObjectSymbol::is_definition) {
            let Ok(name) = symbol.name_bytes() else {
                continue;
            };
            let place = (symbol.address(), symbol.size());
            addresses
                .entry(name.to_vec())
                .and_modify(|known| {
                    if *known != Some(place) {
                        *known = None;
                    }
                })
                .or_insert(Some(place));
        }
        Self(addresses)
    }

    /// The address of a function; `None` if it is not in the image. The error is a name that several functions have.
    fn find(&self, names: Option<&Vec<(Vec<u8>, u64)>>) -> Result<Option<u64>, String> {
        let mut several = None;
        for (name, size) in names.into_iter().flatten() {
            match self.0.get(name) {
                Some(Some((address, placed))) if placed == size => return Ok(Some(*address)),
                Some(None) => several = Some(String::from_utf8_lossy(name).into_owned()),
                _ => {}
            }
        }
        several.map_or(Ok(None), Err)
    }
}

/// A function's names in its object file, with its size in bytes.
type Named = HashMap<u64, Vec<(Vec<u8>, u64)>>;

impl Inputs {
    /// Adds the functions of an object file.
    fn add(&mut self, object: &[u8], addresses: &Addresses, path: &Path) -> Result<()> {
        let laid_out = relocatable::lay_out(object)?;
        let image = Image::parse(&laid_out.data)?;
        let Some(section) = image.section(sframe::SECTION)? else {
            return Ok(());
        };
        let tables = Tables::with(section.data, section.address, StartRule::Field);
        // Functions that its `.eh_frame` or `.debug_frame` describes, too, are in the image's sections.
        let (_, alone) = Frames::with(&image, sframe::functions(&tables)?)?;
        let (mut found, names) = (sframe::functions(&tables)?, names(&image));
        found
            .functions
            .retain(|function| alone.contains(&function.start));
        for mut function in found.functions {
            let of_this = names.get(&function.start);
            if of_this.is_none() {
                self.lost.push(format!(
                    "ignoring .sframe rows for {size} bytes of code without a symbol in {path}, because the address of the code in the image is unknown",
                    size = function.size,
                    path = path.display()
                ));
            }
            match addresses.find(of_this) {
                Ok(Some(address)) => {
                    function.start = address;
                    self.frames.functions.push(function);
                }
                // The linker removed it, or it has no name.
                Ok(None) => {}
                Err(name) => self.lost.push(format!(
                    "ignoring the .sframe rows of function {name} in {path}, because several functions have the same name",
                    path = path.display()
                )),
            }
        }
        for mut left in found.left_out {
            if let Ok(Some(address)) = addresses.find(names.get(&left.start)) {
                left.start = address;
                self.frames.left_out.push(left);
            }
        }
        Ok(())
    }
}

/// The names and sizes of functions, by their addresses in the object file.
fn names(image: &Image<'_>) -> Named {
    let mut names = Named::new();
    for symbol in image.file.symbols().filter(ObjectSymbol::is_definition) {
        if let Ok(name) = symbol.name_bytes()
            && !name.is_empty()
        {
            let named = (name.to_vec(), symbol.size());
            names.entry(symbol.address()).or_default().push(named);
        }
    }
    names
}
