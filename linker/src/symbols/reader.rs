//! How debug information is read.

use gimli::{EndianSlice, RunTimeEndian};
use object::Object;

pub use addr2line::Context as Addresses;

/// Reads a section of debug information.
pub type Reader<'a> = EndianSlice<'a, RunTimeEndian>;

/// The byte order of a file.
pub(super) fn endian(file: &object::File<'_>) -> RunTimeEndian {
    match file.is_little_endian() {
        true => RunTimeEndian::Little,
        false => RunTimeEndian::Big,
    }
}
