//! Reading numbers out of a byte slice, in either byte order. Nothing here can fail but by `None`.

/// The byte order in which a table was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

/// A slice whose numbers are in one byte order. Offsets are bytes from its start.
///
/// Fields are assembled from bytes, never cast: nothing in SFrame but the header is aligned.
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
        self.data.get(offset..)?.first_chunk().copied()
    }

    #[inline]
    pub(crate) fn u8(&self, offset: usize) -> Option<u8> {
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

    /// The signed number of `1 << width` bytes at `offset`; `None` for a width above 2 too.
    #[inline]
    pub(crate) fn signed(&self, offset: usize, width: u8) -> Option<i32> {
        match width {
            0 => self.u8(offset).map(|value| i32::from(value.cast_signed())),
            1 => self.u16(offset).map(|value| i32::from(value.cast_signed())),
            2 => self.u32(offset).map(u32::cast_signed),
            _ => None,
        }
    }

    /// The unsigned number of `1 << width` bytes at `offset`; `None` for a width above 2 too.
    #[inline]
    pub(crate) fn unsigned(&self, offset: usize, width: u8) -> Option<u32> {
        match width {
            0 => self.u8(offset).map(u32::from),
            1 => self.u16(offset).map(u32::from),
            2 => self.u32(offset),
            _ => None,
        }
    }
}
