//! What must be known of an image before it is booted.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use object::elf;
use object::read::ReadCache;
use object::{Architecture, Object};

use crate::machine::Arch;

/// The architecture an ELF image is for.
///
/// # Errors
/// When the file cannot be read, is no 64-bit ELF executable, or is for an architecture that is not booted here.
pub fn architecture(image: &Path) -> Result<Arch> {
    let shown = image.display();
    let file = File::open(image).with_context(|| format!("cannot open image {shown}"))?;
    // Only what is looked at gets read: an image may be large.
    let cache = ReadCache::new(file);
    let parsed = object::read::elf::ElfFile64::<object::Endianness, _>::parse(&cache)
        .map_err(|error| anyhow!("image {shown} is no 64-bit ELF file: {error}"))?;
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
