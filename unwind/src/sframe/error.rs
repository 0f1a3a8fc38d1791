//! Why bytes are not an SFrame section that can be used.

use core::fmt;

use crate::text;

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
        self.write(f)
    }
}

impl ParseError {
    /// The text of [`Display`](fmt::Display), for a writer that is no formatter.
    pub(crate) fn write(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        match *self {
            Self::Empty => f.write_str("empty"),
            Self::Short { length } => {
                text::decimal(f, length as u64)?;
                f.write_str(" bytes are too short for a header")
            }
            Self::BadMagic { found } => {
                f.write_str("bad magic ")?;
                text::hex(f, u64::from(found), 4)?;
                f.write_str(" at offset 0, 0xdee2 wanted")
            }
            Self::UnknownVersion(version) => {
                f.write_str("unknown version ")?;
                text::decimal(f, u64::from(version))?;
                f.write_str(" at offset 2")
            }
            Self::DraftVersion1 => {
                f.write_str("version 1 as in its first posted patch, not as released")
            }
            Self::UnknownFlags(flags) => {
                f.write_str("unknown flags ")?;
                text::hex(f, u64::from(flags), 2)?;
                f.write_str(" at offset 3")
            }
            Self::UnknownAbi(abi) => {
                f.write_str("unknown ABI ")?;
                text::decimal(f, u64::from(abi))?;
                f.write_str(" at offset 4")
            }
            Self::AuxiliaryHeader { length } => {
                f.write_str("auxiliary header of ")?;
                text::decimal(f, u64::from(length))?;
                f.write_str(" bytes does not fit")
            }
            Self::Functions { end } => {
                f.write_str("functions end outside, at offset ")?;
                text::decimal(f, end)
            }
            Self::Rows { end } => {
                f.write_str("rows end outside, at offset ")?;
                text::decimal(f, end)
            }
            Self::Map => f.write_str("a rule map with a header that cannot be used"),
            Self::LeftOut => f.write_str("their reader is left out"),
        }
    }
}

impl core::error::Error for ParseError {}
