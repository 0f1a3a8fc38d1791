//! Writes a whole section: header, index of functions, rows, checksum.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use unwind::sframe::format::{self, Flags};

use super::Version;
use super::function::{Encoded, encode};
use super::out::Out;
use crate::architecture::Architecture;
use crate::cfi::Frames;
use crate::code_checksums::CodeChecksums;
use crate::function::{Function, LeftOut};
use crate::links::{InterruptedLinks, stored_place};
use crate::stack_pointers::StackPointers;
use crate::unproven::Unproven;

/// A section before its address is known. Its size does not depend on the address, so that the linker can place it first.
#[derive(Clone, Debug)]
pub struct Table {
    architecture: &'static Architecture,
    version: Version,
    index: Vec<IndexEntry>,
    /// Encoded rows, in version 3 after their attributes. Many functions have equal ones, and share them.
    rows: Vec<u8>,
    row_count: usize,
    /// The list of unproven ranges; `None` for a table without a proof.
    unproven: Option<Unproven>,
    /// Where trap code has the interrupted link register. Not written in a table without a proof.
    links: InterruptedLinks,
    /// The stack pointers of code without a caller. Not written in a table without a proof.
    stack_pointers: StackPointers,
    code: CodeChecksums,
}

#[derive(Clone, Debug)]
struct IndexEntry {
    start: u64,
    size: u32,
    /// Offset in the table's `rows`.
    rows: u32,
    /// How many rows.
    count: u32,
    info: u8,
    block: u8,
}

impl Table {
    /// Encodes the functions of `frames` in version 3. One whose rows the format cannot hold moves to those left out.
    #[must_use]
    pub fn new(architecture: &'static Architecture, frames: &mut Frames) -> Self {
        Self::of_version(Version::V3, architecture, frames)
    }

