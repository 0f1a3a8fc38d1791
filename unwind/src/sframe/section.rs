//! One SFrame section: its header, checked once, and look-up in it.

use core::iter::FusedIterator;

use crate::bytes::{ByteOrder, Bytes};
use crate::sframe::abi::Abi;
use crate::sframe::error::{LookupError, ParseError};
use crate::sframe::format::{self, Flags};
use crate::sframe::function::Function;
use crate::sframe::row::{Row, RowFormat};

/// What the start of a function is relative to. The header's flags tell, except in files that GNU ld up to 2.44
/// made with `-r`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum StartRule {
    /// By the flags: [`Flags::START_PC_RELATIVE`] means the field; otherwise [`Flags::SORTED`] means that GNU ld
    /// wrote it, relative to the section; otherwise a relocation was resolved in place, relative to the field.
    #[default]
    FromFlags,
    /// The address of the field that holds it.
    Field,
    /// The address of the section's first byte.
    Section,
}

/// An SFrame section, borrowed. Parsing checks the header and that functions and rows lie inside; after that every
/// look-up is total, whatever the bytes.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    pub(crate) functions: Bytes<'a>,
    rows: Bytes<'a>,
    address: u64,
    /// Offset of the functions from the start of the section.
    functions_offset: usize,
    count: u32,
    row_count: u32,
    length: usize,
    version: u8,
    flags: Flags,
    field_relative: bool,
    abi: Abi,
    fixed_fp: i8,
    fixed_ra: i8,
}

impl<'a> Section<'a> {
    /// Parses the section that starts at the first of `bytes`, which lies (or will lie) at `address` in memory.
    /// Bytes after the section's end are left alone: see [`Self::length`].
    ///
    /// # Errors
    /// See [`ParseError`].
    pub fn parse(bytes: &'a [u8], address: u64) -> Result<Self, ParseError> {
        Self::parse_with(bytes, address, StartRule::FromFlags)
    }

    /// [`Self::parse`], with the rule for start addresses given.
    ///
    /// # Errors
    /// See [`ParseError`].
    pub fn parse_with(data: &'a [u8], address: u64, starts: StartRule) -> Result<Self, ParseError> {
        if data.is_empty() {
            return Err(ParseError::Empty);
        }
        let short = ParseError::Short { length: data.len() };
        let little = Bytes::new(data, ByteOrder::Little);
        let magic = little.u16(0).ok_or(short)?;
        let order = if magic == format::MAGIC {
            ByteOrder::Little
        } else if magic == format::MAGIC.swap_bytes() {
            ByteOrder::Big
        } else {
            return Err(ParseError::BadMagic { found: magic });
        };
        let bytes = Bytes::new(data, order);
        let version = bytes.u8(2).ok_or(short)?;
        if !(1..=3).contains(&version) {
            return Err(ParseError::UnknownVersion(version));
        }
        if version == 1 && is_draft(bytes) {
            return Err(ParseError::DraftVersion1);
        }
        let header: &[u8; format::HEADER_SIZE] = data.first_chunk().ok_or(short)?;
        let known = match version {
            3 => Flags::SORTED.union(Flags::START_PC_RELATIVE),
            _ => Flags::all(),
        };
        let [_, _, _, flag_bits, abi, fixed_fp, fixed_ra, auxiliary, ..] = *header;
        let flags = Flags::from_bits(flag_bits)
            .filter(|flags| known.contains(*flags))
            .ok_or(ParseError::UnknownFlags(flag_bits))?;
        let abi = Abi::from_header(abi).ok_or(ParseError::UnknownAbi(abi))?;
        let count = bytes.u32(8).ok_or(short)?;
        let row_count = bytes.u32(12).ok_or(short)?;
        let rows_length = bytes.u32(16).ok_or(short)?;
        let functions_at = bytes.u32(20).ok_or(short)?;
        let rows_at = bytes.u32(24).ok_or(short)?;

        let base = format::HEADER_SIZE.saturating_add(usize::from(auxiliary));
        if base > data.len() {
            return Err(ParseError::AuxiliaryHeader { length: auxiliary });
        }
        let functions_length = u64::from(count).saturating_mul(function_size(version) as u64);
        let (functions_offset, functions) = part(data, base, functions_at, functions_length)
            .map_err(|end| ParseError::Functions { end })?;
        let (rows_offset, rows) = part(data, base, rows_at, u64::from(rows_length))
            .map_err(|end| ParseError::Rows { end })?;
        Ok(Self {
            functions: Bytes::new(functions, order),
            rows: Bytes::new(rows, order),
            address,
            functions_offset,
            count,
            row_count,
            length: base
                .max(functions_offset.saturating_add(functions.len()))
                .max(rows_offset.saturating_add(rows.len())),
            version,
            flags,
            field_relative: match starts {
                StartRule::FromFlags => {
                    flags.contains(Flags::START_PC_RELATIVE) || !flags.contains(Flags::SORTED)
                }
                StartRule::Field => true,
                StartRule::Section => false,
            },
            abi,
            fixed_fp: fixed_fp.cast_signed(),
            fixed_ra: fixed_ra.cast_signed(),
        })
    }

