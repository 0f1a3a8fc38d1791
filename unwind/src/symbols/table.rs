//! The symbol table, read in place.

use crate::bytes::{ByteOrder, Bytes};
use crate::crc32::crc32;
use crate::memory::Range;
use crate::readers::{self, Reader as _};
use crate::symbols::answer::{Answer, Precision, Text};
use crate::symbols::error::SymbolsError;
use crate::symbols::format;
use crate::symbols::grammar::Grammar;
use crate::symbols::list::List;
use crate::symbols::record::Record;
use crate::symbols::rows::{self, Row};

/// A `.symbols` blob, borrowed: see [`format`](super::format). Parsing checks it once, checksum included; after that
/// every look-up is total, and ends after a bounded number of steps.
///
/// It can be used without a walk, for example for the names of a profiler's samples:
///
/// ```
/// use unwind::symbols::{Precision, SymbolTable};
///
/// let blob = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/symbols/faults.symbols"));
/// let table = SymbolTable::parse(blob, 0)?;
/// // An interrupted program counter; for a return address, pass the byte before it.
/// let answer = table.resolve(0x1003).expect("it is in a function");
/// let function = answer.frames().next_back().expect("a function of its own code");
/// assert_eq!(function.name.to_string(), "<kernel::task::Task as kernel::Run>::function_0");
/// assert_eq!((answer.start, answer.size), (0x1000, 0x72));
/// let (file, line) = function.place().expect("there is debug information");
/// assert_eq!((file.to_string().as_str(), line), ("alloc/src/vec/mod.rs", 10));
/// // This table knows inlined functions only at addresses that occur in traces of crashes.
/// assert_eq!(answer.precision, Precision::OuterOnly);
/// assert!(table.resolve(0xfff).is_none());
/// # Ok::<(), unwind::symbols::SymbolsError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SymbolTable<'a> {
    build_id: &'a [u8],
    /// Address of the blob.
    address: u64,
    level: u8,
    flags: u8,
    /// Bytes of code that one unit is, as a power of two.
    unit: u8,
    ranges: Bytes<'a>,
    chunks: Bytes<'a>,
    rows: &'a [u8],
    row_grammar: Grammar<'a>,
    records: List<'a>,
    files: List<'a>,
    text_grammar: Grammar<'a>,
    _reader: readers::Symbols,
}

/// Bytes of the ranges that are looked through.
const RANGES_SIZE: usize = format::RANGES_MAX.saturating_mul(format::RANGE_SIZE);

