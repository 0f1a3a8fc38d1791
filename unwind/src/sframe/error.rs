//! The reasons why bytes are not a usable SFrame section.

use core::fmt;

use crate::text::{Filled, texts};

/// The reason why [`Section::parse`](super::Section::parse) rejects bytes. Offsets are bytes from the start of the section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ParseError {
    /// There are no bytes: the image was linked without tables.
    Empty,
    /// There are fewer bytes than a header has.
    Short {
        /// The number of bytes.
        length: usize,
    },
    /// The first two bytes are not the magic number in either byte order.
    BadMagic {
        /// The two bytes, as a little-endian number.
        found: u16,
    },
    /// The version is not 1, 2 or 3.
    UnknownVersion(u8),
    /// The section has the layout of the first posted patch for version 1, which no released tool wrote: 27-byte header, row types counted
    /// from 1, frame pointer before return address.
    DraftVersion1,
    /// The header contains flags that this version does not define, so that their effect is unknown.
    UnknownFlags(u8),
    /// The specification does not contain this ABI number.
    UnknownAbi(u8),
    /// The auxiliary header ends outside the bytes.
    AuxiliaryHeader {
        /// Its length in bytes, from the header.
        length: u8,
    },
    /// The functions end outside the bytes.
    Functions {
        /// The offset of their end.
        end: u64,
    },
    /// The rows end outside the bytes.
    Rows {
        /// The offset of their end.
        end: u64,
    },
    /// The bytes are a rule map with a damaged header or an unknown version: see [`ImageTables`](crate::ImageTables).
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
            Self::Short { .. } => "the .sframe section has # bytes, too few for its header",
            Self::BadMagic { .. } => "the .sframe section has bad magic number & at offset 0, expected 0xdee2",
            Self::UnknownVersion(_) => "unknown SFrame version # at offset 2",
            Self::DraftVersion1 => "the .sframe section has a draft layout of SFrame version 1 that was never released",
            Self::UnknownFlags(_) => "unknown SFrame header flags % at offset 3",
            Self::UnknownAbi(_) => "unknown SFrame ABI number # at offset 4",
            Self::AuxiliaryHeader { .. } => "the auxiliary header of # bytes does not fit into the .sframe section",
            Self::Functions { .. } => "the function entries of the .sframe section end at offset #, after the end of the section",
            Self::Rows { .. } => "the rows of the .sframe section end at offset #, after the end of the section",
            Self::Map => "the unwind rule map has a damaged header or an unknown version",
            Self::LeftOut => "crate unwind was compiled without the feature (sframe or map) for the format of the unwind table",
        }
    }
}

impl core::error::Error for ParseError {}
