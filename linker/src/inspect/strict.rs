//! Checks tables of any origin strictly: what the format forbids, and what it leaves to readers.

use std::collections::HashSet;
use std::io::{self, Write};

use unwind::ByteOrder;
use unwind::sframe::format::{self, Flags};
use unwind::sframe::{Abi, Damage, Function, Section, Tables};

use crate::architecture::Architecture;
use crate::counted::counted;
use crate::image;

/// Everything about tables that is not strictly valid.
///
/// An error is what [`Tables::verify`] refuses, and a table for another machine than the file's: a reader would answer
/// wrongly, or two readers differently. All else is a note: a reader may pass over it.
#[derive(Debug, Default)]
pub struct Strict {
    findings: Vec<Finding>,
}

/// A problem at one or more addresses.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    is_error: bool,
    what: String,
    /// The address of the first function that it was found in, if it is about functions.
    first: Option<u64>,
    count: usize,
}

const ERROR: bool = true;
const NOTE: bool = false;

impl Strict {
    /// Looks at all of a file's tables, which lie in `section`.
    #[must_use]
    pub fn of(
        tables: &Tables<'_>,
        section: &image::Section<'_>,
        architecture: &Architecture,
    ) -> Self {
        let mut found = Self::default();
        let sections: Vec<_> = tables.sections().flatten().collect();
        for one in &sections {
            found.header(one, architecture);
            let at = one.address().wrapping_sub(section.address);
            let bytes = usize::try_from(at)
                .ok()
                .and_then(|at| section.data.get(at..));
            found.functions(one, bytes.unwrap_or_default());
        }
        found.overlap(&sections);
        match tables.verify() {
            // An unsorted index is no error unless the header's flag says that it is sorted.
            Ok(_) | Err(Damage::Unsorted { .. }) => {}
            Err(_) if found.has_error() => {}
            Err(damage) => found.add(ERROR, &damage.to_string(), None),
        }
        found
    }

    /// Whether there is an error, not only notes.
    #[must_use]
    pub fn has_error(&self) -> bool {
        self.findings.iter().any(|finding| finding.is_error)
    }

    /// Writes a line for each kind of finding.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for finding in &self.findings {
            let severity = if finding.is_error { "error" } else { "note" };
            write!(out, "{severity}: .sframe: {}", finding.what)?;
            match finding.first {
                Some(first) => writeln!(
                    out,
                    " (count: {count}, first at {first:#x})",
                    count = finding.count
                )?,
                None => writeln!(out)?,
            }
        }
        Ok(())
    }

    fn add(&mut self, is_error: bool, what: &str, at: Option<u64>) {
        match self.findings.iter_mut().find(|known| known.what == what) {
            Some(known) => known.count += 1,
            None => self.findings.push(Finding {
                is_error,
                what: what.to_owned(),
                first: at,
                count: 1,
            }),
        }
    }

    fn header(&mut self, section: &Section<'_>, architecture: &Architecture) {
        let (found, expected) = (section.abi(), architecture.abi());
        if found != expected {
            let what =
                format!("the unwind table is for {found:?}, but the file is for {expected:?}");
            self.add(ERROR, &what, None);
        }
        if section.byte_order() != found.byte_order() {
            let what = format!("the unwind table for {found:?} has the wrong byte order");
            self.add(ERROR, &what, None);
        }
        if found == Abi::Amd64
            && section.fixed_return_address_offset() != format::AMD64_RETURN_ADDRESS_OFFSET
        {
            let offset = section.fixed_return_address_offset();
            let what = format!(
                "the unwind table has the fixed return address offset {offset}, but x86-64 requires -8"
            );
            self.add(ERROR, &what, None);
        }
    }

    /// Checks all functions; `bytes` begin with the section.
    fn functions(&mut self, section: &Section<'_>, bytes: &[u8]) {
        let is_sorted = section.flags().contains(Flags::SORTED);
        let (mut before, mut places) = (0, HashSet::new());
        let (mut all, mut stored) = (0_u64, 0_u64);
        for index in 0..section.function_count() {
            let raw = Raw::of(section, bytes, index);
            let Some(function) = section.function(index) else {
                let what = format!("the rows of function {index} are outside the unwind table");
                self.add(ERROR, &what, None);
                continue;
            };
            let start = Some(function.start());
            if function.start() < before {
                match is_sorted {
                    true => self.add(
                        ERROR,
                        "the unwind table is marked as sorted, but its functions are not in order",
                        start,
                    ),
                    false => self.add(
                        NOTE,
                        "the functions in the unwind table are not in order",
                        start,
                    ),
                }
            }
            before = function.start();
            if raw.has_reserved_bits(section) {
                self.add(
                    NOTE,
                    "functions in the unwind table have reserved bits set",
                    start,
                );
            }
            let count = u64::from(function.row_count());
            all += count;
            // The offset of a function without rows points to those of another one.
            if count > 0 && places.insert(raw.rows) {
                stored += count;
            }
            self.rows(section, &function);
        }
        let header = u64::from(section.row_count());
        if ![all, stored].contains(&header) {
            let what = format!(
                "the header of the unwind table has a row count of {header}, but the functions have {rows}",
                rows = counted(all, "row")
            );
            self.add(ERROR, &what, None);
        }
    }

    fn rows(&mut self, section: &Section<'_>, function: &Function<'_>) {
        let start = Some(function.start());
        let is_arm = matches!(section.abi(), Abi::AArch64Little | Abi::AArch64Big);
        let size = match function.is_pc_mask() {
            true => function.block_size(),
            false => function.size(),
        };
        let (mut count, mut before) = (0, None);
        for row in function.rows() {
            match before {
                None if row.offset > 0 => {
                    self.add(
                        NOTE,
                        "functions have no unwind row for their start address",
                        start,
                    );
                }
                Some(before) if row.offset < before => {
                    self.add(
                        ERROR,
                        "the unwind rows of a function are not in order",
                        start,
                    );
                }
                Some(before) if row.offset == before => {
                    self.add(
                        NOTE,
                        "consecutive unwind rows start at the same address",
                        start,
                    );
                }
                _ => {}
            }
            if row.offset > size {
                self.add(
                    ERROR,
                    "unwind rows start after the end of their function",
                    start,
                );
            } else if row.offset == size && size > 0 {
                self.add(
                    NOTE,
                    "unwind rows start at the end of their function",
                    start,
                );
            }
            if row.signed && !is_arm {
                self.add(NOTE, "unwind rows have reserved bits set", start);
            }
            (count, before) = (count + 1, Some(row.offset));
        }
        if count < function.row_count() {
            self.add(ERROR, "rows cannot be read", start);
        }
    }

    /// Checks for addresses in several functions, of all sections: readers may choose either.
    fn overlap(&mut self, sections: &[Section<'_>]) {
        let functions = sections.iter().flat_map(Section::functions);
        let mut ranges: Vec<(u64, u64)> = functions
            .filter(|function| function.size() > 0)
            .map(|function| (function.start(), u64::from(function.size()) - 1))
            .map(|(start, length)| (start, start.saturating_add(length)))
            .collect();
        ranges.sort_unstable();
        let mut reached = None;
        for (start, last) in ranges {
            if reached.is_some_and(|reached| start <= reached) {
                self.add(
                    ERROR,
                    "functions in the unwind table overlap each other",
                    Some(start),
                );
            }
            reached = reached.max(Some(last));
        }
    }
}