    /// The version: 1, 2 or 3. Version 2 errata 1 is 2 with [`Flags::START_PC_RELATIVE`].
    #[must_use]
    pub const fn version(&self) -> u8 {
        self.version
    }

    /// The header's flags.
    #[must_use]
    pub const fn flags(&self) -> Flags {
        self.flags
    }

    /// The header's ABI.
    #[must_use]
    pub const fn abi(&self) -> Abi {
        self.abi
    }

    /// The byte order of the table's own numbers.
    #[must_use]
    pub const fn byte_order(&self) -> ByteOrder {
        self.functions.order
    }

    /// The frame pointer's fixed offset from the CFA in bytes; 0: rows tell it.
    #[must_use]
    pub const fn fixed_frame_pointer_offset(&self) -> i8 {
        self.fixed_fp
    }

    /// The return address's fixed offset from the CFA in bytes; 0: rows tell it.
    #[must_use]
    pub const fn fixed_return_address_offset(&self) -> i8 {
        self.fixed_ra
    }

    /// How many functions there are.
    #[must_use]
    pub const fn function_count(&self) -> u32 {
        self.count
    }

    /// How many rows the header says there are, over all functions. For information: nothing relies on it.
    #[must_use]
    pub const fn row_count(&self) -> u32 {
        self.row_count
    }

    /// Bytes from the header to the end of the last part: where a section that was appended may start.
    #[must_use]
    pub const fn length(&self) -> usize {
        self.length
    }

    /// The address of the section's first byte.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// The function at a position of the table, from 0.
    #[must_use]
    pub fn function(&self, index: u32) -> Option<Function<'a>> {
        self.entry(index)?.ok()
    }

    /// All functions, in the order of the table. Entries whose rows lie outside are passed over.
    #[must_use]
    pub const fn functions(&self) -> Functions<'a> {
        Functions {
            section: *self,
            next: 0,
        }
    }

    /// The function that contains the address `pc`. Of several with one start, the last.
    #[must_use]
    pub fn function_at(&self, pc: u64) -> Option<Function<'a>> {
        self.find(pc).ok()
    }

    /// The row for the address `pc`, and its function.
    ///
    /// # Errors
    /// See [`LookupError`].
    pub fn lookup(&self, pc: u64) -> Result<(Function<'a>, Row), LookupError> {
        let function = self.find(pc)?;
        Ok((function, function.lookup(pc)?))
    }

    /// [`Self::function_at`], with the reason when there is none.
    pub(crate) fn find(&self, pc: u64) -> Result<Function<'a>, LookupError> {
        let index = if self.flags.contains(Flags::SORTED) {
            self.search(pc)
        } else {
            self.scan(pc)
        };
        let mut index = index.ok_or(LookupError::NoFunction)?;
        let mut function = self.entry(index).ok_or(LookupError::NoFunction)??;
        // A function of no bytes may stand behind one that starts where it does: gcc leaves such for code that cannot
        // be reached, and GNU ld sorts by the start alone.
        while !function.contains(pc) {
            let start = function.start;
            index = index.checked_sub(1).ok_or(LookupError::NoFunction)?;
            if self.start(index) != Some(start) {
                return Err(LookupError::NoFunction);
            }
            function = self.entry(index).ok_or(LookupError::NoFunction)??;
        }
        Ok(function)
    }

    /// Index of the last function that starts at or before `pc`, in a sorted table. On a table that only says it is
    /// sorted the answer is some index or none, and the caller checks it.
    fn search(&self, pc: u64) -> Option<u32> {
        let mut base = 0_u32;
        let mut size = self.count;
        // Without a branch on the comparison: the outcome of each probe is a coin toss to the processor.
        while size > 1 {
            let half = size >> 1;
            let middle = base.wrapping_add(half);
            base = if self.start(middle)? <= pc {
                middle
            } else {
                base
            };
            size = size.wrapping_sub(half);
        }
        (self.start(base)? <= pc).then_some(base)
    }

    /// Index of the function that contains `pc`, in an unsorted table: the greatest start, of equal ones the last.
    fn scan(&self, pc: u64) -> Option<u32> {
        let mut best: Option<(u64, u32)> = None;
        for index in 0..self.count {
            let start = self.start(index)?;
            let contains = pc.wrapping_sub(start) < u64::from(self.size(index)?);
            if contains && best.is_none_or(|(greatest, _)| start >= greatest) {
                best = Some((start, index));
            }
        }
        best.map(|(_, index)| index)
    }

    /// Offset of a function's entry from the first one.
    #[inline]
    fn entry_offset(&self, index: u32) -> usize {
        (index as usize).wrapping_mul(function_size(self.version))
    }

    /// Address of a function.
    #[inline]
    fn start(&self, index: u32) -> Option<u64> {
        let at = self.entry_offset(index);
        let value = if self.version >= 3 {
            self.functions.u64(at)?
        } else {
            i64::from(self.functions.u32(at)?.cast_signed()).cast_unsigned()
        };
        let field = if self.field_relative {
            self.functions_offset.wrapping_add(at)
        } else {
            0
        };
        Some(self.address.wrapping_add(field as u64).wrapping_add(value))
    }

    fn size(&self, index: u32) -> Option<u32> {
        let size_at = if self.version >= 3 { 8 } else { 4 };
        self.functions
            .u32(self.entry_offset(index).wrapping_add(size_at))
    }

    /// A function's entry, with the attributes that lie beside it. `None`: no such index.
    fn entry(&self, index: u32) -> Option<Result<Function<'a>, LookupError>> {
        if index >= self.count {
            return None;
        }
        let at = self.entry_offset(index);
        let start = self.start(index)?;
        let size = self.size(index)?;
        Some(
            self.attributes(at)
                .map(|(rows, row_count, [info, info2, block])| Function {
                    start,
                    size,
                    rows: Bytes::new(rows, self.rows.order),
                    row_count,
                    info,
                    info2,
                    block,
                    format: RowFormat {
                        version: self.version,
                        abi: self.abi,
                        fixed_fp: self.fixed_fp,
                        fixed_ra: self.fixed_ra,
                        start_width: info & format::INFO_START_WIDTH,
                        flexible: self.version >= 3
                            && info2 & format::INFO2_KIND == format::KIND_FLEXIBLE,
                    },
                })
                .ok_or(LookupError::Damaged),
        )
    }

    /// The rows of the entry at `at`, their number, and info, info2 and block size.
    fn attributes(&self, at: usize) -> Option<(&'a [u8], u32, [u8; 3])> {
        let entry = |offset: usize| at.wrapping_add(offset);
        let rows_from = |offset: u32| self.rows.data.get(usize::try_from(offset).ok()?..);
        if self.version >= 3 {
            let own = rows_from(self.functions.u32(entry(12))?)?;
            let (&attribute, rows) = own.split_first_chunk::<{ format::ATTRIBUTE_SIZE }>()?;
            let [_, _, info, info2, block] = attribute;
            let count = Bytes::new(own, self.rows.order).u16(0)?;
            Some((rows, u32::from(count), [info, info2, block]))
        } else {
            let rows = rows_from(self.functions.u32(entry(8))?)?;
            let count = self.functions.u32(entry(12))?;
            let info = self.functions.u8(entry(16))?;
            let block = match self.version {
                1 => 0,
                _ => self.functions.u8(entry(17))?,
            };
            Some((rows, count, [info, 0, block]))
        }
    }
}

