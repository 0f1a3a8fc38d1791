//! The format of `.symbols`, and its constants, for the reader in this crate and for the writer. Sizes are in bytes.
#![doc = include_str!("FORMAT.md")]

use crate::symbols::Precision;

/// The first eight bytes of a blob.
pub const MAGIC: [u8; 8] = *b"symbols\0";
/// The major version of the format. A reader rejects every other major version.
pub const MAJOR: u16 = 2;
/// The minor version of the format. It grows if parts are added that an older reader may skip.
pub const MINOR: u16 = 0;

/// The size of the header, before the directory.
pub const HEADER_SIZE: usize = 48;
/// The size of a directory entry: tag, offset, length, each `u32`.
pub const ENTRY_SIZE: usize = 12;
/// The offset from which on the CRC covers the blob.
pub const CRC_FROM: usize = 20;
/// The maximum size of a build id.
pub const BUILD_ID_MAX: usize = 20;

/// A flag: names contain their generic arguments.
pub const FLAG_FULL_NAMES: u8 = 1;

/// The tag of the ranges of code, each [`RANGE_SIZE`] bytes.
pub const TAG_RANGES: u32 = 1;
/// The size of an entry of [`TAG_RANGES`].
pub const RANGE_SIZE: usize = 16;
/// The tag of the start of each chunk's code, `u32` each.
pub const TAG_CHUNKS: u32 = 2;
/// The tag of the index of rows: the offset in [`TAG_ROWS`] of every [`STRIDE`]th chunk's rows, `u32` each.
pub const TAG_ROW_INDEX: u32 = 3;
/// The tag of the rows: an entry for each chunk, compressed with [`TAG_ROW_PHRASES`].
pub const TAG_ROWS: u32 = 4;
/// The tag of the phrases of rows.
pub const TAG_ROW_PHRASES: u32 = 5;
/// The tag of the index of records: the offset in [`TAG_RECORDS`] of every [`STRIDE`]th record, `u32` each.
pub const TAG_RECORD_INDEX: u32 = 6;
/// The tag of the records: functions of the source.
pub const TAG_RECORDS: u32 = 7;
/// The tag of the index of paths: the offset in [`TAG_FILES`] of every [`STRIDE`]th path, `u32` each.
pub const TAG_FILE_INDEX: u32 = 8;
/// The tag of the paths of source files.
pub const TAG_FILES: u32 = 9;
/// The tag of the grammar of names and paths.
pub const TAG_TEXT_GRAMMAR: u32 = 10;
/// The number of tags, which begin with 1.
pub const TAGS: usize = 10;

/// The number of chunks, records or paths for each entry of their index.
pub const STRIDE: u32 = 8;

/// A level: names only.
pub const LEVEL_NAMES: u8 = 0;
/// A level: the line of the outermost frame, everywhere.
pub const LEVEL_LINES: u8 = 1;
/// A level: all frames at calls, the name elsewhere.
pub const LEVEL_CALL_SITES: u8 = 2;
/// A level: all frames at calls, the line of the outermost frame elsewhere.
pub const LEVEL_CALLS: u8 = 3;
/// A level: all frames, everywhere.
pub const LEVEL_ALL: u8 = 4;
/// A level: all frames at calls and at instructions that can fault, the line of the outermost frame elsewhere.
pub const LEVEL_FAULTS: u8 = 5;
/// The greatest level. A reader rejects greater numbers.
pub const LEVEL_MAX: u8 = LEVEL_FAULTS;

/// The precision that a level promises, depending on the code at the address. If more functions are inlined than a row can contain
/// ([`MAX_EDGES`]), the promise for other addresses applies, and at most the outermost frame is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The precision at the last byte of a call, with which a return address is looked up.
    pub calls: Precision,
    /// The precision at the first byte of an instruction that can fault.
    pub faults: Precision,
    /// The precision at all other addresses.
    pub elsewhere: Precision,
}

/// Returns the precision that a level promises. The reader, the writer, and the comparison of both with debug information use this function.
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

/// The first symbol that is a rule. Smaller symbols are bytes.
pub const FIRST_RULE: u16 = 256;
/// The maximum nesting of rules: the size of the stack of symbols that a reader needs.
pub const MAX_RULE_DEPTH: usize = 16;

/// The size of the two counts before the list of phrases.
pub const PHRASES_HEADER: usize = 4;
/// The size of an entry of the list of phrases.
pub const PHRASE_SIZE: usize = 3;
/// The shift of the phrase's length minus 1 in an entry. The lower bits are the phrase's start.
pub const LENGTH_SHIFT: u32 = 18;
/// The maximum size of a phrase.
pub const PHRASE_MAX: usize = 1 << (24 - LENGTH_SHIFT);
/// The maximum size of the text of phrases.
pub const PHRASES_TEXT_MAX: usize = 1 << LENGTH_SHIFT;

/// The number of operations for rows with all frames: `pops * 42 + pushes * 7 + length - 1`. If there are 5 pops, 5 pushes or the length is 7,
/// a number follows for each of them.
pub const ROW_OPS: u8 = 252;
/// The operation with which a function starts.
pub const OP_FUNCTION: u8 = 252;
/// The operation with which a function continues, after another function inside of it or in a new chunk.
pub const OP_CONTINUED: u8 = 253;
/// The operation for a row whose outermost line is known.
pub const OP_OUTER: u8 = 254;
/// The operation for a row whose outermost line is known, in another file than the function's own.
pub const OP_OUTER_ELSEWHERE: u8 = 255;

/// The limit of pops or pushes: a smaller count is in the operation itself.
pub const SMALL_COUNT: u8 = 5;
/// The limit of lengths: a smaller length is in the operation itself.
pub const SMALL_LENGTH: u8 = 7;

/// The code of an edge's line if the callee replaces the caller: the same function, in another file.
pub const LINE_REPLACES: u32 = 0;
/// The code of an edge's line if the line is unknown. Greater codes are lines, counted from the function's first line.
pub const LINE_UNKNOWN: u32 = 1;

/// The maximum number of edges from a function to the innermost function that is inlined at an address.
pub const MAX_EDGES: usize = 47;
/// The limit of edges that a look-up may skip. A writer stays below it.
pub const LOOKUP_STEPS: u32 = 1 << 14;
/// The limit of rules of the grammar that a name or path may take. A writer stays below it.
pub const TEXT_STEPS: u32 = 1 << 14;
/// The byte in a name after which names of other functions follow.
pub const OTHER_NAMES: u8 = 1;
/// The maximum size of a name or path. A reader stops there.
pub const TEXT_MAX: usize = 1 << 12;
/// The maximum number of edges of a record whose name a reader finds.
pub const EDGES_MAX: u32 = 1 << 16;
/// The maximum compressed size of a chunk that a reader reads. A writer stays far below it.
pub const CHUNK_MAX: usize = 1 << 11;
/// The maximum number of ranges of code that a reader searches.
pub const RANGES_MAX: usize = 1 << 10;
