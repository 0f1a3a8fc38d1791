//! The reasons why a symbol table cannot be used.

use core::fmt;

use crate::text::texts;

/// The reason why [`SymbolTable::parse`](super::SymbolTable::parse) rejects bytes. Offsets are bytes from the start of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SymbolsError {
    /// There are no bytes: the image was linked without symbols.
    Empty,
    /// The bytes do not begin with the magic number.
    BadMagic,
    /// The major version is unknown.
    UnknownVersion(u16),
    /// The level is unknown, so that the rows cannot be interpreted.
    UnknownLevel(u8),
    /// A part, or the whole table, does not fit into the bytes. The number is the offset of the field that contains its size.
    DoesNotFit(usize),
    /// The checksum does not match the bytes.
    BadChecksum {
        /// The checksum in the table.
        stored: u32,
        /// The checksum of the bytes.
        computed: u32,
    },
    /// This crate is built without its feature `symbols`.
    LeftOut,
}

impl fmt::Display for SymbolsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = match *self {
            Self::UnknownVersion(version) => [version.into(), 0],
            Self::UnknownLevel(level) => [level.into(), 0],
            Self::DoesNotFit(offset) => [offset as u64, 0],
            Self::BadChecksum { stored, computed } => [stored.into(), computed.into()],
            _ => [0; 2],
        };
        let filled = texts! { *self, numbers;
            Self::Empty => "empty",
            Self::BadMagic => "the .symbols section has a bad magic number at offset 0",
            Self::UnknownVersion(_) => "unknown .symbols version # at offset 8",
            Self::UnknownLevel(_) => "unknown .symbols level # at offset 24",
            Self::DoesNotFit(_) => "the field at offset # of .symbols refers to data outside the section",
            Self::BadChecksum { .. } => "the checksum $ in .symbols differs from $, the computed checksum",
            Self::LeftOut => "crate unwind was compiled without its feature `symbols`, which reads the .symbols section",
        };
        filled.write(f)
    }
}

impl core::error::Error for SymbolsError {}
