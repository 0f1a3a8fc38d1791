//! The constants of the `.symbols` format, for the reader in this crate and for the writer in `linker`.
//!
//! What they mean, byte by byte, is written in `FORMAT.md` beside this file:
#![doc = include_str!("FORMAT.md")]

use crate::symbols::Precision;

/// First eight bytes of a blob.
pub const MAGIC: [u8; 8] = *b"symbols\0";
/// Version of what is written down in `FORMAT.md`; a reader refuses another one.
pub const MAJOR: u16 = 2;
/// Grows when parts are added that an older reader may skip.
pub const MINOR: u16 = 0;

/// Bytes of the header, before the directory.
pub const HEADER_SIZE: usize = 48;
/// Bytes of one directory entry: tag, offset, length, each `u32`.
pub const ENTRY_SIZE: usize = 12;
/// The CRC is taken from this offset on.
pub const CRC_FROM: usize = 20;
/// Most bytes of a build id.
pub const BUILD_ID_MAX: usize = 20;

/// Flag: names have their generic arguments.
pub const FLAG_FULL_NAMES: u8 = 1;

/// Part: the ranges of code, each [`RANGE_SIZE`] bytes.
pub const TAG_RANGES: u32 = 1;
/// Bytes of an entry of [`TAG_RANGES`].
pub const RANGE_SIZE: usize = 16;
/// Part: where each chunk's code starts, `u32` each.
pub const TAG_CHUNKS: u32 = 2;
/// Part: where every [`STRIDE`]th chunk's rows start in [`TAG_ROWS`], `u32` each.
pub const TAG_ROW_INDEX: u32 = 3;
/// Part: rows, an entry for each chunk, compressed by [`TAG_ROW_PHRASES`].
pub const TAG_ROWS: u32 = 4;
/// Part: phrases of rows.
pub const TAG_ROW_PHRASES: u32 = 5;
/// Part: where every [`STRIDE`]th record of [`TAG_RECORDS`] starts, `u32` each.
pub const TAG_RECORD_INDEX: u32 = 6;
/// Part: functions of the source.
pub const TAG_RECORDS: u32 = 7;
/// Part: where every [`STRIDE`]th path of [`TAG_FILES`] starts, `u32` each.
pub const TAG_FILE_INDEX: u32 = 8;
/// Part: paths of source files.
pub const TAG_FILES: u32 = 9;
/// Part: the grammar of names and paths.
pub const TAG_TEXT_GRAMMAR: u32 = 10;
/// How many tags there are, from 1.
pub const TAGS: usize = 10;

/// Chunks, records, and paths, for one entry of their index.
pub const STRIDE: u32 = 8;

/// Level: names only.
pub const LEVEL_NAMES: u8 = 0;
/// Level: the line of the outermost frame, anywhere.
pub const LEVEL_LINES: u8 = 1;
/// Level: all frames at call sites, the name elsewhere.
pub const LEVEL_CALL_SITES: u8 = 2;
/// Level: all frames at call sites, the line of the outermost frame elsewhere.
pub const LEVEL_CALLS: u8 = 3;
/// Level: all frames anywhere.
pub const LEVEL_ALL: u8 = 4;
/// Level: all frames at call sites and at instructions that can fault, the line of the outermost frame elsewhere.
pub const LEVEL_FAULTS: u8 = 5;
/// The greatest level that there is; a reader refuses others.
pub const LEVEL_MAX: u8 = LEVEL_FAULTS;

/// What a level promises: how much an answer tells, depending on what is at the address. Where more functions are inlined than
/// a row can hold ([`MAX_EDGES`]), it is what the level promises elsewhere, and at most the outermost frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// At the last byte of a call, where a return address is looked up.
    pub calls: Precision,
    /// At the first byte of an instruction that can fault.
    pub faults: Precision,
    /// At all other addresses.
    pub elsewhere: Precision,
}

/// What a level promises. The reader, the writer, and the comparison of both with debug information all use this.
#[must_use]
pub const fn promise(level: u8) -> Promise {
    use Precision::{Exact, NameOnly, OuterOnly};
    let (calls, faults, elsewhere) = match level {
        LEVEL_NAMES => (NameOnly, NameOnly, NameOnly),
        LEVEL_LINES => (OuterOnly, OuterOnly, OuterOnly),
        LEVEL_CALL_SITES => (Exact, NameOnly, NameOnly),
        LEVEL_CALLS => (Exact, OuterOnly, OuterOnly),
        LEVEL_FAULTS => (Exact, Exact, OuterOnly),
        // `LEVEL_ALL`. A reader refuses all others.
        _ => (Exact, Exact, Exact),
    };
    Promise {
        calls,
        faults,
        elsewhere,
    }
}

/// Symbols below this are bytes, the others rules.
pub const FIRST_RULE: u16 = 256;
/// The greatest nesting of rules: a reader needs a stack of so many symbols.
pub const MAX_RULE_DEPTH: usize = 16;

/// Bytes before the list of phrases: two counts.
pub const PHRASES_HEADER: usize = 4;
/// Bytes of an entry of the list of phrases.
pub const PHRASE_SIZE: usize = 3;
/// An entry's bits from this one on are the phrase's length minus 1, those below it its start.
pub const LENGTH_SHIFT: u32 = 18;
/// Most bytes of a phrase.
pub const PHRASE_MAX: usize = 1 << (24 - LENGTH_SHIFT);
/// Most bytes of the text of phrases.
pub const PHRASES_TEXT_MAX: usize = 1 << LENGTH_SHIFT;

/// Row operations below this: `pops * 42 + pushes * 7 + length - 1`, with 5 pops, 5 pushes and the length 7 meaning that
/// a number follows.
pub const ROW_OPS: u8 = 252;
/// A function starts.
pub const OP_FUNCTION: u8 = 252;
/// A function goes on, after another one inside of it or in a new chunk.
pub const OP_CONTINUED: u8 = 253;
/// A row of which only the outermost line is known.
pub const OP_OUTER: u8 = 254;
/// The same, in another file than the function's own.
pub const OP_OUTER_ELSEWHERE: u8 = 255;

/// A count of pops or pushes below this is in the operation itself.
pub const SMALL_COUNT: u8 = 5;
/// Lengths below this are in the operation itself.
pub const SMALL_LENGTH: u8 = 7;

/// Code of an edge's line: the callee replaces the caller. It is the same function, in another file.
pub const LINE_REPLACES: u32 = 0;
/// Code of an edge's line: unknown. Above it: lines from the function's first.
pub const LINE_UNKNOWN: u32 = 1;

/// Most edges from a function to what is inlined at one place.
pub const MAX_EDGES: usize = 47;
/// Most edges that one look-up may skip. A writer keeps below it.
pub const LOOKUP_STEPS: u32 = 1 << 14;
/// Most rules of the grammar that one name or path may take. A writer keeps below it.
pub const TEXT_STEPS: u32 = 1 << 14;
/// The byte in a name after which there are other names.
pub const OTHER_NAMES: u8 = 1;
/// Most bytes of a name or path. A reader ends there.
pub const TEXT_MAX: usize = 1 << 12;
/// Most edges of a record whose name a reader finds.
pub const EDGES_MAX: u32 = 1 << 16;
/// Most compressed bytes of a chunk that a reader reads. A writer keeps far below it.
pub const CHUNK_MAX: usize = 1 << 11;
/// Most ranges of code that a reader looks through.
pub const RANGES_MAX: usize = 1 << 10;
