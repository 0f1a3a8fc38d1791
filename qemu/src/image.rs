//! Reads from an ELF image what must be known before it boots: its architecture and its panic handler.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use object::elf;
use object::read::ReadCache;
use object::{Architecture, Object, ObjectSymbol};

use crate::hardware::Processor;

/// The processor an ELF image is for.
///
/// # Errors
/// When the file cannot be read, is no ELF executable, or is for a processor that is not booted here.
pub fn processor(image: &Path) -> Result<Processor> {
    let shown = image.display();
    let cache = open(image)?;
    let parsed = parse(image, &cache)?;
    let (kind, machine) = match &parsed {
        object::File::Elf32(file) => {
            let (header, endian) = (file.elf_header(), file.endian());
            (header.e_type.get(endian), header.e_machine.get(endian))
        }
        object::File::Elf64(file) => {
            let (header, endian) = (file.elf_header(), file.endian());
            (header.e_type.get(endian), header.e_machine.get(endian))
        }
        _ => bail!("image {shown} is not an ELF file"),
    };
    if kind != elf::ET_EXEC && kind != elf::ET_DYN {
        bail!("image {shown} is not an executable (ELF type {kind}): pass the linked image");
    }
    match parsed.architecture() {
        Architecture::X86_64 => Ok(Processor::X86_64),
        Architecture::Aarch64 => Ok(Processor::Aarch64),
        Architecture::Arm => Ok(Processor::Armv7a),
        _ => bail!(
            "image {shown} is for ELF machine {machine}: expected x86_64 (62), aarch64 (183) or armv7a (40)"
        ),
    }
}

/// The linker's name for the panic handler, which a Rust image has unless it was stripped of its symbols. A debugger
/// stops there, and finds it by this name only: how it shows the name to people differs from version to version.
///
/// # Errors
/// When the file cannot be read or is no ELF file.
pub fn panic_handler(image: &Path) -> Result<Option<String>> {
    let cache = open(image)?;
    let parsed = parse(image, &cache)?;
    let names = parsed.symbols().filter_map(|symbol| symbol.name().ok());
    let mut handlers = names.filter(|name| name.ends_with("rust_begin_unwind"));
    Ok(handlers.next().map(str::to_owned))
}

/// A function of `kernel/postmortem`, whose address kernels say in what they send.
pub const PROBE: &str = "postmortem_read";

/// Where an image was linked to have that function. None if it has none, or no symbols.
///
/// # Errors
/// When the file cannot be read or is no ELF file.
pub fn probe(image: &Path) -> Result<Option<u64>> {
    let cache = open(image)?;
    let parsed = parse(image, &cache)?;
    let mut symbols = parsed.symbols();
    let found = symbols.find(|symbol| symbol.name() == Ok(PROBE));
    Ok(found.map(|symbol| symbol.address()))
}

/// Opens an image, of which only the parts that are used are read: it may be large.
fn open(image: &Path) -> Result<ReadCache<File>> {
    let shown = image.display();
    let file = File::open(image).with_context(|| format!("cannot open image {shown}"))?;
    Ok(ReadCache::new(file))
}

fn parse<'c>(
    image: &Path,
    cache: &'c ReadCache<File>,
) -> Result<object::File<'c, &'c ReadCache<File>>> {
    let shown = image.display();
    object::File::parse(cache).map_err(|error| anyhow!("image {shown} is not an ELF file: {error}"))
}
