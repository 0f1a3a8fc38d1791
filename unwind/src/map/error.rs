//! The reasons why bytes are not a usable map.

use core::fmt;

/// The reason why [`Map::parse`](super::Map::parse) rejects bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum MapError {
    /// There are no bytes: the image was linked without a map.
    Empty,
    /// There are fewer bytes than a header has, or than the length in the header.
    Short,
    /// The first four bytes are not the magic number in either byte order.
    BadMagic,
    /// The version is unknown.
    UnknownVersion(u8),
    /// The ABI number is unknown.
    UnknownAbi(u8),
    /// The header's numbers contradict each other or violate the format's limits.
    BadHeader,
    /// This crate is built without its feature `map`.
    LeftOut,
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "empty",
            Self::Short => "the unwind rule map is shorter than its header states",
            Self::BadMagic => "bad magic",
            Self::UnknownVersion(_) => "unknown version",
            Self::UnknownAbi(_) => "unknown ABI",
            Self::BadHeader => "the header of the unwind rule map contains invalid numbers",
            Self::LeftOut => {
                "crate unwind was compiled without its feature `map`, which reads unwind rule maps"
            }
        })
    }
}

impl core::error::Error for MapError {}
