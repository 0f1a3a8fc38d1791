//! What of the kernel's image is needed to follow it: its tables and code, and the names that it promises
//! (`kernel/src/symbols.rs`).

use std::path::Path;

use anyhow::{Context, Result};
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object, ObjectSection, elf};
use unwind::sframe::Tables;
use unwind::{Code, Range};

use super::memory::Mapped;
use super::names::Names;
use super::state::{Flow, decode};
use crate::hardware::Arch;
use crate::stacks;

/// A stack of the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// With its guard pages, as walks of the kernel's own get it.
    pub range: Range,
    /// The first word behind the guard pages.
    pub bottom: u64,
    /// The CPU that runs on it; a task's has none.
    pub cpu: Option<u64>,
}

/// The kernel's image.
#[derive(Debug)]
pub struct Image {
    /// Its architecture.
    pub arch: Arch,
    /// The bytes of `.sframe`.
    pub table: Vec<u8>,
    table_address: u64,
    text: Vec<u8>,
    text_address: u64,
    /// Segments: addresses, physical addresses, and the bytes in the file.
    segments: Vec<(u64, u64, Vec<u8>, u64)>,
    /// Names of functions and labels.
    pub names: Names,
    /// The stacks, of CPUs and of tasks.
    pub stacks: Vec<Stack>,
    /// Where exceptions are entered.
    pub vectors: Vec<u64>,
    /// Where NMIs are, of these.
    nmis: Vec<u64>,
}

impl Image {
    /// Reads an image.
    ///
    /// # Errors
    /// When the file is no kernel with tables.
    pub fn read(path: &Path, arch: Arch) -> Result<Self> {
        let data =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let file =
            ElfFile64::<Endianness>::parse(&*data).context("the image is not an ELF file")?;
        let section = |name| -> Result<(Vec<u8>, u64)> {
            let section = file.section_by_name(name);
            let section = section.with_context(|| format!("the image has no section {name}"))?;
            Ok((section.data()?.to_vec(), section.address()))
        };
        let (table, table_address) = section(".sframe")?;
        let (text, text_address) = section(".text")?;
        let endian = file.endian();
        let loaded = file.elf_program_headers().iter();
        let loaded = loaded.filter(|header| header.p_type(endian) == elf::PT_LOAD);
        let segments = loaded.map(|header| {
            let bytes = header.data(endian, &*data).unwrap_or_default().to_vec();
            let (start, size) = (header.p_vaddr(endian), header.p_memsz(endian));
            (start, header.p_paddr(endian), bytes, start + size)
        });
        let segments = segments.collect();
        let mut image = Self {
            arch,
            table,
            table_address,
            text,
            text_address,
            segments,
            names: Names::of(&file),
            stacks: Vec::new(),
            vectors: Vec::new(),
            nmis: Vec::new(),
        };
        let stacks = stacks::declared(&file)?.into_iter();
        image.stacks = stacks
            .map(|stack| Stack {
                range: stack.range,
                bottom: stack.bottom,
                cpu: stack.cpu,
            })
            .collect();
        for (address, _, name) in image.names.all() {
            let number = name.strip_prefix("exception_");
            let Some(number) = number.and_then(|digits| digits.parse::<u8>().ok()) else {
                continue;
            };
            image.vectors.push(address);
            let is_nmi = match arch {
                Arch::X86_64 => number == 2,
                // FIQ, of each four vectors the third.
                Arch::Aarch64 => number % 4 == 2,
            };
            if is_nmi {
                image.nmis.push(address);
            }
        }
        Ok(image)
    }

    /// The bytes of the file from this address on.
    fn bytes(&self, address: u64) -> Option<&[u8]> {
        let mut segments = self.segments.iter();
        let of = segments.find_map(|(start, _, bytes, _)| {
            bytes.get(usize::try_from(address.checked_sub(*start)?).ok()?..)
        })?;
        (!of.is_empty()).then_some(of)
    }