/// Fields of a function's entry that `unwind` does not return.
#[derive(Default)]
struct Raw {
    /// The offset of its rows.
    rows: u32,
    info: u8,
    info2: u8,
    /// Version 2: two bytes of padding.
    padding: u16,
}

impl Raw {
    /// Reads them for the function at an index of the section with which `bytes` begin; zeros if they are missing.
    fn of(section: &Section<'_>, bytes: &[u8], index: u32) -> Self {
        let read = || {
            let word = |at: usize| {
                let word = *bytes.get(at..)?.first_chunk()?;
                Some(match section.byte_order() {
                    ByteOrder::Little => u32::from_le_bytes(word),
                    ByteOrder::Big => u32::from_be_bytes(word),
                })
            };
            let byte = |at: usize| bytes.get(at).copied();
            let base = format::HEADER_SIZE + usize::from(byte(7)?);
            let functions = base + word(20)? as usize;
            let index = index as usize;
            if section.version() >= 3 {
                let rows = word(functions + index * format::FUNCTION_SIZE_V3 + 12)?;
                let attributes = base + word(24)? as usize + rows as usize;
                return Some(Self {
                    rows,
                    info: byte(attributes + 2)?,
                    info2: byte(attributes + 3)?,
                    padding: 0,
                });
            }
            let (size, has_padding) = match section.version() {
                1 => (format::FUNCTION_SIZE_V1, false),
                _ => (format::FUNCTION_SIZE_V2, true),
            };
            let at = functions + index * size;
            Some(Self {
                rows: word(at + 8)?,
                info: byte(at + 16)?,
                info2: 0,
                padding: match has_padding {
                    true => u16::from_le_bytes([byte(at + 18)?, byte(at + 19)?]),
                    false => 0,
                },
            })
        };
        read().unwrap_or_default()
    }

    fn has_reserved_bits(&self, section: &Section<'_>) -> bool {
        let mut known = format::INFO_START_WIDTH | format::INFO_PC_MASK;
        if matches!(section.abi(), Abi::AArch64Little | Abi::AArch64Big) {
            known |= format::INFO_PAUTH_KEY_B;
        }
        if section.version() >= 3 {
            known |= format::INFO_SIGNAL;
        }
        self.info & !known != 0 || self.info2 & !format::INFO2_KIND != 0 || self.padding != 0
    }
}