    /// [`Self::new`], in another version.
    #[must_use]
    pub fn of_version(
        version: Version,
        architecture: &'static Architecture,
        frames: &mut Frames,
    ) -> Self {
        let mut table = Self {
            architecture,
            version,
            index: Vec::with_capacity(frames.functions.len()),
            rows: Vec::new(),
            row_count: 0,
            unproven: None,
            links: InterruptedLinks::default(),
            stack_pointers: StackPointers::default(),
            code: CodeChecksums::default(),
        };
        let mut known = FxHashMap::default();
        frames
            .functions
            .retain(|function| match encode(function, architecture, version) {
                Ok(encoded) => {
                    table.add(function, encoded, &mut known);
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

    /// Sets the list of unproven ranges, and where trap code has the interrupted link register. Without the first list, the table contains no
    /// proof.
    #[must_use]
    pub fn with_proof(self, unproven: Option<Unproven>, links: InterruptedLinks) -> Self {
        Self {
            unproven,
            links,
            ..self
        }
    }

    /// Sets the stack pointers of code without a caller.
    #[must_use]
    pub fn with_stack_pointers(self, stack_pointers: StackPointers) -> Self {
        Self {
            stack_pointers,
            ..self
        }
    }

    /// Sets the checksums of the image's code.
    #[must_use]
    pub fn with_code(self, code: CodeChecksums) -> Self {
        Self { code, ..self }
    }

    /// Adds an encoded function.
    fn add(&mut self, function: &Function, encoded: Encoded, known: &mut FxHashMap<Vec<u8>, u32>) {
        let Encoded {
            count, info, block, ..
        } = encoded;
        let rows = match self.version {
            Version::V2 => encoded.rows,
            Version::V3 => self.with_attributes(encoded),
        };
        if self.architecture.is_big_endian() {
            // Rows are not shared: binutils on a little-endian host swaps each function's rows in place, and would swap shared
            // rows twice.
            known.clear();
        }
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
            count,
            info,
            block,
        });
    }

    /// The attributes and rows of a function in version 3.
    fn with_attributes(&self, encoded: Encoded) -> Vec<u8> {
        let mut out = Out {
            bytes: Vec::with_capacity(format::ATTRIBUTE_SIZE + encoded.rows.len()),
            little: !self.architecture.is_big_endian(),
        };
        // `encode` returns at most 65535 rows for version 3.
        out.u16(encoded.count as u16);
        out.u8(encoded.info);
        out.u8(encoded.kind);
        out.u8(encoded.block);
        out.bytes.extend_from_slice(&encoded.rows);
        out.bytes
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Functions in the table.
    #[must_use]
    pub fn function_count(&self) -> usize {
        self.index.len()
    }

    /// Rows that are stored; those that several functions share are counted once.
    #[must_use]
    pub fn stored_row_count(&self) -> usize {
        self.row_count
    }

    /// Returns the size of everything behind the rows, in bytes. A big-endian table has nothing there:
    /// see [`format::CHECKSUM_MAGIC`].
    fn tail_size(&self) -> usize {
        if self.architecture.is_big_endian() {
            return 0;
        }
        let list = self.unproven.as_ref().map_or(0, |list| {
            let links = match self.links.count() {
                0 => 0,
                count => count * format::LINK_SIZE + format::LINKS_SIZE,
            };
            self.stack_pointers.size()
                + links
                + list.stored(0).len() * format::UNPROVEN_SIZE
                + format::PROOF_SIZE
        });
        list + self.code.size() + format::LINKED_SIZE + format::CHECKSUM_SIZE
    }

    fn write_proof(&self, out: &mut Out, address: u64) {
        let Some(list) = &self.unproven else { return };
        out.stack_pointers(&self.stack_pointers, address);
        if self.links.count() > 0 {
            for (start, size, place) in self.links.stored(address) {
                out.u64(start);
                out.u32(size);
                out.u32(stored_place(place));
            }
            out.size(self.links.count());
            out.u32(format::LINK_MAGIC);
        }
        let ranges = list.stored(address);
        for (start, size) in &ranges {
            out.u32(*start);
            out.u16(*size);
        }
        out.size(ranges.len());
        out.u32(format::PROOF_MAGIC);
    }

    /// Size of the section, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        let index = self.index.len() * self.version.function_size();
        let rows = self.rows.len() + self.tail_size();
        format::HEADER_SIZE + index + rows
    }

    /// Whether all functions are in reach of a section at an address: in version 2 their starts have 32 bits.
    #[must_use]
    pub fn reaches(&self, address: u64) -> bool {
        let end = address.wrapping_add(self.size() as u64);
        self.version == Version::V3
            || self.index.iter().all(|entry| {
                let near = |field: u64| {
                    i32::try_from(entry.start.wrapping_sub(field).cast_signed()).is_ok()
                };
                near(address) && near(end)
            })
    }

    /// The bytes of the section at an address.
    #[must_use]
    pub fn to_bytes(&self, address: u64) -> Vec<u8> {
        self.to_bytes_of(address, self.size())
    }

    /// [`Self::to_bytes`], padded to `size` bytes: after the last row and before its address and checksum, if it has them.
    #[must_use]
    pub fn to_bytes_of(&self, address: u64, size: usize) -> Vec<u8> {
        let mut out = Out {
            bytes: Vec::with_capacity(size),
            little: !self.architecture.is_big_endian(),
        };
        let index_size = self.index.len() * self.version.function_size();
        out.u16(format::MAGIC);
        out.u8(self.version.number());
        out.u8((Flags::SORTED | Flags::START_PC_RELATIVE).bits());
        out.u8(self.architecture.abi() as u8);
        // The frame pointer's offset is in the rows.
        out.u8(0);
        let fixed = self.architecture.fixed_return_address.unwrap_or(0);
        out.u8(fixed.cast_unsigned());
        // No auxiliary header.
        out.u8(0);
        out.size(self.index.len());
        out.size(self.row_count);
        let room = size.saturating_sub(self.size());
        out.size(match self.tail_size() {
            0 => self.rows.len(),
            tail => self.rows.len() + room + tail,
        });
        // The index and the rows, from the end of the header.
        out.size(0);
        out.size(index_size);
        for entry in &self.index {
            let field = address.wrapping_add(out.bytes.len() as u64);
            let start = entry.start.wrapping_sub(field);
            match self.version {
                // Truncation loses nothing if `reaches` is true for this address.
                Version::V2 => out.u32(start as u32),
                Version::V3 => out.u64(start),
            }
            out.u32(entry.size);
            out.u32(entry.rows);
            if self.version == Version::V2 {
                out.u32(entry.count);
                out.u8(entry.info);
                out.u8(entry.block);
                // Padding.
                out.u16(0);
            }
        }
        out.bytes.extend_from_slice(&self.rows);
        out.bytes.resize(out.bytes.len() + room, 0);
        if self.tail_size() > 0 {
            self.write_proof(&mut out, address);
            out.code_checksums(&self.code, address);
            out.u64(address);
            out.u32(format::LINKED_MAGIC);
            let checksum = crc32fast::hash(&out.bytes);
            out.u32(checksum);
            out.u32(format::CHECKSUM_MAGIC);
        }
        out.bytes
    }
}
