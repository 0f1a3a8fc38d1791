//! Reads from an ELF image what must be known before it boots: its architecture and its panic handler.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use object::elf;
use object::read::ReadCache;
use object::read::elf::ElfFile64;
use object::{Architecture, Endianness, Object, ObjectSymbol};

use crate::hardware::Arch;

/// The architecture an ELF image is for.
///
/// # Errors
/// When the file cannot be read, is no 64-bit ELF executable, or is for an architecture that is not booted here.
pub fn architecture(image: &Path) -> Result<Arch> {
    let shown = image.display();
    let cache = open(image)?;
    let parsed = parse(image, &cache)?;
    let kind = parsed.elf_header().e_type.get(parsed.endian());
    if kind != elf::ET_EXEC && kind != elf::ET_DYN {
        bail!("image {shown} is no executable (ELF type {kind}); was it linked?");
    }
    match parsed.architecture() {
        Architecture::X86_64 => Ok(Arch::X86_64),
        Architecture::Aarch64 => Ok(Arch::Aarch64),
        _ => {
            let machine = parsed.elf_header().e_machine.get(parsed.endian());
            bail!(
                "image {shown} is for ELF machine {machine}; x86_64 (62) and aarch64 (183) can be booted"
            )
        }
    }
}

/// The linker's name for the panic handler, which a Rust image has unless it was stripped of its symbols. A debugger
/// stops there, and finds it by this name only: how it shows the name to people differs from version to version.
///
/// # Errors
/// When the file cannot be read or is no 64-bit ELF file.
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
/// When the file cannot be read or is no 64-bit ELF file.
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
) -> Result<ElfFile64<'c, Endianness, &'c ReadCache<File>>> {
    let shown = image.display();
    ElfFile64::parse(cache).map_err(|error| anyhow!("image {shown} is no 64-bit ELF file: {error}"))
}
