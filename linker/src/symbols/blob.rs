//! The bytes of a `.symbols` blob: see [`unwind::symbols::format`].

use std::collections::HashMap;

use unwind::symbols::format;

use super::{Names, Symbols};

/// A blob whose content is known but for addresses and build id. Its size depends on neither, so room for it can be
/// laid out first.
#[derive(Debug)]
pub struct Blob {
    /// The address that functions are relative to.
    base: u64,
    functions: Vec<u8>,
    names: Vec<u8>,
    /// Names of functions that lie too far from the others for the format, with their addresses.
    left_out: Vec<(u64, String)>,
}

/// Bytes that functions may lie from the image base: their starts have 32 bits.
const REACH: u64 = 1 << 32;

impl Blob {
    /// Encodes names.
    #[must_use]
    pub fn new(symbols: &Symbols, names: Names) -> Self {
        let base = image_base(symbols);
        let mut blob = Self {
            base,
            functions: Vec::new(),
            names: Vec::new(),
            left_out: Vec::new(),
        };
        let mut known: HashMap<String, u32> = HashMap::new();
        for symbol in &symbols.0 {
            let name = names.name(&symbol.name);
            let start = symbol.start.checked_sub(base).map(u32::try_from);
            let (Some(Ok(start)), Ok(size)) = (start, u32::try_from(symbol.size)) else {
                blob.left_out.push((symbol.start, name));
                continue;
            };
            let name = match known.get(&name) {
                Some(&at) => at,
                None => {
                    let at = blob.add_name(&name);
                    known.insert(name, at);
                    at
                }
            };
            for field in [start, size, name] {
                blob.functions.extend_from_slice(&field.to_le_bytes());
            }
        }
        blob
    }

    fn add_name(&mut self, name: &str) -> u32 {
        let at = u32::try_from(self.names.len()).expect("names of less than 4 GiB");
        // Longer than any name that a compiler makes; cut where a character ends.
        let mut length = name.len().min(usize::from(u16::MAX));
        while !name.is_char_boundary(length) {
            length -= 1;
        }
        self.names.extend_from_slice(&(length as u16).to_le_bytes());
        self.names.extend_from_slice(&name.as_bytes()[..length]);
        at
    }

    /// Functions in the blob.
    #[must_use]
    pub fn function_count(&self) -> usize {
        self.functions.len() / format::FUNCTION_SIZE
    }

    /// Addresses and names of functions that could not be entered, as they lie 4 GiB or more from the others.
    #[must_use]
    pub fn left_out(&self) -> &[(u64, String)] {
        &self.left_out
    }

    /// Size of the blob, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        format::HEADER_SIZE + 2 * format::ENTRY_SIZE + self.functions.len() + self.names.len()
    }

    /// The blob's bytes when it lies at an address. A build id longer than the format's is cut.
    #[must_use]
    pub fn to_bytes(&self, address: u64, build_id: &[u8]) -> Vec<u8> {
        let build_id = &build_id[..build_id.len().min(format::BUILD_ID_MAX)];
        let parts = [
            (format::TAG_FUNCTIONS, &self.functions),
            (format::TAG_NAMES, &self.names),
        ];
        let size = self.size();
        let mut checked = Vec::with_capacity(size);
        let number = |value: usize| u32::try_from(value).expect("a blob of less than 4 GiB");
        checked.extend(number(parts.len()).to_le_bytes());
        checked.extend(self.base.wrapping_sub(address).to_le_bytes());
        // At most 20.
        checked.push(build_id.len() as u8);
        checked.extend_from_slice(build_id);
        checked.resize(format::HEADER_SIZE - format::CRC_FROM, 0);
        let mut offset = format::HEADER_SIZE + parts.len() * format::ENTRY_SIZE;
        for (tag, part) in parts {
            for field in [tag, number(offset), number(part.len())] {
                checked.extend(field.to_le_bytes());
            }
            offset += part.len();
        }
        for (_, part) in parts {
            checked.extend_from_slice(part);
        }
        let mut bytes = Vec::with_capacity(size);
        bytes.extend_from_slice(&format::MAGIC);
        bytes.extend(format::MAJOR.to_le_bytes());
        bytes.extend(format::MINOR.to_le_bytes());
        bytes.extend(number(size).to_le_bytes());
        bytes.extend(crc32fast::hash(&checked).to_le_bytes());
        bytes.extend(checked);
        bytes
    }
}

