//! Why a symbol table cannot be used.

use core::fmt;

use crate::text::texts;

/// Why bytes are not a symbol table that can be used. Offsets are bytes from the start of the blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SymbolsError {
    /// There are no bytes: the image was linked without symbols.
    Empty,
    /// The magic number is missing.
    BadMagic,
    /// A version that this reader does not know.
    UnknownVersion(u16),
    /// A level that this reader does not know, so that it cannot interpret the rows.
    UnknownLevel(u8),
    /// A part, or the blob itself, does not fit into the bytes; the offset of the field that says so.
    DoesNotFit(usize),
    /// The checksum does not match the bytes.
    BadChecksum {
        /// The checksum in the blob.
        stored: u32,
        /// The checksum of its bytes.
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
            Self::BadMagic => "bad magic at offset 0",
            Self::UnknownVersion(_) => "unknown version # at offset 8",
            Self::UnknownLevel(_) => "unknown level # at offset 24",
            Self::DoesNotFit(_) => "the field at offset # refers outside the symbols",
            Self::BadChecksum { .. } => "checksum $ at offset 16, but the bytes have $",
            Self::LeftOut => "support for this format is not compiled in",
        };
        filled.write(f)
    }
}

impl core::error::Error for SymbolsError {}
