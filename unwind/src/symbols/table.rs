//! The symbol table, read in place.

use crate::bytes::{ByteOrder, Bytes};
use crate::crc32::crc32;
use crate::memory::Range;
use crate::readers::{self, Reader as _};
use crate::symbols::answer::{Answer, Precision, Text};
use crate::symbols::error::SymbolsError;
use crate::symbols::format;
use crate::symbols::list::List;
use crate::symbols::phrases::Phrases;
use crate::symbols::record::Record;
use crate::symbols::rows::{self, Place, Row};

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
    blob: &'a [u8],
    build_id: &'a [u8],
    /// Address of the blob.
    address: u64,
    /// Of each part by its tag minus 1: where it starts, and its length.
    parts: [(u32, u32); format::TAGS],
    level: u8,
    flags: u8,
    /// Bytes of code that one unit is, as a power of two.
    unit: u8,
    _reader: readers::Symbols,
}

/// The function that an address belongs to, in bytes, and what the rows say of it.
struct Found {
    start: u64,
    size: u64,
    place: Place,
}

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
        let level = u8_at(24)?;
        let length = usize::from(u8_at(26)?).min(format::BUILD_ID_MAX);
        let build_id = bytes.get(28..28_usize.wrapping_add(length));
        let mut table = Self {
            blob,
            build_id: build_id.ok_or(SymbolsError::DoesNotFit(26))?,
            address,
            parts: [(0, 0); format::TAGS],
            level,
            flags: u8_at(27)?,
            unit: u8_at(25)?.min(3),
            _reader: reader,
        };
        let mut at = format::HEADER_SIZE;
        for _ in 0..u32_at(20)? {
            let tag = u32_at(at)?;
            let part = (u32_at(at.wrapping_add(4))?, u32_at(at.wrapping_add(8))?);
            if slice(blob, part).is_none() {
                return Err(SymbolsError::DoesNotFit(at));
            }
            let index = tag.checked_sub(1).and_then(|tag| usize::try_from(tag).ok());
            if let Some(known) = index.and_then(|index| table.parts.get_mut(index)) {
                *known = part;
            }
            at = at
                .checked_add(format::ENTRY_SIZE)
                .ok_or(SymbolsError::DoesNotFit(at))?;
        }
        if level > format::LEVEL_MAX {
            return Err(SymbolsError::UnknownLevel(level));
        }
        Ok(table)
    }

    /// The part with this tag.
    #[inline]
    fn part(&self, tag: u32) -> &'a [u8] {
        let index = usize::try_from(tag.wrapping_sub(1)).ok();
        let part = index.and_then(|index| self.parts.get(index));
        part.and_then(|part| slice(self.blob, *part)).unwrap_or(&[])
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
        let (found, name) = self.own(pc)?;
        let end = found.start.checked_add(found.size)?;
        (!name.is_cold()).then_some(Range::new(found.start, end))
    }

    /// The name of the function that the code at the address `pc` is part of.
    pub(crate) fn function(&self, pc: u64) -> Option<Text<'a>> {
        self.own(pc).map(|(_, name)| name)
    }

    /// The function that the code at the address `pc` is part of, and its name.
    #[inline(never)]
    fn own(&self, pc: u64) -> Option<(Found, Text<'a>)> {
        let found = self.find(pc, &mut [0; format::MAX_EDGES])?;
        let record = Record::get(&self.records(), found.place.record)?;
        let name = record.name(&mut { format::EDGES_MAX })?;
        Some((found, self.text(name)))
    }

    /// As [`Self::resolve`], but writes the answer to `answer`.
    pub(crate) fn resolve_into(&self, pc: u64, answer: &mut Answer<'_, 'a>) -> Option<()> {
        let Found { start, size, place } = self.find(pc, answer.edges_mut())?;
        answer.start = start;
        answer.size = size;
        // The row of a call also gives the outermost line for the code before the call.
        let promise = format::promise(self.level);
        let promised = match place.row {
            Row::None => Precision::NameOnly,
            Row::Outer => Precision::OuterOnly,
            Row::Full { last: true } => promise.calls,
            Row::Full { last: false } => promise.faults,
        };
        answer.fill(&place, promised)
    }

    /// What the rows say of the address `pc`; leaves the numbers of its edges in `edges`.
    #[inline(never)]
    fn find(&self, pc: u64, edges: &mut [u32; format::MAX_EDGES]) -> Option<Found> {
        let unit = u32::from(self.unit);
        // Rows of the ranges follow each other, so a chunk ends where the next one starts, whatever its range.
        let (ranges, _) = self.part(format::TAG_RANGES).as_chunks();
        let (mut rest, mut left) = (ranges, format::RANGES_MAX);
        let (base, target, first, end) = loop {
            left = left.checked_sub(1)?;
            let (range, behind) = rest.split_first()?;
            rest = behind;
            let (start, length, first) = range_of(range);
            let base = self.address.wrapping_add(start);
            let offset = pc.wrapping_sub(base).wrapping_shr(unit);
            match u32::try_from(offset) {
                Ok(offset) if offset < length => {
                    let next = behind.first();
                    break (base, offset, first, next.map(|next| range_of(next).2));
                }
                _ => {}
            }
        };
        let (chunk, codes) = self.chunk(target, first, end)?;
        let mut ops = Phrases::new(self.part(format::TAG_ROW_PHRASES)).expand(codes);
        let place = rows::find(&mut ops, chunk, target, edges)?;
        let bytes = |units: u32| u64::from(units).wrapping_shl(unit);
        Some(Found {
            start: base.wrapping_add(bytes(place.start)),
            size: bytes(place.size),
            place,
        })
    }

    /// The last chunk that starts at or before `target`, of those from `first` to `end`: its start and its codes.
    fn chunk(&self, target: u32, first: u32, end: Option<u32>) -> Option<(u32, &'a [u8])> {
        let (starts, _) = self.part(format::TAG_CHUNKS).as_chunks();
        let start = |number: u32| Some(u32::from_le_bytes(*starts.get(number as usize)?));
        let count = starts.len() as u32;
        let mut low = first;
        let mut high = end.unwrap_or(count).min(count);
        while low < high {
            let middle = u32::midpoint(low, high);
            if start(middle)? <= target {
                low = middle.wrapping_add(1);
            } else {
                high = middle;
            }
        }
        let number = low.checked_sub(1).filter(|number| *number >= first)?;
        let rows = self.list(format::TAG_ROW_INDEX, format::TAG_ROWS);
        let codes = rows.get(number)?;
        let codes = codes.get(..format::CHUNK_MAX).unwrap_or(codes);
        Some((start(number)?, codes))
    }

    /// The list in the part `entries`, with the index in the part `index`.
    fn list(&self, index: u32, entries: u32) -> List<'a> {
        List::new(self.part(index), self.part(entries))
    }

    pub(super) fn records(&self) -> List<'a> {
        self.list(format::TAG_RECORD_INDEX, format::TAG_RECORDS)
    }

    /// The path of a file by its number plus 1, compressed.
    pub(super) fn file(&self, number: u32) -> Option<&'a [u8]> {
        let files = self.list(format::TAG_FILE_INDEX, format::TAG_FILES);
        files.get(number.checked_sub(1)?)
    }

    pub(super) fn text(&self, codes: &'a [u8]) -> Text<'a> {
        Text::new(self.part(format::TAG_TEXT_GRAMMAR), codes)
    }
}

/// What an entry says of a range: where it starts, from the table's address on, how many units it has, and its first chunk.
fn range_of(entry: &[u8; format::RANGE_SIZE]) -> (u64, u32, u32) {
    let [start @ .., a, b, c, d, e, f, g, h] = *entry;
    let (length, first) = ([a, b, c, d], [e, f, g, h]);
    (
        u64::from_le_bytes(start),
        u32::from_le_bytes(length),
        u32::from_le_bytes(first),
    )
}

/// The bytes from a start, so many of them.
fn slice(blob: &[u8], (start, length): (u32, u32)) -> Option<&[u8]> {
    let rest = blob.get(usize::try_from(start).ok()?..)?;
    rest.get(..usize::try_from(length).ok()?)
}
