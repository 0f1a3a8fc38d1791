//! What an object file refers to in other files. Each symbol gets code as linkers make it for functions of other images: a jump through
//! a word that cannot be read. So whoever follows a call or a jump finds out that it leaves the file, and no more.

use std::collections::HashMap;

use anyhow::{Context, Result};
use object::elf::{self, FileHeader64, SectionHeader64};
use object::pod::{bytes_of, bytes_of_slice};
use object::read::elf::{FileHeader, SectionHeader};
use object::{
    Architecture, Endianness, File, Object, ObjectSymbol, ObjectSymbolTable, SymbolIndex, U32, U64,
};

use super::PAGE;
use super::field::Field;

/// The name of the section with that code, by which others know what it is.
const NAME: &[u8] = b".plt\0";

/// The size of the code for a symbol, and of the word that it reads, in bytes.
const ENTRY: u64 = 16;
const WORD: u64 = 8;

/// Files with more sections have their number in another place.
const MOST_SECTIONS: usize = 0xff00;

/// The symbols of other files.
pub(super) struct Elsewhere {
    machine: Architecture,
    /// The addresses of the code, and of the words, which are in no section.
    code: u64,
    words: u64,
    /// The number of each symbol's entry.
    entries: HashMap<SymbolIndex, u64>,
}

impl Elsewhere {
    /// Gives addresses behind `end`, where the sections of the file end. Where nobody follows code, there is none for the symbols.
    pub(super) fn behind(end: u64, file: &File<'_>) -> Result<Self> {
        let machine = file.architecture();
        let is_followed = matches!(machine, Architecture::X86_64 | Architecture::Aarch64)
            && file.is_64()
            && file.is_little_endian()
            && file.sections().count() + 2 < MOST_SECTIONS;
        let symbols = file.symbol_table().filter(|_| is_followed);
        let symbols = symbols.into_iter().flat_map(|table| table.symbols());
        // The first one is none.
        let undefined = symbols.filter(|one| one.is_undefined() && one.index().0 != 0);
        let entries: HashMap<_, _> = undefined.map(|one| one.index()).zip(0..).collect();
        let beyond = "damaged ELF file: sections exceed the address space";
        let code = end.checked_next_multiple_of(PAGE).context(beyond)?;
        let words = code
            .checked_add(entries.len() as u64 * ENTRY + PAGE)
            .and_then(|end| end.checked_next_multiple_of(PAGE));
        let words = words.context(beyond)?;
        // That of the last word is an address, too.
        words
            .checked_add((entries.len() as u64 + 1) * WORD + PAGE)
            .context(beyond)?;
        Ok(Self {
            machine,
            code,
            words,
            entries,
        })
    }

    /// The address that a symbol gets.
    pub(super) fn symbol(&self, symbol: SymbolIndex) -> u64 {
        match self.entries.get(&symbol) {
            Some(entry) => self.code + entry * ENTRY,
            None => self.words,
        }
    }

    /// The address of the word that a linker makes for a symbol, which may be in the file.
    pub(super) fn word(&self, symbol: Option<SymbolIndex>) -> u64 {
        let entry = symbol.and_then(|symbol| self.entries.get(&symbol));
        // The first one is for all symbols of the file: nothing is known of any.
        self.words + entry.map_or(0, |entry| (entry + 1) * WORD)
    }

    /// Appends a section with the code to the file. Everything else keeps its place, except the names and headers of sections.
    pub(super) fn append(&self, out: &mut Vec<u8>) -> Result<()> {
        if self.entries.is_empty() {
            return Ok(());
        }
        let damaged = "damaged ELF file: cannot read the section names";
        let data = out.as_slice();
        let mut header = *FileHeader64::<Endianness>::parse(data)?;
        let endian = header.endian()?;
        let mut sections: Vec<SectionHeader64<Endianness>> =
            header.section_headers(endian, data)?.to_vec();
        let names_index = header.shstrndx(endian, data).context(damaged)? as usize;
        let names = sections.get(names_index).context(damaged)?;
        let mut names = names.data(endian, data).context(damaged)?.to_vec();
        let name = names.len() as u32;
        names.extend_from_slice(NAME);
        out.resize(out.len().next_multiple_of(ENTRY as usize), 0);
        let code_at = out.len();
        for entry in 0..self.entries.len() as u64 {
            out.extend(self.code_of(entry)?);
        }
        // Data is taken for what is written to, so that nobody believes that a variable of another file has these bytes.
        let flags = elf::SHF_ALLOC | elf::SHF_EXECINSTR | elf::SHF_WRITE;
        sections.push(SectionHeader64 {
            sh_name: U32::new(endian, name),
            sh_type: U32::new(endian, elf::SHT_PROGBITS),
            sh_flags: U64::new(endian, flags),
            sh_addr: U64::new(endian, self.code),
            sh_offset: U64::new(endian, code_at as u64),
            sh_size: U64::new(endian, self.entries.len() as u64 * ENTRY),
            sh_link: U32::new(endian, 0),
            sh_info: U32::new(endian, 0),
            sh_addralign: U64::new(endian, ENTRY),
            sh_entsize: U64::new(endian, 0),
        });
        let own = &mut sections[names_index];
        own.sh_offset.set(endian, out.len() as u64);
        own.sh_size.set(endian, names.len() as u64);
        out.extend(names);
        out.resize(out.len().next_multiple_of(WORD as usize), 0);
        header.e_shoff.set(endian, out.len() as u64);
        header.e_shnum.set(endian, sections.len() as u16);
        out.extend(bytes_of_slice(&sections));
        out[..size_of::<FileHeader64<Endianness>>()].copy_from_slice(bytes_of(&header));
        Ok(())
    }

    /// A jump through the word of an entry.
    fn code_of(&self, entry: u64) -> Result<[u8; ENTRY as usize]> {
        let from = self.code + entry * ENTRY;
        let word = self.words + (entry + 1) * WORD;
        let mut code = [0; ENTRY as usize];
        match self.machine {
            Architecture::X86_64 => {
                // jmp *word(%rip), int3
                code.fill(0xcc);
                code[..2].copy_from_slice(&[0xff, 0x25]);
                let offset = i32::try_from(word - from - 6)?;
                code[2..6].copy_from_slice(&offset.to_le_bytes());
            }
            _ => {
                // adrp x16, word; ldr x17, [x16, :lo12:word]; br x17; nop
                let pages = (word & !(PAGE - 1)).wrapping_sub(from & !(PAGE - 1));
                let page = Field::Adr { shift: 12 }.in_instruction(0x9000_0010, pages);
                let load = Field::low(3).in_instruction(0xf940_0211, word);
                let all = [page, load, Some(0xd61f_0220), Some(0xd503_201f)];
                for (bytes, instruction) in code.chunks_exact_mut(4).zip(all) {
                    let instruction = instruction.context("too many symbols")?;
                    bytes.copy_from_slice(&instruction.to_le_bytes());
                }
            }
        }
        Ok(code)
    }
}