impl<'a> SymbolTable<'a> {
    /// Parses the blob in `bytes`, which lie at `address`. Bytes after its end are left alone.
    ///
    /// # Errors
    /// See [`SymbolsError`].
    pub fn parse(bytes: &'a [u8], address: u64) -> Result<Self, SymbolsError> {
        if bytes.is_empty() {
            return Err(SymbolsError::Empty);
        }
        let reader = readers::Symbols::THERE.ok_or(SymbolsError::LeftOut)?;
        if !bytes.starts_with(&format::MAGIC) {
            return Err(SymbolsError::BadMagic);
        }
        let whole = Bytes::new(bytes, ByteOrder::Little);
        let u32_at = |at: usize| whole.u32(at).ok_or(SymbolsError::DoesNotFit(at));
        let u8_at = |at: usize| whole.u8(at).ok_or(SymbolsError::DoesNotFit(at));
        let major = whole.u16(8).ok_or(SymbolsError::DoesNotFit(8))?;
        if major != format::MAJOR {
            return Err(SymbolsError::UnknownVersion(major));
        }
        let length = usize::try_from(u32_at(12)?).ok();
        let blob = length.and_then(|length| bytes.get(..length));
        let blob = blob.ok_or(SymbolsError::DoesNotFit(12))?;
        let stored = u32_at(16)?;
        let computed = crc32(blob.get(format::CRC_FROM..).unwrap_or(&[]));
        if stored != computed {
            return Err(SymbolsError::BadChecksum { stored, computed });
        }
        let part = |start: u32, length: u32| {
            let start = usize::try_from(start).ok()?;
            blob.get(start..start.checked_add(usize::try_from(length).ok()?)?)
        };
        let mut parts: [&[u8]; format::TAGS] = [&[]; format::TAGS];
        let mut at = format::HEADER_SIZE;
        for _ in 0..u32_at(20)? {
            let tag = u32_at(at)?;
            let part = part(u32_at(at.wrapping_add(4))?, u32_at(at.wrapping_add(8))?)
                .ok_or(SymbolsError::DoesNotFit(at))?;
            let index = tag.checked_sub(1).and_then(|tag| usize::try_from(tag).ok());
            if let Some(known) = index.and_then(|index| parts.get_mut(index)) {
                *known = part;
            }
            at = at
                .checked_add(format::ENTRY_SIZE)
                .ok_or(SymbolsError::DoesNotFit(at))?;
        }
        let level = u8_at(24)?;
        if level > format::LEVEL_MAX {
            return Err(SymbolsError::UnknownLevel(level));
        }
        let build_id_length = usize::from(u8_at(26)?).min(format::BUILD_ID_MAX);
        let build_id = bytes.get(28..28_usize.wrapping_add(build_id_length));
        let [
            ranges,
            chunks,
            rows,
            row_grammar,
            record_index,
            records,
            file_index,
            files,
            text_grammar,
        ] = parts;
        Ok(Self {
            build_id: build_id.ok_or(SymbolsError::DoesNotFit(26))?,
            address,
            level,
            flags: u8_at(27)?,
            unit: u8_at(25)?.min(3),
            ranges: Bytes::new(ranges, ByteOrder::Little),
            chunks: Bytes::new(chunks, ByteOrder::Little),
            rows,
            row_grammar: Grammar::new(row_grammar),
            records: List::new(record_index, records),
            files: List::new(file_index, files),
            text_grammar: Grammar::new(text_grammar),
            _reader: reader,
        })
    }

