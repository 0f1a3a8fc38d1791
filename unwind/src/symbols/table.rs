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

/// A symbol table, borrowed from its bytes: the `.symbols` section of an image, between the linker symbols `__symbols_start` and
/// `__symbols_end`.
///
/// Parsing checks the table once, with its checksum. After that, every look-up accepts any bytes and takes a bounded number of steps.
///
/// A symbol table can be used without a walk, for example for the names of a profiler's samples:
///
/// ```
/// use unwind::symbols::{Precision, SymbolTable};
///
/// let blob = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/symbols/faults.symbols"));
/// let table = SymbolTable::parse(blob, 0)?;
/// // An interrupted program counter; for a return address, pass the byte before it.
/// let answer = table.resolve(0x1003).expect("0x1003 is in a function");
/// let function = answer.frames().next_back().expect("the function that has code of its own");
/// assert_eq!(function.name.to_string(), "<kernel::task::Task as kernel::Run>::function_0");
/// assert_eq!((answer.start, answer.size), (0x1000, 0x72));
/// let (file, line) = function.place().expect("there is debug information");
/// assert_eq!((file.to_string().as_str(), line), ("alloc/src/vec/mod.rs", 10));
/// // This table contains inlined functions only for calls and for instructions that can fault.
/// assert_eq!(answer.precision, Precision::OuterOnly);
/// assert!(table.resolve(0xfff).is_none());
/// # Ok::<(), unwind::symbols::SymbolsError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SymbolTable<'a> {
    blob: &'a [u8],
    build_id: &'a [u8],
    /// The address of the blob.
    address: u64,
    /// The start and the length of each part, by its tag minus 1.
    parts: [(u32, u32); format::TAGS],
    level: u8,
    flags: u8,
    /// The size of a unit of code in bytes, as a power of two.
    unit: u8,
    _reader: readers::Symbols,
}

/// The function that contains an address, in bytes, and the result of its rows.
struct Found {
    start: u64,
    size: u64,
    place: Place,
}

impl<'a> SymbolTable<'a> {
    /// Parses the symbol table at the beginning of `bytes`, whose first byte is at `address`. Bytes after its end are ignored.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a symbol table of this version, or if they are damaged: see [`SymbolsError`].
    ///
    /// ```
    /// use unwind::symbols::{SymbolTable, SymbolsError};
    ///
    /// // An image that was linked without symbols.
    /// let error = SymbolTable::parse(&[], 0x9000).expect_err("no symbols");
    /// assert_eq!(error, SymbolsError::Empty);
    /// ```
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

