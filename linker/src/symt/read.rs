//! Reads a SYMT file.

use std::io::{self, Write};

use anyhow::{Context, Result, ensure};

use super::{HAS_MORE, HEADER, IS_START, MAGIC, SYMBOL, VERSION, short};
use crate::symbols::printable;

/// A SYMT file.
#[derive(Clone, Debug)]
pub struct Table<'data> {
    addresses: Vec<u32>,
    symbols: Vec<Symbol<'data>>,
    /// Bytes of the text.
    text: usize,
}

#[derive(Clone, Copy, Debug)]
struct Symbol<'data> {
    name: &'data str,
    file: &'data str,
    line: u16,
    offset: u16,
}

/// A function, and a place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'data> {
    /// The function.
    pub name: &'data str,
    /// The file; empty if it is not known.
    pub file: &'data str,
    /// The line; 0 if it is not known.
    pub line: u16,
}

/// What is known of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found<'data> {
    /// It is a function's start or a call. The first place is inlined into the second one, and so on.
    Exactly(Vec<Place<'data>>),
    /// It is behind the start of this function, by so many bytes. Where that ends the file does not say.
    Behind(&'data str, u64),
}

impl<'data> Table<'data> {
    /// Whether these are the bytes of such a file.
    #[must_use]
    pub fn is_one(data: &[u8]) -> bool {
        data.starts_with(&MAGIC)
    }

    /// Checks and reads a file.
    ///
    /// # Errors
    /// Returns an error if the version is unsupported, a table or a text exceeds the file, or addresses do not ascend.
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        ensure!(Self::is_one(data), "not a SYMT file: wrong magic number");
        let word = |at: usize| {
            let bytes = data.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            bytes
                .map(u32::from_be_bytes)
                .context("the SYMT header is truncated")
        };
        let version = word(4)?;
        ensure!(
            version == VERSION,
            "unsupported SYMT version {version}: expected {VERSION}"
        );
        let table = |what: &str, at: usize, size: usize| {
            let (begin, count) = (word(at)? as usize, word(at + 4)? as usize);
            let bytes = count.checked_mul(size);
            let end = bytes.and_then(|bytes| begin.checked_add(bytes));
            let table = end
                .and_then(|end| data.get(begin..end))
                .filter(|_| begin >= HEADER);
            table.with_context(|| {
                format!("damaged SYMT file: {count} {what} at offset {begin} extend past the end of the file")
            })
        };
        let (addresses, _) = table("addresses", 8, 4)?.as_chunks();
        let (symbols, _) = table("symbols", 16, SYMBOL)?.as_chunks();
        let text = table("bytes of text", 24, 1)?;
        ensure!(
            addresses.len() == symbols.len(),
            "damaged SYMT file: the file has {addresses} addresses, but {symbols} symbols",
            addresses = addresses.len(),
            symbols = symbols.len()
        );
        let addresses: Vec<u32> = addresses
            .iter()
            .map(|bytes| u32::from_be_bytes(*bytes))
            .collect();
        if let Some(at) = addresses
            .array_windows()
            .position(|[a, b]| plain(*a) > plain(*b))
        {
            let entry = at + 1;
            anyhow::bail!(
                "damaged SYMT file: address number {entry} is lower than the previous address"
            );
        }
        let symbol = |(number, bytes)| {
            Symbol::parse(bytes, text)
                .with_context(|| format!("damaged SYMT file: cannot read symbol {number}"))
        };
        let symbols = symbols
            .iter()
            .enumerate()
            .map(symbol)
            .collect::<Result<_>>()?;
        Ok(Self {
            addresses,
            symbols,
            text: text.len(),
        })
    }

    /// What is known of an address. Of a frame in the middle of a trace that is the address of the call, not that of the return.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<Found<'data>> {
        let address = short(address)?;
        let behind = self
            .addresses
            .partition_point(|entry| plain(*entry) <= address);
        let first = self
            .addresses
            .partition_point(|entry| plain(*entry) < address);
        // A start comes before a call there, which says the same.
        let exact: Vec<Place<'_>> = self.chain(first).filter(|_| first < behind).collect();
        if !exact.is_empty() {
            return Some(Found::Exactly(exact));
        }
        let starts = self.addresses.get(..behind)?.iter();
        let start = starts
            .enumerate()
            .rev()
            .find(|(_, entry)| **entry & IS_START != 0);
        let (number, entry) = start?;
        let offset = address - plain(*entry);
        Some(Found::Behind(self.symbols[number].name, offset.into()))
    }

    /// The entries from this one on that are of one instruction.
    fn chain(&self, first: usize) -> impl Iterator<Item = Place<'data>> {
        let flags = self.addresses[first.min(self.addresses.len())..].iter();
        let more = flags.take_while(|entry| *entry & HAS_MORE != 0).count();
        let symbols = self.symbols.iter().skip(first).take(more + 1);
        symbols.map(|symbol| Place {
            name: symbol.name,
            file: symbol.file,
            line: symbol.line,
        })
    }

    /// Writes what is known of an address; returns whether anything is.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn lookup(&self, address: u64, out: &mut dyn Write) -> io::Result<bool> {
        write!(out, "{address:#x}: ")?;
        match self.find(address) {
            Some(Found::Exactly(places)) => {
                for (number, place) in places.iter().enumerate() {
                    let into = if number > 0 {
                        "        inlined into "
                    } else {
                        ""
                    };
                    writeln!(out, "{into}{}", shown(place))?;
                }
            }
            Some(Found::Behind(name, offset)) => {
                writeln!(out, "{}+{offset:#x}", printable(name))?;
            }
            None => {
                writeln!(out, "no name")?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes all entries.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn dump(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "SYMT version {VERSION}, {entries} entries, {bytes} bytes of text",
            entries = self.symbols.len(),
            bytes = self.text
        )?;
        for (entry, symbol) in self.addresses.iter().zip(&self.symbols) {
            let is_start = if entry & IS_START != 0 {
                "function"
            } else {
                "call"
            };
            let more = if entry & HAS_MORE != 0 {
                ", inlined into"
            } else {
                ""
            };
            let place = Place {
                name: symbol.name,
                file: symbol.file,
                line: symbol.line,
            };
            writeln!(
                out,
                "{:08x} {is_start:8} +{:#x} {}{more}",
                plain(*entry),
                symbol.offset,
                shown(&place)
            )?;
        }
        Ok(())
    }
}

