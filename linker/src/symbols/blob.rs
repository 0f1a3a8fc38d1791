//! Encodes a `.symbols` blob, in the format of [`unwind::symbols::format`].

use rustc_hash::FxHashMap;
use unwind::symbols::format;

use super::chunks::{self, Chunks, Header, Row, Writer};
use super::code::{Code, Piece};
use super::lines::Frame;
use super::parts::{record_parts, row_parts};
use super::records::{Path, Records, own_key};
use super::rows::{RowKind, Rows, rows};
use super::{Level, Names};
use crate::parallel::{both, in_parts};

/// A blob before its address and build id are known. Its size depends on neither, so that the linker can place it first.
#[derive(Debug)]
pub struct Blob {
    level: Level,
    names: Names,
    unit: u8,
    ranges: Vec<Range>,
    /// Tags and bytes of all parts but the ranges.
    parts: Vec<(u32, Vec<u8>)>,
    function_count: usize,
    row_count: usize,
}

/// Code that is addressed from one base.
#[derive(Clone, Copy, Debug)]
struct Range {
    base: u64,
    /// Units.
    length: u32,
    first_chunk: u32,
}

/// A gap in the code of more than this, in bytes, starts a new range.
const MAX_GAP: u64 = 1 << 24;

impl Blob {
    /// Encodes an image's code at a level, or at the next lower one for which there is enough debug information.
    #[must_use]
    pub fn new(code: &Code, level: Level) -> Self {
        let level = attainable(code, level);
        let mut pieces: Vec<&Piece> = code.pieces.iter().collect();
        let rows: Vec<Vec<Rows>> = in_parts(
            &mut pieces,
            |piece| piece.end - piece.start,
            |pieces| {
                pieces
                    .iter()
                    .map(|piece| rows(code, piece, level))
                    .collect()
            },
        );
        let rows: Vec<Rows> = rows.into_iter().flatten().collect();
        let mut records = Records::new(code);
        let own = own_records(code, &rows, &mut records);
        let paths = Paths::new(code, &rows, &own, &mut records);
        records.number(own.iter().copied());

        let unit = unit(code);
        let mut ranges: Vec<Range> = Vec::new();
        let mut writer = Writer::new(&records, level.chunk_size());
        let mut end = 0_u64;
        for (piece, piece_rows) in code.pieces.iter().zip(&rows) {
            let function = &code.functions[piece.function];
            if ranges.is_empty() || piece.start.saturating_sub(end) > MAX_GAP {
                let first_chunk = writer.chunk_count() as u32;
                ranges.push(Range {
                    base: function.start,
                    length: 0,
                    first_chunk,
                });
                writer.start_chunk(0);
            }
            let range = ranges.last_mut().expect("one was added");
            let units = |address: u64| {
                u32::try_from((address - range.base) >> unit).expect("code without gaps is smaller")
            };
            end = end.max(function.start.saturating_add(function.size));
            let header = Header {
                function: units(function.start),
                size: u32::try_from(function.size >> unit).expect("a function is smaller"),
                record: records.numbers[own[piece.function]],
                start: units(piece.start),
            };
            let piece_rows: Vec<Row<'_>> = piece_rows
                .iter()
                .map(|(end, what)| Row {
                    end: units(*end),
                    what: paths.what(own[piece.function], *what),
                })
                .collect();
            writer.piece(header, &piece_rows);
            range.length = units(end);
        }
        let Chunks { starts, rows: text } = writer.finish();
        let (rows_parts, record_parts) = both(
            || row_parts(&starts, &text),
            || record_parts(code, &records),
        );
        Self {
            level,
            names: code.style,
            unit,
            ranges,
            parts: rows_parts.into_iter().chain(record_parts).collect(),
            function_count: code.functions.len(),
            row_count: rows.iter().map(Vec::len).sum(),
        }
    }

    /// The level that was attained.
    #[must_use]
    pub const fn level(&self) -> Level {
        self.level
    }

    /// Functions in the blob.
    #[must_use]
    pub const fn function_count(&self) -> usize {
        self.function_count
    }

    /// Rows in the blob.
    #[must_use]
    pub const fn row_count(&self) -> usize {
        self.row_count
    }

