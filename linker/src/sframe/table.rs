//! A whole section: header, index of functions, rows.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use unwind::sframe::format::{self, Flags};

use super::blocks::{Blocks, Code};
use super::row::{self, Word};
use crate::architecture::Architecture;
use crate::cfi::Frames;
use crate::function::{Construct, Function, LeftOut};

/// A section whose content is known but for its address. Its size does not depend on the address, so room for it can
/// be laid out first.
#[derive(Debug)]
pub struct Table {
    architecture: &'static Architecture,
    index: Vec<IndexEntry>,
    /// Attributes and rows. Functions with the same attributes and rows share them: many do.
    rows: Vec<u8>,
    row_count: usize,
    blocks: Option<Blocks>,
}

#[derive(Debug)]
struct IndexEntry {
    start: u64,
    size: u32,
    /// Offset of the attributes in the rows.
    rows: u32,
}

impl Table {
    /// Encodes the functions of `frames`. One whose rows the format cannot hold moves to those left out.
    #[must_use]
    pub fn new(architecture: &'static Architecture, frames: &mut Frames) -> Self {
        let mut table = Self {
            architecture,
            index: Vec::with_capacity(frames.functions.len()),
            rows: Vec::new(),
            row_count: 0,
            blocks: None,
        };
        let mut known = HashMap::new();
        frames
            .functions
            .retain(|function| match encode(function, architecture) {
                Ok(rows) => {
                    table.add(function, rows, &mut known);
                    true
                }
                Err(why) => {
                    frames.left_out.push(LeftOut {
                        start: function.start,
                        size: function.size.into(),
                        why,
                    });
                    false
                }
            });
        frames.left_out.sort_by_key(|left| left.start);
        table
    }

    /// Adds a function with its encoded attributes and rows.
    fn add(&mut self, function: &Function, rows: Vec<u8>, known: &mut HashMap<Vec<u8>, u32>) {
        let rows = match known.entry(rows) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let at = u32::try_from(self.rows.len()).expect("rows of less than 4 GiB");
                self.rows.extend_from_slice(new.key());
                self.row_count += function.rows.len();
                *new.insert(at)
            }
        };
        self.index.push(IndexEntry {
            start: function.start,
            size: function.size,
            rows,
        });
    }

    /// Adds a block index, which makes look-ups faster: see [`unwind::sframe::format`]. Big-endian tables have none.
    #[must_use]
    pub fn with_blocks(mut self) -> Self {
        if !self.architecture.is_big_endian() {
            let code = self.index.iter().map(|entry| Code {
                start: entry.start,
                size: entry.size,
                rows: &self.rows[entry.rows as usize..],
            });
            self.blocks = Blocks::new(&code.collect::<Vec<_>>());
        }
        self
    }

    /// Bytes of the block index.
    fn blocks_size(&self) -> usize {
        self.blocks.as_ref().map_or(0, Blocks::size)
    }

    /// Functions in the table.
    #[must_use]
    pub fn function_count(&self) -> usize {
        self.index.len()
    }

    /// Rows that are stored, each list of rows counted once however many functions share it.
    #[must_use]
    pub fn stored_row_count(&self) -> usize {
        self.row_count
    }

    /// Size of the section, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        let index = self.index.len() * format::FUNCTION_SIZE_V3;
        format::HEADER_SIZE + self.blocks_size() + index + self.rows.len()
    }

    /// The section's bytes when it lies at an address.
    #[must_use]
    pub fn to_bytes(&self, address: u64) -> Vec<u8> {
        let mut out = Out {
            bytes: Vec::with_capacity(self.size()),
            little: !self.architecture.is_big_endian(),
        };
        let index_size = self.index.len() * format::FUNCTION_SIZE_V3;
        out.u16(format::MAGIC);
        out.u8(3);
        out.u8((Flags::SORTED | Flags::START_PC_RELATIVE).bits());
        out.u8(self.architecture.abi as u8);
        // The frame pointer's offset is in the rows.
        out.u8(0);
        let fixed = self.architecture.fixed_return_address.unwrap_or(0);
        out.u8(fixed.cast_unsigned());
        // No auxiliary header.
        out.u8(0);
        out.size(self.index.len());
        out.size(self.row_count);
        out.size(self.rows.len());
        // The index and the rows, from the end of the header.
        out.size(0);
        out.size(index_size + self.blocks_size());
        for entry in &self.index {
            let field = address.wrapping_add(out.bytes.len() as u64);
            out.u64(entry.start.wrapping_sub(field));
            out.u32(entry.size);
            out.u32(entry.rows);
        }
        // Not before the functions: objdump would count the starts from where these would be then.
        if let Some(blocks) = &self.blocks {
            let at = address.wrapping_add(out.bytes.len() as u64);
            blocks.write(&mut out.bytes, at);
        }
        out.bytes.extend_from_slice(&self.rows);
        out.bytes
    }
}

