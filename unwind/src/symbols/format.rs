//! The words of a `.symbols` blob: the one home of these constants, for the reader here and for the writer in `linker`.
//!
//! Everything is little-endian. A blob is a header, a directory of parts, and the parts:
//!
//! | offset | size | field |
//! |-------:|-----:|-------|
//! | 0 | 8 | [`MAGIC`] |
//! | 8 | 2 | [`MAJOR`]: a reader refuses another one |
//! | 10 | 2 | [`MINOR`]: grows when parts are added that an older reader may pass over |
//! | 12 | 4 | length of the blob, in bytes |
//! | 16 | 4 | CRC-32 (IEEE, as in zlib) of all bytes from offset 20 to the length |
//! | 20 | 4 | number of directory entries |
//! | 24 | 8 | image base minus address of the blob, signed: symbols are relative to the image base |
//! | 32 | 1 | length of the build id, in bytes, at most [`BUILD_ID_MAX`] |
//! | 33 | 20 | build id, zero-filled |
//! | 53 | 3 | zero |
//! | 56 | 12 × n | directory: tag, offset from the start of the blob, length in bytes; each `u32` |
//!
//! A reader passes over tags that it does not know.

/// First eight bytes of a blob.
pub const MAGIC: [u8; 8] = *b"symbols\0";
/// Version of what is written down here.
pub const MAJOR: u16 = 1;
/// See [`MAJOR`].
pub const MINOR: u16 = 0;

/// Bytes of the header, before the directory.
pub const HEADER_SIZE: usize = 56;
/// Bytes of one directory entry.
pub const ENTRY_SIZE: usize = 12;
/// The CRC is taken from this offset on.
pub const CRC_FROM: usize = 20;
/// Most bytes of a build id.
pub const BUILD_ID_MAX: usize = 20;

/// Part: the functions, ascending by start; each [`FUNCTION_SIZE`] bytes: start (`u32`, bytes from the image base),
/// size (`u32`, bytes), name (`u32`, offset in [`TAG_NAMES`]).
pub const TAG_FUNCTIONS: u32 = 1;
/// Bytes of one entry of [`TAG_FUNCTIONS`].
pub const FUNCTION_SIZE: usize = 12;
/// Part: names; each is its length in bytes (`u16`) and so many bytes of UTF-8.
pub const TAG_NAMES: u32 = 2;