/// Iterator over a section's functions: [`Section::functions`].
#[derive(Clone, Debug)]
pub struct Functions<'a> {
    section: Section<'a>,
    next: u32,
}

impl<'a> Iterator for Functions<'a> {
    type Item = Function<'a>;

    fn next(&mut self) -> Option<Function<'a>> {
        loop {
            let entry = self.section.entry(self.next)?;
            self.next = self.next.checked_add(1)?;
            if let Ok(function) = entry {
                return Some(function);
            }
        }
    }
}

impl FusedIterator for Functions<'_> {}

const fn function_size(version: u8) -> usize {
    match version {
        1 => format::FUNCTION_SIZE_V1,
        2 => format::FUNCTION_SIZE_V2,
        _ => format::FUNCTION_SIZE_V3,
    }
}

/// The part that starts `offset` bytes after `base`: where it starts, and its bytes. The error is where it would end.
fn part(data: &[u8], base: usize, offset: u32, length: u64) -> Result<(usize, &[u8]), u64> {
    let start = (base as u64).saturating_add(u64::from(offset));
    let end = start.saturating_add(length);
    let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    range
        .and_then(|(start, end)| Some((start, data.get(start..end)?)))
        .ok_or(end)
}

/// Whether the bytes are the layout of version 1's first posted patch, and not also the released one.
fn is_draft(bytes: Bytes<'_>) -> bool {
    // Number of functions, length of the rows, offsets of functions and rows; the draft has no auxiliary header
    // and its 27 bytes end right where the functions start.
    let agrees = |base: usize, auxiliary: usize| {
        let field = |index: usize| bytes.u32(base.wrapping_add(index.wrapping_mul(4)));
        let (Some(count), Some(length), Some(functions), Some(rows)) =
            (field(0), field(2), field(3), field(4))
        else {
            return false;
        };
        let functions_end = u64::from(functions)
            .saturating_add(u64::from(count).saturating_mul(format::FUNCTION_SIZE_V1 as u64));
        let end = (base as u64)
            .saturating_add(20)
            .saturating_add(auxiliary as u64)
            .saturating_add(u64::from(rows))
            .saturating_add(u64::from(length));
        functions_end == u64::from(rows) && end <= bytes.data.len() as u64
    };
    let auxiliary = usize::from(bytes.u8(7).unwrap_or(0));
    agrees(7, 0) && !agrees(8, auxiliary)
}
