//! How debug information is read.

use gimli::{EndianSlice, RunTimeEndian};

pub use addr2line::Context as Addresses;

/// Reads a section of debug information.
pub type Reader<'a> = EndianSlice<'a, RunTimeEndian>;
