//! Lines of removed functions: linkers leave them at address 0, where an image may have code.

use std::borrow::Cow;
use std::num::NonZeroU64;

use anyhow::{Context, Result};
use gimli::{DebugLine, DebugLineOffset, EndianSlice, Format, Reader as _};
use object::{Object, ObjectSection};
use rustc_hash::FxHashSet;

use super::Symbols;
use super::reader::{Reader, endian};
use crate::image::is_code;

/// Linkers replace addresses of removed functions by 0, or by 1 in lists of ranges.
pub(super) const REMOVED: u64 = 1;

/// No function that is removed is as large as this address, so that code above it is not mistaken for one.
const LOW: u64 = 1 << 20;

const EXTENDED: u8 = 0;
const FIXED_ADVANCE_PC: u8 = 9;
const END_SEQUENCE: u8 = 1;
const SET_ADDRESS: u8 = 2;

/// The ends of the functions and of the sections with code of an image that has code at low addresses.
#[derive(Debug)]
pub struct Live {
    ends: FxHashSet<u64>,
    is_at_0: bool,
    /// The functions at the addresses that removed functions have, each with its end.
    pub(super) at_0: Vec<(String, u64)>,
}

impl Live {
    /// Of an image; `None` if its code is at high addresses.
    #[must_use]
    pub fn of(file: &object::File<'_>, symbols: &Symbols) -> Option<Self> {
        let code: Vec<_> = file
            .sections()
            .filter(|section| is_code(section.flags()) && section.size() > 0)
            .map(|section| (section.address(), section.size()))
            .collect();
        let lowest = code.iter().map(|(start, _)| *start).min()?;
        let ranges = symbols.0.iter().map(|symbol| (symbol.start, symbol.size));
        let ends = ranges.chain(code);
        let at_0 = symbols.0.iter().filter(|symbol| symbol.start <= REMOVED);
        let at_0 = at_0.flat_map(|symbol| {
            let names = std::iter::once(&symbol.name).chain(&symbol.others);
            names.map(|name| (name.clone(), symbol.start.saturating_add(symbol.size)))
        });
        (lowest < LOW).then(|| Self {
            at_0: at_0.collect(),
            ends: ends
                .map(|(start, size)| start.saturating_add(size))
                .collect(),
            is_at_0: lowest <= REMOVED,
        })
    }
}

/// A part of a line table: where the operand with its first address is in the section, and its addresses.
pub(super) struct Part {
    pub(super) operand: usize,
    pub(super) start: u64,
    end: u64,
    /// The number of the file and the line of its first row.
    pub(super) file: u64,
    pub(super) line: u64,
}

/// The section `.debug_line`, in which lines of removed functions have the address that stands for none.
///
/// # Errors
/// Returns an error if the section is damaged.
pub fn without_removed<'data>(
    section: Cow<'data, [u8]>,
    file: &object::File<'_>,
    live: &Live,
) -> Result<Cow<'data, [u8]>> {
    let endian = endian(file);
    let word = match file.is_64() {
        true => 8,
        false => 4,
    };
    let mut operands = Vec::new();
    let whole = EndianSlice::new(&section, endian);
    let mut at = 0;
    while at < section.len() {
        let (parts, size) = parts(whole, at, word).context("damaged section .debug_line")?;
        let at_0 = parts.into_iter().filter(|part| part.start <= REMOVED);
        let is_live = |part: &Part| live.is_at_0 && live.ends.contains(&part.end);
        let (kept, removed): (Vec<_>, Vec<_>) = at_0.partition(is_live);
        // At most one of a unit is live, and which one is not known.
        let unknown = kept.iter().filter(|_| kept.len() > 1);
        operands.extend(removed.iter().chain(unknown).map(|part| part.operand));
        at = at.saturating_add(size);
    }
    if operands.is_empty() {
        return Ok(section);
    }
    let mut section = section;
    remove(&mut section, &operands, word);
    Ok(section)
}

/// Gives parts of the section `.debug_line` the address that stands for none.
pub(super) fn remove(section: &mut Cow<'_, [u8]>, operands: &[usize], word: u8) {
    for operand in operands {
        if let Some(bytes) = section
            .to_mut()
            .get_mut(*operand..operand + usize::from(word))
        {
            bytes.fill(0xff);
        }
    }
}

/// The parts of the line table at an offset in the section, and its size in bytes.
pub(super) fn parts(section: Reader<'_>, at: usize, word: u8) -> gimli::Result<(Vec<Part>, usize)> {
    let table = DebugLine::from(section).program(DebugLineOffset(at), word, None, None)?;
    let header = table.header();
    let length = match header.format() {
        Format::Dwarf64 => 12,
        Format::Dwarf32 => 4,
    };
    let size = header.unit_length() + length;
    let lengths = header.standard_opcode_lengths().slice().to_vec();
    let first_special = header.opcode_base();
    let mut rest = header.raw_program_buf();
    // The operands and ends are those of the parts that end, in their order.
    let mut operands = Vec::new();
    let mut operand = None;
    while !rest.is_empty() {
        match rest.read_u8()? {
            EXTENDED => {
                let length = rest.read_uleb128()?;
                let mut instruction = rest.split(usize::try_from(length).unwrap_or(usize::MAX))?;
                if length == 0 {
                    continue;
                }
                match instruction.read_u8()? {
                    SET_ADDRESS if instruction.len() == usize::from(word) => {
                        operand.get_or_insert(instruction.offset_from(section));
                    }
                    END_SEQUENCE => operands.push(operand.take()),
                    _ => {}
                }
            }
            special if special >= first_special => {}
            FIXED_ADVANCE_PC => rest.skip(2)?,
            standard => {
                let count = lengths.get(usize::from(standard) - 1).copied();
                for _ in 0..count.unwrap_or(0) {
                    rest.skip_leb128()?;
                }
            }
        }
    }
    let (table, sequences) = table.sequences()?;
    // A table with parts that have no address of their own is left as it is.
    let is_complete = sequences.len() == operands.len();
    let parts = sequences
        .iter()
        .zip(operands)
        .filter_map(|(part, operand)| {
            let mut rows = table.resume_from(part);
            let first = rows.next_row().ok().flatten().map(|(_, row)| *row);
            Some(Part {
                operand: operand?,
                start: part.start,
                end: part.end,
                file: first.map_or(0, |row| row.file_index()),
                line: first.and_then(|row| row.line()).map_or(0, NonZeroU64::get),
            })
        });
    Ok((parts.filter(|_| is_complete).collect(), size))
}