    /// Returns the part with this tag.
    #[inline]
    fn part(&self, tag: u32) -> &'a [u8] {
        let index = usize::try_from(tag.wrapping_sub(1)).ok();
        let part = index.and_then(|index| self.parts.get(index));
        part.and_then(|part| slice(self.blob, *part)).unwrap_or(&[])
    }

    /// Returns the build id of the image for which the table was made; empty if the image has none.
    #[must_use]
    pub const fn build_id(&self) -> &'a [u8] {
        self.build_id
    }

    /// Returns the level of detail: one of the levels in [`format`](super::format).
    #[must_use]
    pub const fn level(&self) -> u8 {
        self.level
    }

    /// Checks whether names contain their generic arguments.
    #[must_use]
    pub const fn has_full_names(&self) -> bool {
        self.flags & format::FLAG_FULL_NAMES != 0
    }

    /// Finds the function with code at the address `pc`, with its name, file and line, and the functions that are inlined there. `None` if no
    /// function contains `pc`, or if its name is not known.
    ///
    /// For a frame, pass [`Frame::lookup_pc`](crate::Frame::lookup_pc): for a return address, this is the byte before it.
    ///
    /// ```
    /// use unwind::symbols::{Precision, SymbolTable};
    ///
    /// let blob = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/symbols/all.symbols"));
    /// let table = SymbolTable::parse(blob, 0)?;
    /// let answer = table.resolve(0x1074).expect("0x1074 is in a function");
    /// assert_eq!(answer.precision, Precision::Exact);
    /// // Three functions are inlined at this address. The innermost is the first.
    /// let places: Vec<String> = answer
    ///     .frames()
    ///     .filter_map(|frame| frame.place())
    ///     .map(|(file, line)| format!("{file}:{line}"))
    ///     .collect();
    /// let expected = ["kernel/src/main.rs:1180", "kernel/src/task/mod.rs:1090", "core/src/fmt/mod.rs:1180", "kernel/src/task/mod.rs:110"];
    /// assert_eq!(places, expected);
    /// # Ok::<(), unwind::symbols::SymbolsError>(())
    /// ```
    #[must_use]
    pub fn resolve(&self, pc: u64) -> Option<Answer<'_, 'a>> {
        let mut answer = Answer::empty(self);
        self.resolve_into(pc, &mut answer)?;
        Some(answer)
    }

    /// Returns the addresses of the function with code at the address `pc`, for [`CodeReader`](crate::CodeReader).
    ///
    /// `None` if no function contains `pc`, or if the code is a piece of a function that is reached by a jump (`name.cold`).
    ///
    /// ```
    /// use unwind::{CodeReader, Range, sframe::Tables, symbols::SymbolTable, x86_64::Registers};
    ///
    /// let blob = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/symbols/faults.symbols"));
    /// let table = SymbolTable::parse(blob, 0)?;
    /// let function_at = |pc| table.function_range(pc);
    /// assert_eq!(function_at(0x1158), Some(Range::new(0x1158, 0x118b)));
    /// let source = CodeReader::<Registers, _>::new(Tables::none(), &function_at);
    /// # Ok::<(), unwind::symbols::SymbolsError>(())
    /// ```
    #[must_use]
    #[inline(never)]
    pub fn function_range(&self, pc: u64) -> Option<Range> {
        let (found, name) = self.own(pc)?;
        let end = found.start.checked_add(found.size)?;
        (!name.is_cold()).then_some(Range::new(found.start, end))
    }

    /// Returns the name of the function with code at the address `pc`.
    pub(crate) fn function(&self, pc: u64) -> Option<Text<'a>> {
        self.own(pc).map(|(_, name)| name)
    }

    /// Returns the function with code at the address `pc`, and its name.
    #[inline(never)]
    fn own(&self, pc: u64) -> Option<(Found, Text<'a>)> {
        let found = self.find(pc, &mut [0; format::MAX_EDGES])?;
        let record = Record::get(&self.records(), found.place.record)?;
        let name = record.name(&mut { format::EDGES_MAX })?;
        Some((found, self.text(name)))
    }

    /// Does what [`Self::resolve`] does, but writes the answer to `answer`.
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

    /// Returns the result of the rows for the address `pc`. Writes the numbers of its edges to `edges`.
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

    /// Returns the start and the codes of the last chunk from `first` to `end` that starts at or before `target`.
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

    /// Returns the list in the part `entries`, with the index in the part `index`.
    fn list(&self, index: u32, entries: u32) -> List<'a> {
        List::new(self.part(index), self.part(entries))
    }

    pub(super) fn records(&self) -> List<'a> {
        self.list(format::TAG_RECORD_INDEX, format::TAG_RECORDS)
    }

    /// Returns the path of a file by its number plus 1, compressed.
    pub(super) fn file(&self, number: u32) -> Option<&'a [u8]> {
        let files = self.list(format::TAG_FILE_INDEX, format::TAG_FILES);
        files.get(number.checked_sub(1)?)
    }

    pub(super) fn text(&self, codes: &'a [u8]) -> Text<'a> {
        Text::new(self.part(format::TAG_TEXT_GRAMMAR), codes)
    }
}

/// Decodes the entry of a range: its start relative to the table's address, its length in units, and its first chunk.
fn range_of(entry: &[u8; format::RANGE_SIZE]) -> (u64, u32, u32) {
    let [start @ .., a, b, c, d, e, f, g, h] = *entry;
    let (length, first) = ([a, b, c, d], [e, f, g, h]);
    (
        u64::from_le_bytes(start),
        u32::from_le_bytes(length),
        u32::from_le_bytes(first),
    )
}

/// Returns `length` bytes from `start` on.
fn slice(blob: &[u8], (start, length): (u32, u32)) -> Option<&[u8]> {
    let rest = blob.get(usize::try_from(start).ok()?..)?;
    rest.get(..usize::try_from(length).ok()?)
}
