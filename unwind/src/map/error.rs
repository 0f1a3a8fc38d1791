//! Why bytes are not a map that can be used.

use core::fmt;

/// Why [`Map::parse`](super::Map::parse) refuses bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum MapError {
    /// There are no bytes: the image was linked without a map.
    Empty,
    /// Fewer bytes than the header, or than the header says.
    Short,
    /// The first four bytes are not the magic number in either byte order.
    BadMagic,
    /// A version that this reader does not know.
    UnknownVersion(u8),
    /// An ABI number that SFrame does not name.
    UnknownAbi(u8),
    /// The header's numbers contradict each other or the format's limits.
    BadHeader,
    /// This crate is built without its feature `map`.
    LeftOut,
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "empty",
            Self::Short => "shorter than its header states",
            Self::BadMagic => "bad magic",
            Self::UnknownVersion(_) => "unknown version",
            Self::UnknownAbi(_) => "unknown ABI",
            Self::BadHeader => "its header contradicts itself",
            Self::LeftOut => "support for rule maps is not compiled in",
        })
    }
}

impl core::error::Error for MapError {}
