//! Makes a flat image: the bytes of an ELF file's segments as they lie in memory, from the first one on.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, elf};

/// The largest size of a flat image, in bytes: segments further apart are not meant to be loaded as one piece.
const MAX_SIZE: u64 = 256 << 20;

/// The magic word of the header, and its offset in bytes (Linux, Documentation/arch/arm64/booting.rst).
const MAGIC: &[u8] = b"ARM\x64";
const MAGIC_AT: usize = 56;

/// Makes the flat image of an AArch64 ELF file, which must begin with the header of an arm64 image.
///
/// # Errors
/// When the file cannot be read, is no ELF file with segments, or lacks the header.
pub fn flat(image: &Path) -> Result<Vec<u8>> {
    let shown = image.display();
    let file = std::fs::read(image).with_context(|| format!("cannot open image {shown}"))?;
    let parsed = ElfFile64::<Endianness>::parse(&*file)
        .map_err(|error| anyhow!("image {shown} is not a 64-bit ELF file: {error}"))?;
    let endian = parsed.endian();
    let segments = parsed
        .elf_header()
        .program_headers(endian, &*file)
        .with_context(|| format!("image {shown} has no readable segments"))?
        .iter()
        .filter(|segment| segment.p_type(endian) == elf::PT_LOAD && segment.p_filesz(endian) != 0);
    let start = segments
        .clone()
        .map(|segment| segment.p_paddr(endian))
        .min();
    let start = start.with_context(|| format!("image {shown} has no segments to load"))?;

    let mut bytes = Vec::new();
    for segment in segments {
        let at = segment.p_paddr(endian) - start;
        let Ok(data) = segment.data(endian, &*file) else {
            bail!("image {shown} is truncated: a segment is outside the file");
        };
        let end = at.saturating_add(data.len() as u64);
        if end > MAX_SIZE {
            bail!(
                "the segments of image {shown} span more than {limit} MiB of memory",
                limit = MAX_SIZE >> 20
            );
        }
        let (at, end) = (at as usize, end as usize);
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[at..end].copy_from_slice(data);
    }
    if !bytes
        .get(MAGIC_AT..)
        .is_some_and(|rest| rest.starts_with(MAGIC))
    {
        bail!(
            "image {shown} does not start with an arm64 image header, which the firmware of a Raspberry Pi \
             requires; see kernel/src/arch/aarch64/boot.s for an example"
        );
    }
    Ok(bytes)
}
