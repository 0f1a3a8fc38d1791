//! The table of an image's log messages, by which frames are decoded.

use anyhow::{Context, Result};
use defmt_decoder::Table;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader, Sym};
use object::{Endianness, FileKind, pod};

/// Decodes a frame to a line, by the `.defmt` section of an image.
#[derive(Debug)]
pub struct Words(Table);

impl Words {
    /// The table of an ELF image, if it has one.
    ///
    /// # Errors
    /// When the image is damaged, or its table is of another version of `defmt`.
    pub fn of(image: &[u8]) -> Result<Option<Self>> {
        let mut image = image.to_vec();
        if number_words(&mut image).is_none() {
            return Ok(None);
        }
        let table = Table::parse(&image).context("cannot use the log format table of the image")?;
        Ok(table.map(Self))
    }

    /// The line for a frame, without a line feed; `None` if it is damaged. `frame` is the bytes between zero bytes.
    #[must_use]
    pub fn line(&self, frame: &[u8]) -> Option<String> {
        let decoded = rzcobs::decode(frame).ok()?;
        let (message, length) = self.0.decode(&decoded).ok()?;
        // The encoding pads a frame with up to six zero bytes.
        let rest = decoded.get(length..)?;
        if rest.len() > 6 || rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        let level = message
            .level()
            .map(|level| format!("{level:?}: ").to_lowercase());
        let text = message.display_message().to_string();
        Some(level.unwrap_or_default() + &aligned(&text))
    }
}

/// A line of a trace as in a report, with its number right-aligned, which `defmt` cannot format.
fn aligned(text: &str) -> String {
    match text.split_once(": 0x") {
        Some((number, rest))
            if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) =>
        {
            format!("{number:>4}: 0x{rest}")
        }
        _ => text.to_owned(),
    }
}

/// Truncates the symbols of section `.defmt` to the low 16 bits, which are what is sent. `defmt-decoder` expects the section
/// at address 0. `None` if there is no such section.
fn number_words(image: &mut [u8]) -> Option<()> {
    /// What is sent of an address.
    const SENT: u16 = u16::MAX;
    match FileKind::parse(&*image).ok()? {
        FileKind::Elf32 => number::<FileHeader32<Endianness>>(image, |symbol, endian| {
            let value = symbol.st_value.get(endian) & u32::from(SENT);
            symbol.st_value.set(endian, value);
        }),
        FileKind::Elf64 => number::<FileHeader64<Endianness>>(image, |symbol, endian| {
            let value = symbol.st_value.get(endian) & u64::from(SENT);
            symbol.st_value.set(endian, value);
        }),
        _ => None,
    }
}

/// Calls `truncate` with each symbol of section `.defmt`.
fn number<Elf: FileHeader<Endian = Endianness>>(
    image: &mut [u8],
    truncate: impl Fn(&mut Elf::Sym, Endianness),
) -> Option<()> {
    let header = Elf::parse(&*image).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, &*image).ok()?;
    let (index, _) = sections.section_by_name(endian, b".defmt")?;
    let (_, table) = sections
        .enumerate()
        .find(|(_, section)| section.sh_type(endian) == elf::SHT_SYMTAB)?;
    let (offset, size) = table.file_range(endian)?;
    let bytes = image.get_mut(offset as usize..)?.get_mut(..size as usize)?;
    let count = bytes.len() / size_of::<Elf::Sym>();
    let (symbols, _) = pod::slice_from_bytes_mut::<Elf::Sym>(bytes, count).ok()?;
    for symbol in symbols {
        if usize::from(symbol.st_shndx(endian).0) == index.0 {
            truncate(symbol, endian);
        }
    }
    Some(())
}