    /// The first bytes of an instruction; none outside of the image.
    #[must_use]
    pub fn instruction(&self, pc: u64) -> &[u8] {
        let bytes = self.bytes(pc).unwrap_or_default();
        &bytes[..bytes.len().min(16)]
    }

    /// Where the image lies in the machine's memory, which begins at the physical address `ram`.
    #[must_use]
    pub fn mapped(&self, ram: u64) -> Vec<Mapped> {
        let mapped = self
            .segments
            .iter()
            .filter_map(|(start, physical, _, end)| {
                Some(Mapped {
                    start: *start,
                    end: *end,
                    offset: physical.checked_sub(ram)?,
                })
            });
        mapped.collect()
    }

    /// The stacks that a walk on this CPU goes over: its own, and those of tasks.
    pub fn stacks_of(&self, cpu: usize) -> impl Iterator<Item = &Stack> {
        let stacks = self.stacks.iter();
        stacks.filter(move |stack| stack.cpu.is_none_or(|owner| owner == cpu as u64))
    }

    /// Where code says that it waits for another CPU, or for an interrupt.
    #[must_use]
    pub fn waits(&self) -> Vec<u64> {
        let mut all = self.instructions(self.text());
        all.retain(|pc| {
            let instruction = decode(self.arch, self.instruction(*pc), *pc);
            let flow = instruction.map(|instruction| instruction.flow);
            matches!(flow, Some(Flow::Spins | Flow::Waits))
        });
        all
    }

    /// The addresses of the instructions of this code, one after the other.
    #[must_use]
    pub fn instructions(&self, code: Range) -> Vec<u64> {
        let mut pc = code.start;
        let mut found = Vec::new();
        while pc < code.end {
            found.push(pc);
            let instruction = decode(self.arch, self.instruction(pc), pc);
            pc += instruction.map_or(1, |instruction| instruction.length);
        }
        found
    }

    /// The functions whose size is known: names and addresses.
    pub fn functions(&self) -> impl Iterator<Item = (&str, Range)> {
        let all = self.names.all().filter(|(_, size, _)| *size > 0);
        all.map(|(start, size, name)| (name, Range::new(start, start + size)))
    }

    /// Its code.
    #[must_use]
    pub fn code(&self) -> Code<'_> {
        Code::new(&self.text, self.text_address)
    }

    /// Tables with these bytes, in the place of its own.
    #[must_use]
    pub fn tables<'a>(&self, table: &'a [u8]) -> Tables<'a> {
        Tables::new(table, self.table_address)
    }

    /// Whether there is code at this address.
    #[must_use]
    pub fn is_code(&self, address: u64) -> bool {
        (self.text_address..self.text_address + self.text.len() as u64).contains(&address)
    }

    /// The addresses of its code.
    #[must_use]
    pub fn text(&self) -> Range {
        Range::new(
            self.text_address,
            self.text_address + self.text.len() as u64,
        )
    }

    /// Whether exceptions are entered there.
    #[must_use]
    pub fn is_vector(&self, address: u64) -> bool {
        self.vectors.contains(&address)
    }

    /// Whether NMIs are entered there.
    #[must_use]
    pub fn is_nmi(&self, address: u64) -> bool {
        self.nmis.contains(&address)
    }

    /// The stack that this stack pointer is in. At the border of two it is the end of the lower one.
    #[must_use]
    pub fn stack(&self, sp: u64) -> Option<&Stack> {
        let mut stacks = self.stacks.iter();
        stacks.find(|stack| stack.range.start < sp && sp <= stack.range.end)
    }

    /// The address of a symbol.
    ///
    /// # Errors
    /// When there is none with this name.
    pub fn address(&self, name: &str) -> Result<u64> {
        self.names.address(name)
    }

    /// The name of the function at an address, or of the label before it.
    #[must_use]
    pub fn name(&self, address: u64) -> &str {
        self.names.name(address)
    }

    /// The start of the function at an address.
    #[must_use]
    pub fn function(&self, address: u64) -> Option<u64> {
        self.names.function(address)
    }
}
