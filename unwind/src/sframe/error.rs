//! Why bytes are not an SFrame section that can be used.

use core::fmt;

use crate::text::{Filled, texts};

/// Why [`Section::parse`](super::Section::parse) refuses bytes.
///
/// Offsets are bytes from the start of what was parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ParseError {
    /// There are no bytes: the image was linked without tables.
    Empty,
    /// Fewer bytes than a header.
    Short {
        /// Bytes there are.
        length: usize,
    },
    /// The first two bytes are not the magic number in either byte order.
    BadMagic {
        /// What stands there, read as little-endian.
        found: u16,
    },
    /// A version that is none of 1, 2 and 3.
    UnknownVersion(u8),
    /// The layout of the first posted patch for version 1, which no released tool ever wrote: 27-byte header,
    /// row types counted from 1, frame pointer before return address.
    DraftVersion1,
    /// Flags that this version does not have; a reader cannot know what they change.
    UnknownFlags(u8),
    /// An ABI number that the specification does not name.
    UnknownAbi(u8),
    /// The auxiliary header ends outside the bytes.
    AuxiliaryHeader {
        /// Its length in bytes, as the header has it.
        length: u8,
    },
    /// The functions end outside the bytes.
    Functions {
        /// Where they would end.
        end: u64,
    },
    /// The rows end outside the bytes.
    Rows {
        /// Where they would end.
        end: u64,
    },
    /// The bytes are a rule map instead, whose header is damaged or of another version: see [`ImageTables`](crate::ImageTables).
    Map,
    /// This crate is built without its feature `sframe`; or without `map`, and the bytes are a rule map.
    LeftOut,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.filled().write(f)
    }
}

impl ParseError {
    /// The text of [`Display`](fmt::Display).
    pub(crate) fn filled(&self) -> Filled {
        let number = match *self {
            Self::Short { length } => length as u64,
            Self::BadMagic { found } => found.into(),
            Self::UnknownVersion(number)
            | Self::UnknownFlags(number)
            | Self::UnknownAbi(number)
            | Self::AuxiliaryHeader { length: number } => number.into(),
            Self::Functions { end } | Self::Rows { end } => end,
            _ => 0,
        };
        texts! { *self, [number, 0];
            Self::Empty => "empty",
            Self::Short { .. } => "# bytes are too short for a header",
            Self::BadMagic { .. } => "bad magic & at offset 0, expected 0xdee2",
            Self::UnknownVersion(_) => "unknown version # at offset 2",
            Self::DraftVersion1 => "version 1 in the layout of its first posted patch, which was never released",
            Self::UnknownFlags(_) => "unknown flags % at offset 3",
            Self::UnknownAbi(_) => "unknown ABI # at offset 4",
            Self::AuxiliaryHeader { .. } => "auxiliary header of # bytes does not fit",
            Self::Functions { .. } => "functions end outside the section, at offset #",
            Self::Rows { .. } => "rows end outside the section, at offset #",
            Self::Map => "a rule map with an unusable header",
            Self::LeftOut => "support for this format is not compiled in",
        }
    }
}

impl core::error::Error for ParseError {}