    /// Size of the blob, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        format::HEADER_SIZE
            + (self.parts.len() + 1) * format::ENTRY_SIZE
            + self.ranges.len() * format::RANGE_SIZE
            + self.parts.iter().map(|(_, part)| part.len()).sum::<usize>()
    }

    /// The blob's parts: tag and size in bytes.
    pub fn parts(&self) -> impl Iterator<Item = (u32, usize)> {
        self.parts.iter().map(|(tag, part)| (*tag, part.len()))
    }

    /// The bytes of the blob at an address. A build id that is too long is truncated.
    #[must_use]
    pub fn to_bytes(&self, address: u64, build_id: &[u8]) -> Vec<u8> {
        let build_id = &build_id[..build_id.len().min(format::BUILD_ID_MAX)];
        let mut ranges = Vec::with_capacity(self.ranges.len() * format::RANGE_SIZE);
        for range in &self.ranges {
            ranges.extend(range.base.wrapping_sub(address).to_le_bytes());
            ranges.extend(range.length.to_le_bytes());
            ranges.extend(range.first_chunk.to_le_bytes());
        }
        let parts = || {
            std::iter::once((format::TAG_RANGES, &ranges))
                .chain(self.parts.iter().map(|(tag, part)| (*tag, part)))
        };
        let size = self.size();
        let number = |value: usize| u32::try_from(value).expect("a blob of less than 4 GiB");
        let mut checked = Vec::with_capacity(size);
        checked.extend(number(parts().count()).to_le_bytes());
        let flags = match self.names {
            Names::Short => 0,
            Names::Full => format::FLAG_FULL_NAMES,
        };
        // The build id has at most 20 bytes.
        checked.extend([self.level.number(), self.unit, build_id.len() as u8, flags]);
        checked.extend_from_slice(build_id);
        checked.resize(format::HEADER_SIZE - format::CRC_FROM, 0);
        let mut offset = format::HEADER_SIZE + parts().count() * format::ENTRY_SIZE;
        for (tag, part) in parts() {
            for field in [tag, number(offset), number(part.len())] {
                checked.extend(field.to_le_bytes());
            }
            offset += part.len();
        }
        for (_, part) in parts() {
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

/// The highest level, up to the given one, for which the needed information is there.
fn attainable(code: &Code, level: Level) -> Level {
    match level {
        Level::Names => Level::Names,
        _ if !code.has_lines => Level::Names,
        level if level.wants_instructions() && !code.knows_instructions => Level::All,
        level => level,
    }
}

/// The greatest power of two, as its exponent, that all addresses are multiples of; at most 4.
pub(super) fn unit(code: &Code) -> u8 {
    let mut bits = 0;
    for function in &code.functions {
        bits |= function.start | function.size;
    }
    for piece in &code.pieces {
        // With instructions of any length this ends soon.
        if bits & 1 != 0 {
            break;
        }
        bits |= piece.start | piece.end;
        for instruction in &piece.instructions {
            bits |= instruction.start | u64::from(instruction.length);
        }
    }
    bits.trailing_zeros().min(2) as u8
}

/// The record of each function.
fn own_records(code: &Code, rows: &[Rows], records: &mut Records) -> Vec<usize> {
    let mut pieces: Vec<Vec<&Rows>> = vec![Vec::new(); code.functions.len()];
    for (piece, rows) in code.pieces.iter().zip(rows) {
        pieces[piece.function].push(rows);
    }
    let functions = code.functions.iter().zip(&pieces);
    functions
        .map(|(function, rows)| records.index(own_key(code, function.name, rows)))
        .collect()
}

/// The path of each stack in each function, as rows use them.
struct Paths {
    full: FxHashMap<(usize, u32), Path>,
    outer: FxHashMap<(usize, Frame), Path>,
}

impl Paths {
    /// Also counts the edges that rows push, by which records number them.
    fn new(code: &Code, rows: &[Rows], own: &[usize], records: &mut Records) -> Self {
        let mut paths = Self {
            full: FxHashMap::default(),
            outer: FxHashMap::default(),
        };
        for (piece, rows) in code.pieces.iter().zip(rows) {
            let own = own[piece.function];
            let mut before: Path = Path::default();
            for (_, what) in rows {
                match what {
                    RowKind::Full(stack) => {
                        let path = paths
                            .full
                            .entry((own, *stack))
                            .or_insert_with(|| records.path(own, &code.stacks[*stack as usize]));
                        records.count(path, chunks::kept(&before.edges, &path.edges));
                        before.clone_from(path);
                    }
                    RowKind::Outer(frame) => {
                        let path = paths
                            .outer
                            .entry((own, *frame))
                            .or_insert_with(|| records.path(own, &[*frame]));
                        records.count(path, 0);
                    }
                    RowKind::Unknown => {}
                }
            }
        }
        paths
    }

    fn what(&self, own: usize, what: RowKind) -> chunks::RowKind<'_> {
        match what {
            RowKind::Full(stack) => chunks::RowKind::Full(&self.full[&(own, stack)]),
            RowKind::Outer(frame) => chunks::RowKind::Outer(&self.outer[&(own, frame)]),
            RowKind::Unknown => chunks::RowKind::Unknown,
        }
    }
}
