//! An ELF file, opened.

use std::path::Path;

use anyhow::{Context, Result, bail};
use object::{Object, ObjectKind, ObjectSection};

use crate::architecture::Architecture;

/// A linked ELF file that tables can be made for.
#[derive(Debug)]
pub struct Image<'data> {
    /// What it runs on.
    pub architecture: &'static Architecture,
    /// The file, parsed.
    pub file: object::File<'data>,
}

/// A section of an image.
#[derive(Clone, Copy, Debug)]
pub struct Section<'data> {
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
    /// It is no ELF file, or a damaged one, or not linked, or of an architecture that tables cannot be made for.
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        let file = linked(data)?;
        let machine = file.architecture();
        let Some(architecture) = Architecture::of(machine, !file.is_little_endian()) else {
            bail!("an image for {machine:?}; tables can be made for x86-64, AArch64 and s390x");
        };
        Ok(Self { architecture, file })
    }

    /// The section of a name, if it has bytes in the file.
    ///
    /// # Errors
    /// The section lies outside the file.
    pub fn section(&self, name: &str) -> Result<Option<Section<'data>>> {
        section(&self.file, name)
    }
}

/// Parses a linked ELF file, whatever it runs on.
///
/// # Errors
/// It is no ELF file, or a damaged one, or not linked.
pub fn linked(data: &[u8]) -> Result<object::File<'_>> {
    if !data.starts_with(b"\x7fELF") {
        bail!("not an ELF file");
    }
    let file = object::File::parse(data).context("damaged ELF file")?;
    match file.kind() {
        ObjectKind::Executable | ObjectKind::Dynamic => Ok(file),
        ObjectKind::Relocatable => bail!("an object file; this wants a linked image"),
        kind => bail!("an ELF file of kind {kind:?}; this wants a linked image"),
    }
}

/// The section of a name, if it has bytes in the file.
///
/// # Errors
/// The section lies outside the file.
pub fn section<'data>(file: &object::File<'data>, name: &str) -> Result<Option<Section<'data>>> {
    let Some(section) = file.section_by_name(name) else {
        return Ok(None);
    };
    let Some((offset, _)) = section.file_range() else {
        return Ok(None);
    };
    let data = section
        .data()
        .with_context(|| format!("damaged ELF file: section {name} at offset {offset}"))?;
    Ok(Some(Section {
        address: section.address(),
        offset,
        data,
    }))
}

/// Reads a whole file.
///
/// # Errors
/// The system's, with the file's name.
pub fn read_file(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}