/// An entry's address without its flags.
const fn plain(entry: u32) -> u32 {
    entry & !(IS_START | HAS_MORE)
}

fn shown(place: &Place<'_>) -> String {
    let name = printable(place.name);
    match (place.file, place.line) {
        ("", _) => name.into_owned(),
        (file, 0) => format!("{name} at {}", printable(file)),
        (file, line) => format!("{name} at {}:{line}", printable(file)),
    }
}

impl<'data> Symbol<'data> {
    fn parse(bytes: &[u8; SYMBOL], text: &'data [u8]) -> Result<Self> {
        let long = |at: usize| {
            let [a, b, c, d] = [0, 1, 2, 3].map(|byte| bytes[at + byte]);
            u32::from_be_bytes([a, b, c, d]) as usize
        };
        let half = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let text = |what: &str, at: usize, length: u16| {
            let end = at.checked_add(length.into());
            let part = end.and_then(|end| text.get(at..end));
            let part =
                part.with_context(|| format!("the {what} of a symbol starts at offset {at} of the string table in the SYMT file and extends past the end of this table"))?;
            str::from_utf8(part)
                .with_context(|| format!("the {what} of the symbol is not valid UTF-8"))
        };
        Ok(Self {
            name: text("name", long(0), half(8))?,
            file: text("file", long(4), half(10))?,
            line: half(12),
            offset: half(14),
        })
    }
}
