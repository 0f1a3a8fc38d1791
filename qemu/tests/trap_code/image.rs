//! What of an image is needed to step through its trap code, and to walk from there.

use std::path::Path;

use object::{Object, ObjectSection, ObjectSymbol};
use unwind::Code;
use unwind::sframe::Tables;

use crate::support::symbols::{self, Array};

/// What of an image is needed here.
pub struct Image {
    table: Vec<u8>,
    table_address: u64,
    text: Vec<u8>,
    text_address: u64,
    /// Name, start and end of the functions of trap code, by start.
    pub trap: Vec<(String, u64, u64)>,
    pub is_arm: bool,
    /// A function that reads a word, and returns also when that fails.
    pub probe: u64,
    symbols: Vec<(String, u64)>,
    /// The whole file.
    data: Vec<u8>,
}

impl Image {
    pub fn read(path: &Path) -> Self {
        let data = std::fs::read(path).expect("the image can be read");
        let file = object::File::parse(&*data).expect("the image is ELF");
        let section = file.section_by_name(".sframe").expect("a table");
        let text = file.section_by_name(".text").expect("code");
        let symbols = file.symbols().filter_map(|symbol| {
            let (start, size) = (symbol.address(), symbol.size());
            Some((symbol.name().ok()?.to_owned(), start, start + size))
        });
        let symbols: Vec<_> = symbols.collect();
        let is_trap = |(name, start, end): &&(String, u64, u64)| {
            (name.starts_with("exception_") || name.starts_with("trap_")) && start < end
        };
        let mut trap: Vec<_> = symbols.iter().filter(is_trap).cloned().collect();
        trap.sort_by_key(|(_, start, _)| *start);
        let names = symbols.into_iter().map(|(name, start, _)| (name, start));
        let probe = symbols::address(&file, "postmortem_read");
        Self {
            table: section.data().expect("its bytes").to_vec(),
            table_address: section.address(),
            text: text.data().expect("its bytes").to_vec(),
            text_address: text.address(),
            trap,
            is_arm: file.architecture() == object::Architecture::Aarch64,
            probe,
            symbols: names.collect(),
            data: data.clone(),
        }
    }

    pub fn code(&self) -> Code<'_> {
        Code::new(&self.text, self.text_address)
    }

    pub fn tables(&self) -> Tables<'_> {
        Tables::new(&self.table, self.table_address)
    }

    /// The array that the kernel describes by this name.
    pub fn array(&self, name: &str) -> Array {
        let file = object::File::parse(&*self.data).expect("the image is ELF");
        symbols::array(&file, name)
    }

    /// The name of the function at an address: the last symbol before it.
    pub fn name_at(&self, address: u64) -> &str {
        let before = self.symbols.iter().filter(|(_, start)| *start <= address);
        let last = before.max_by_key(|(_, start)| *start);
        last.map_or("", |(name, _)| name)
    }

    /// The function of trap code at an address.
    pub fn trap_at(&self, pc: u64) -> Option<&(String, u64, u64)> {
        let mut trap = self.trap.iter();
        trap.find(|(_, start, end)| (*start..*end).contains(&pc))
    }

    /// Whether the instruction there returns from an exception: it is the last of its function.
    pub fn returns_at(&self, pc: u64) -> bool {
        let size = if self.is_arm { 4 } else { 2 };
        let returns = |name: &str| ["trap_entry", "trap_return_above"].contains(&name);
        let mut trap = self.trap.iter();
        trap.any(|(name, _, end)| returns(name) && pc + size == *end)
    }

    /// Whether this is the name of a vector.
    pub fn is_vector(name: &str) -> bool {
        let number = name.strip_prefix("exception_");
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    }
}