    /// The build id of the image the table was made for; empty when it has none.
    #[must_use]
    pub const fn build_id(&self) -> &'a [u8] {
        self.build_id
    }

    /// How much the table has to say: one of the levels of [`format`](super::format).
    #[must_use]
    pub const fn level(&self) -> u8 {
        self.level
    }

    /// Whether names have their generic arguments.
    #[must_use]
    pub const fn has_full_names(&self) -> bool {
        self.flags & format::FLAG_FULL_NAMES != 0
    }

    /// What the code at the address `pc` belongs to; `None` if there is no code, or its name is not known. Pass
    /// [`Frame::lookup_pc`](crate::Frame::lookup_pc): of a return address, the byte before it.
    #[must_use]
    pub fn resolve(&self, pc: u64) -> Option<Answer<'_, 'a>> {
        let mut answer = Answer::empty(self);
        self.resolve_into(pc, &mut answer)?;
        Some(answer)
    }

    /// The addresses of the function with code at the address `pc`, from its first instruction on: what a
    /// [`CodeReader`](crate::CodeReader) asks for. `None` if they are not known, or it is no function that is called but a piece of one,
    /// `name.cold`, to which the other jumps.
    #[must_use]
    #[inline(never)]
    pub fn function_range(&self, pc: u64) -> Option<Range> {
        let mut answer = Answer::empty(self);
        self.resolve_into(pc, &mut answer)?;
        let name = answer.frames().next_back()?.name;
        let end = answer.start.checked_add(answer.size)?;
        (!name.is_cold()).then_some(Range::new(answer.start, end))
    }

    /// The name of the function that the code at the address `pc` is part of.
    #[inline(never)]
    pub(crate) fn function(&self, pc: u64) -> Option<Text<'a>> {
        let mut answer = Answer::empty(self);
        self.resolve_into(pc, &mut answer)?;
        answer.frames().next_back().map(|frame| frame.name)
    }

    /// As [`Self::resolve`], but writes the answer to `answer`.
    #[inline(never)]
    pub(crate) fn resolve_into(&self, pc: u64, answer: &mut Answer<'_, 'a>) -> Option<()> {
        let unit = u32::from(self.unit);
        // Rows of the ranges follow each other, so a chunk ends where the next one starts, whatever its range.
        let mut index = 0_usize;
        let (base, target, first, end) = loop {
            if index >= RANGES_SIZE {
                return None;
            }
            let base = self.address.wrapping_add(self.ranges.u64(index)?);
            let length = self.ranges.u32(index.checked_add(8)?)?;
            let first = self.ranges.u32(index.checked_add(12)?)?;
            index = index.checked_add(format::RANGE_SIZE)?;
            let offset = pc.wrapping_sub(base).wrapping_shr(unit);
            match u32::try_from(offset) {
                Ok(offset) if offset < length => {
                    let end = self.ranges.u32(index.wrapping_add(12));
                    break (base, offset, first, end);
                }
                _ => {}
            }
        };
        let (chunk, codes) = self.chunk(target, first, end)?;
        let mut ops = self.row_grammar.expand(codes, format::LOOKUP_STEPS);
        let mut edges = [0; format::MAX_EDGES];
        let place = rows::find(&mut ops, chunk, target, &mut edges)?;
        let bytes = |units: u32| u64::from(units).wrapping_shl(unit);
        answer.begin(
            base.wrapping_add(bytes(place.start)),
            bytes(place.size),
            place.record,
        );
        if place.row != Row::None {
            let edges = edges.get(..place.edge_count)?;
            answer.follow(edges, place.line, ops.steps)?;
        }
        // The row of a call also gives the outermost line for the code before the call.
        let promise = format::promise(self.level);
        let promised = match place.row {
            Row::None => return Some(()),
            Row::Outer => Precision::OuterOnly,
            Row::Full { last: true } => promise.calls,
            Row::Full { last: false } => promise.faults,
        };
        match promised {
            Precision::Exact => answer.precision = Precision::Exact,
            Precision::OuterOnly => answer.keep_outermost(),
            Precision::NameOnly => answer.keep_name(),
        }
        Some(())
    }

    /// The last chunk that starts at or before `target`, of those from `first` to `end`: its start and its codes.
    fn chunk(&self, target: u32, first: u32, end: Option<u32>) -> Option<(u32, &'a [u8])> {
        let count = self.chunks.data.len() / 8;
        let start = |index: usize| self.chunks.u32(index.checked_mul(4)?);
        let offset = |index: usize| {
            let at = self.chunks.u32(index.checked_add(count)?.checked_mul(4)?)?;
            usize::try_from(at).ok()
        };
        let first = usize::try_from(first).ok()?;
        let mut low = first;
        let mut high = end
            .map_or(Some(count), |end| usize::try_from(end).ok())?
            .min(count);
        while low < high {
            let middle = usize::midpoint(low, high);
            if start(middle)? <= target {
                low = middle.wrapping_add(1);
            } else {
                high = middle;
            }
        }
        let index = low.checked_sub(1).filter(|index| *index >= first)?;
        let from = offset(index)?;
        let next = index.wrapping_add(1);
        let to = if next < count {
            offset(next)?
        } else {
            self.rows.len()
        };
        let codes = self.rows.get(from..to)?;
        let codes = codes.get(..format::CHUNK_MAX).unwrap_or(codes);
        Some((start(index)?, codes))
    }

    pub(super) fn record(&self, id: u32) -> Option<Record<'a>> {
        Record::parse(self.records.get(id)?)
    }

    /// The path of a file by its number plus 1, compressed.
    pub(super) fn file(&self, number: u32) -> Option<&'a [u8]> {
        self.files.get(number.checked_sub(1)?)
    }

    pub(super) const fn text(&self, codes: &'a [u8]) -> Text<'a> {
        Text::new(self.text_grammar, codes)
    }
}
