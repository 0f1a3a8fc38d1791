//! Why a symbol table cannot be used.

use core::fmt;

use crate::text;

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
        self.write(f)
    }
}

impl SymbolsError {
    /// The text of [`Display`](fmt::Display), for a writer that is no formatter.
    pub(crate) fn write(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        match *self {
            Self::Empty => f.write_str("empty"),
            Self::BadMagic => f.write_str("bad magic at offset 0"),
            Self::UnknownVersion(version) => {
                f.write_str("unknown version ")?;
                text::decimal(f, u64::from(version))?;
                f.write_str(" at offset 8")
            }
            Self::UnknownLevel(level) => {
                f.write_str("unknown level ")?;
                text::decimal(f, u64::from(level))?;
                f.write_str(" at offset 24")
            }
            Self::DoesNotFit(offset) => {
                f.write_str("does not fit, says the field at offset ")?;
                text::decimal(f, offset as u64)
            }
            Self::BadChecksum { stored, computed } => {
                f.write_str("checksum ")?;
                text::hex(f, u64::from(stored), 8)?;
                f.write_str(" at offset 16, bytes give ")?;
                text::hex(f, u64::from(computed), 8)
            }
            Self::LeftOut => f.write_str("their reader is left out"),
        }
    }
}

impl core::error::Error for SymbolsError {}