/// Attributes and rows of one function.
fn encode(function: &Function, architecture: &Architecture) -> Result<Vec<u8>, Construct> {
    let count = u16::try_from(function.rows.len())
        .map_err(|_| Construct::TooManyRows(function.rows.len()))?;
    let default: Option<Vec<_>> = function
        .rows
        .iter()
        .map(|row| row::default_words(row, architecture))
        .collect();
    let (kind, words) = match default {
        Some(words) => (format::KIND_DEFAULT, words),
        None => (format::KIND_FLEXIBLE, flexible(function, architecture)?),
    };
    let last = function.rows.last().map_or(0, |row| row.offset);
    let start_width = match last {
        0..=0xff => 0,
        0x100..=0xffff => 1,
        _ => 2,
    };
    let mut info = start_width;
    for (set, bit) in [
        (function.block.is_some(), format::INFO_PC_MASK),
        (function.key_b, format::INFO_PAUTH_KEY_B),
        (function.signal, format::INFO_SIGNAL),
    ] {
        info |= if set { bit } else { 0 };
    }
    let mut out = Out {
        bytes: Vec::new(),
        little: !architecture.is_big_endian(),
    };
    out.u16(count);
    out.u8(info);
    out.u8(kind);
    out.u8(function.block.unwrap_or(0));
    for (row, (from_sp, words)) in function.rows.iter().zip(&words) {
        let mut flags = 0;
        if *from_sp {
            flags |= format::ROW_CFA_SP;
        }
        if row.signed {
            flags |= format::ROW_RETURN_ADDRESS_SIGNED;
        }
        row::write(
            &mut out.bytes,
            out.little,
            row.offset,
            start_width,
            flags,
            words,
        );
    }
    Ok(out.bytes)
}

/// The words of a function's rows, when some row needs the flexible kind.
fn flexible(
    function: &Function,
    architecture: &Architecture,
) -> Result<Vec<(bool, Vec<Word>)>, Construct> {
    function
        .rows
        .iter()
        .map(|row| {
            // The bit that says "from SP" has no meaning here: the control word says it.
            let words = row::flexible_words(row, architecture).map(|words| (false, words));
            words.ok_or_else(|| Construct::Rule {
                of: "row",
                rule: format!("{row:?}"),
            })
        })
        .collect()
}

/// Bytes in the order of the section.
struct Out {
    bytes: Vec<u8>,
    little: bool,
}

impl Out {
    fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    fn u16(&mut self, value: u16) {
        self.push(value.to_le_bytes(), value.to_be_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.push(value.to_le_bytes(), value.to_be_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.push(value.to_le_bytes(), value.to_be_bytes());
    }

    fn size(&mut self, value: usize) {
        self.u32(u32::try_from(value).expect("a section of less than 4 GiB"));
    }

    fn push<const N: usize>(&mut self, little: [u8; N], big: [u8; N]) {
        self.bytes
            .extend_from_slice(if self.little { &little } else { &big });
    }
}
