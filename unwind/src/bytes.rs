//! Reads of numbers in a byte slice, in either byte order. A read out of bounds returns `None`.

use crate::reads;

/// A byte order: of a table, or of an ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// The byte order of the machine that runs this code.
    pub(crate) const NATIVE: Self = match cfg!(target_endian = "little") {
        true => Self::Little,
        false => Self::Big,
    };

    /// Returns the number in `bytes`, at most four.
    #[inline(always)]
    pub(crate) fn number(self, bytes: &[u8]) -> u32 {
        reads::note();
        let join = |number: u32, &byte: &u8| number << 8 | u32::from(byte);
        match self {
            Self::Little => bytes.iter().rev().fold(0, join),
            Self::Big => bytes.iter().fold(0, join),
        }
    }
}

/// A slice whose numbers are in one byte order. Offsets are bytes from its start.
///
/// Numbers are assembled from bytes, never cast, because only the header of SFrame is aligned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a> {
    pub(crate) data: &'a [u8],
    pub(crate) order: ByteOrder,
}

impl<'a> Bytes<'a> {
    pub(crate) const fn new(data: &'a [u8], order: ByteOrder) -> Self {
        Self { data, order }
    }

    /// The `N` bytes at `offset`.
    #[inline]
    fn array<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        reads::note();
        self.data.get(offset..)?.first_chunk().copied()
    }

    #[inline]
    pub(crate) fn u8(&self, offset: usize) -> Option<u8> {
        reads::note();
        self.data.get(offset).copied()
    }

    #[inline]
    pub(crate) fn u16(&self, offset: usize) -> Option<u16> {
        let bytes = self.array(offset)?;
        Some(match self.order {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        })
    }

    #[inline]
    pub(crate) fn u32(&self, offset: usize) -> Option<u32> {
        let bytes = self.array(offset)?;
        Some(match self.order {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        })
    }

    #[inline]
    pub(crate) fn u64(&self, offset: usize) -> Option<u64> {
        let bytes = self.array(offset)?;
        Some(match self.order {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        })
    }
}
