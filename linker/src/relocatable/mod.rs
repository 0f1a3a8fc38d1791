//! Object files, laid out as a linker would, so that they can be read like linked files.
//!
//! Each allocated section gets an address, from 0 on, code first. Symbols and relocations are changed to match. What is in other files lies
//! behind all of it. The result is an ELF file in memory with the same file offsets, which the rest of the crate reads like any other.

mod elsewhere;
mod field;

use std::borrow::Cow;
use std::collections::HashMap;

use anyhow::{Context, Result, bail};
use object::read::elf::{ElfFile, FileHeader};
use object::{
    File, Object, ObjectKind, ObjectSection, ObjectSymbol, Relocation, RelocationKind,
    RelocationTarget, SectionFlags, SectionIndex, elf,
};
use unwind::sframe::StartRule;
use unwind::sframe::format::Flags;

use elsewhere::Elsewhere;
use field::{Base, Field, Form, Of};

/// Sections whose every relocation must be understood.
const WANTED: [&str; 3] = [".sframe", ".eh_frame", ".debug_frame"];

/// A file that can be read like a linked one.
#[derive(Debug)]
pub struct LaidOut<'data> {
    /// Its bytes.
    pub data: Cow<'data, [u8]>,
    /// What function starts in its `.sframe` are relative to; in an object file the relocations decide.
    pub starts: StartRule,
}

/// Lays out an object file; any other file is left as it is.
///
/// # Errors
/// Returns an error if the file is damaged, or has an unsupported relocation.
pub fn lay_out(data: &[u8]) -> Result<LaidOut<'_>> {
    let laid_out = match File::parse(data) {
        Ok(file) if file.kind() == ObjectKind::Relocatable => match &file {
            File::Elf64(elf) => Some(Layout::of(&file, elf)?.apply(data, &file, elf)?),
            File::Elf32(elf) => Some(Layout::of(&file, elf)?.apply(data, &file, elf)?),
            _ => None,
        },
        // If it is damaged, the reader reports that.
        _ => None,
    };
    Ok(match laid_out {
        Some(data) => LaidOut {
            data: data.into(),
            starts: StartRule::Field,
        },
        None => LaidOut {
            data: data.into(),
            starts: StartRule::FromFlags,
        },
    })
}

/// The position of the flags in `.sframe`: they follow the magic number and the version.
const FLAGS: usize = 3;

/// A page of AArch64's `adrp`.
const PAGE: u64 = 4096;

/// The addresses of sections.
struct Layout {
    addresses: HashMap<SectionIndex, u64>,
    elsewhere: Elsewhere,
    little: bool,
    wide: bool,
}