/// The lowest address from which most functions are within reach. A kernel in the higher half has a few functions at
/// low addresses, where it boots; they must not cost the others their names.
fn image_base(symbols: &Symbols) -> u64 {
    let starts: Vec<u64> = symbols.0.iter().map(|symbol| symbol.start).collect();
    let within = |&base: &u64| {
        let first = starts.partition_point(|&start| start < base);
        starts[first..].partition_point(|&start| start - base < REACH)
    };
    // The first of the largest: `max_by_key` would take the last.
    let mut best = (0, 0);
    for base in &starts {
        let count = within(base);
        if count > best.1 {
            best = (*base, count);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use unwind::symbols::SymbolTable;

    use super::*;
    use crate::symbols::Symbol;

    fn symbols(of: &[(u64, u64, &str)]) -> Symbols {
        let symbol = |&(start, size, name): &(u64, u64, &str)| Symbol {
            start,
            size,
            name: name.to_owned(),
        };
        Symbols(of.iter().map(symbol).collect())
    }

    #[test]
    fn a_reader_finds_what_was_written() {
        let symbols = symbols(&[
            (0xffff_ffff_8010_0000, 16, "_start"),
            (0xffff_ffff_8010_0010, 4, "memcpy"),
            (0xffff_ffff_8010_0020, 8, "_start"),
        ]);
        let blob = Blob::new(&symbols, Names::Short);
        // The name that two functions have is stored once.
        assert_eq!(blob.names.len(), 2 + 6 + 2 + 6);
        for address in [0xffff_ffff_8020_0008, 0x1000] {
            let bytes = blob.to_bytes(address, b"0123456789abcdefghijklmn");
            assert_eq!(bytes.len(), blob.size());
            let table = SymbolTable::parse(&bytes, address).unwrap();
            assert_eq!(table.build_id(), b"0123456789abcdefghij");
            assert_eq!(table.function_count(), 3);
            for (pc, expected) in [
                (0xffff_ffff_8010_0000, Some(("_start", 16))),
                (0xffff_ffff_8010_000f, Some(("_start", 16))),
                (0xffff_ffff_8010_0013, Some(("memcpy", 4))),
                (0xffff_ffff_8010_0014, None),
                (0xffff_ffff_8010_0020, Some(("_start", 8))),
                (0xffff_ffff_8010_0028, None),
                (0xffff_ffff_800f_ffff, None),
            ] {
                let found = table
                    .function_at(pc)
                    .map(|symbol| (symbol.name, symbol.size));
                assert_eq!(found, expected, "{pc:#x}");
            }
        }
    }

    #[test]
    fn boot_code_far_away_does_not_cost_the_others_their_names() {
        let symbols = symbols(&[
            (0x10_0000, 16, "boot"),
            (0xffff_ffff_8010_0000, 16, "a"),
            (0xffff_ffff_8010_0010, 16, "b"),
        ]);
        let blob = Blob::new(&symbols, Names::Short);
        assert_eq!(blob.left_out(), [(0x10_0000, "boot".to_owned())]);
        assert_eq!(blob.function_count(), 2);
    }

    #[test]
    fn no_functions_and_endless_names() {
        let empty = Blob::new(&symbols(&[]), Names::Short);
        let bytes = empty.to_bytes(0x1000, &[]);
        let table = SymbolTable::parse(&bytes, 0x1000).unwrap();
        assert_eq!(table.function_at(0x1000), None);

        let name = "ä".repeat(40_000);
        let long = Blob::new(&symbols(&[(0x1000, 1, &name)]), Names::Short);
        let bytes = long.to_bytes(0, &[]);
        let table = SymbolTable::parse(&bytes, 0).unwrap();
        assert_eq!(table.function_at(0x1000).unwrap().name.len(), 65_534);
    }
}