impl Layout {
    fn of<Elf: FileHeader>(file: &File<'_>, elf: &ElfFile<'_, Elf>) -> Result<Self> {
        let mut addresses = HashMap::new();
        let mut end = 0_u64;
        for code in [true, false] {
            for section in file.sections() {
                let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
                    continue;
                };
                let loaded = sh_flags.contains(elf::SHF_ALLOC);
                if !loaded || sh_flags.contains(elf::SHF_EXECINSTR) != code {
                    continue;
                }
                let aligned = end.checked_next_multiple_of(section.align().max(1));
                let address =
                    aligned.context("damaged ELF file: sections exceed the address space")?;
                addresses.insert(section.index(), address);
                end = address
                    .checked_add(section.size())
                    .context("damaged ELF file: sections exceed the address space")?;
            }
        }
        Ok(Self {
            addresses,
            elsewhere: Elsewhere::behind(end, file)?,
            little: file.is_little_endian(),
            wide: elf.elf_header().is_type_64(),
        })
    }

    fn apply<Elf: FileHeader>(
        &self,
        data: &[u8],
        file: &File<'_>,
        elf: &ElfFile<'_, Elf>,
    ) -> Result<Vec<u8>> {
        let endian = elf.endian();
        let mut out = data.to_vec();
        let word = if self.wide { 8 } else { 4 };
        // `e_type` follows the 16 bytes of `e_ident`.
        self.write(&mut out, 16, 2, u64::from(elf::ET_DYN.0))?;
        let headers: u64 = elf.elf_header().e_shoff(endian).into();
        let header_size = u64::from(elf.elf_header().e_shentsize(endian));
        for (index, &address) in &self.addresses {
            // `sh_addr` follows name, type and flags.
            let at = headers.saturating_add(index.0 as u64 * header_size + 8 + word);
            self.write(&mut out, at, word, address)?;
        }
        let table = file.sections().find(|section| {
            matches!(section.flags(), SectionFlags::Elf { sh_type, .. } if sh_type == elf::SHT_SYMTAB)
        });
        if let Some((offset, _)) = table.and_then(|table| table.file_range()) {
            for symbol in file.symbols() {
                let section = symbol.section_index();
                if let Some(address) = section.and_then(|index| self.addresses.get(&index)) {
                    // `st_value` follows the name, in 64 bits also info, other and section.
                    let in_table = symbol.index().0 as u64 * (8 + 2 * word) + word;
                    let at = offset.saturating_add(in_table);
                    self.write(&mut out, at, word, address.wrapping_add(symbol.address()))?;
                }
            }
        }
        for section in file.sections() {
            self.relocate(&mut out, file, &section)
                .with_context(|| format!("section {}", section.name().unwrap_or("without name")))?;
        }
        // The order of functions depends on the addresses of the sections, which the linker has not chosen when it marks a table as sorted.
        let table = file.section_by_name(".sframe");
        if let Some((offset, _)) = table.and_then(|table| table.file_range())
            && let Some(flags) = usize::try_from(offset)
                .ok()
                .and_then(|offset| out.get_mut(offset..)?.get_mut(FLAGS))
        {
            *flags &= !Flags::SORTED.bits();
        }
        self.elsewhere.append(&mut out)?;
        Ok(out)
    }

    /// Applies the relocations of a section.
    fn relocate(
        &self,
        out: &mut [u8],
        file: &File<'_>,
        section: &object::Section<'_, '_>,
    ) -> Result<()> {
        let Some((in_file, size)) = section.file_range() else {
            return Ok(());
        };
        let machine = file.architecture();
        let wanted = section.name().is_ok_and(|name| WANTED.contains(&name));
        let address = self.addresses.get(&section.index()).copied().unwrap_or(0);
        for (offset, relocation) in section.relocations() {
            if relocation.kind() == RelocationKind::None {
                continue;
            }
            let Some(form) = Form::of(machine, &relocation) else {
                let flags = relocation.flags();
                // Other sections may keep unknown relocations unapplied.
                if wanted {
                    bail!("unsupported relocation {flags:?} at offset {offset:#x}");
                }
                continue;
            };
            let bytes = form.field.size();
            let symbol = match relocation.target() {
                RelocationTarget::Symbol(symbol) => Some(symbol),
                _ => None,
            };
            let target = match form.of {
                Of::Symbol => self.target(file, &relocation),
                Of::LinkersWord => Some(self.elsewhere.word(symbol)),
            };
            // In tables 0 is nothing.
            let elsewhere = || Some(self.elsewhere.symbol(symbol?)).filter(|_| !wanted);
            let target = target.or_else(elsewhere);
            let Some(target) = target else {
                continue;
            };
            if offset.checked_add(bytes).is_none_or(|end| end > size) {
                bail!("the relocation at offset {offset:#x} is outside the section ({size} bytes)");
            }
            let at = in_file.saturating_add(offset);
            let mut value = target.wrapping_add_signed(relocation.addend());
            if relocation.has_implicit_addend() {
                value = value.wrapping_add(self.read(out, at, bytes)?);
            }
            let place = address.wrapping_add(offset);
            let value = match form.from {
                Base::Zero => value,
                Base::Place => value.wrapping_sub(place),
                Base::Page => (value & !(PAGE - 1)).wrapping_sub(place & !(PAGE - 1)),
            };
            self.put(out, at, form.field, value)
                .with_context(|| format!("relocation at offset {offset:#x}"))?;
        }
        Ok(())
    }

    /// The address that a relocation refers to; `None` if the symbol is not in the file, or has no place there yet.
    fn target(&self, file: &File<'_>, relocation: &Relocation) -> Option<u64> {
        match relocation.target() {
            RelocationTarget::Symbol(index) => {
                let symbol = file.symbol_by_index(index).ok()?;
                match symbol.section_index() {
                    Some(section) => {
                        let address = self.addresses.get(&section).copied().unwrap_or(0);
                        Some(address.wrapping_add(symbol.address()))
                    }
                    None if symbol.is_undefined() || symbol.is_common() => None,
                    None => Some(symbol.address()),
                }
            }
            RelocationTarget::Section(index) => self.addresses.get(&index).copied(),
            _ => Some(0),
        }
    }

    /// Writes the value of a relocation.
    fn put(&self, out: &mut [u8], at: u64, field: Field, value: u64) -> Result<()> {
        if let Field::Bytes { size, shift } = field {
            let value = value.cast_signed() >> shift;
            return self.write(out, at, size.into(), value.cast_unsigned());
        }
        // Instructions are little-endian in every file.
        let bytes = out
            .get_mut(at as usize..)
            .and_then(|rest| rest.first_chunk_mut());
        let bytes = bytes.with_context(|| outside(at))?;
        let instruction = field.in_instruction(u32::from_le_bytes(*bytes), value);
        let instruction = instruction.context("the relocation target is out of range")?;
        *bytes = instruction.to_le_bytes();
        Ok(())
    }

    /// Reads a signed number of `size` bytes.
    fn read(&self, bytes: &[u8], at: u64, size: u64) -> Result<u64> {
        let field = bytes
            .get(at as usize..)
            .and_then(|rest| rest.get(..size as usize));
        let field = field.with_context(|| outside(at))?;
        let mut value = 0_u64;
        for index in 0..field.len() {
            let byte = if self.little {
                field.len() - 1 - index
            } else {
                index
            };
            value = value << 8 | u64::from(field[byte]);
        }
        let unused = 64 - 8 * u32::try_from(field.len())?;
        Ok(match unused {
            0 | 64 => value,
            _ => ((value << unused).cast_signed() >> unused).cast_unsigned(),
        })
    }

    fn write(&self, bytes: &mut [u8], at: u64, size: u64, value: u64) -> Result<()> {
        let field = bytes
            .get_mut(at as usize..)
            .and_then(|rest| rest.get_mut(..size as usize));
        let field = field.with_context(|| outside(at))?;
        let size = field.len();
        if self.little {
            field.copy_from_slice(&value.to_le_bytes()[..size]);
        } else {
            field.copy_from_slice(&value.to_be_bytes()[8 - size..]);
        }
        Ok(())
    }
}

fn outside(at: u64) -> String {
    format!("damaged ELF file: offset {at} is after the end of the file")
}
