//! The words of a row, taken one by one.

use crate::bytes::ByteOrder;

/// Removes an unsigned number of `1 << width` bytes from the front. `None`: they are not there, or the width is above 2.
#[inline(always)]
pub(super) fn take(bytes: &mut &[u8], order: ByteOrder, width: u8) -> Option<u32> {
    match width {
        0 => take_number::<1>(bytes, order),
        1 => take_number::<2>(bytes, order),
        2 => take_number::<4>(bytes, order),
        _ => None,
    }
}

#[inline(always)]
fn take_number<const N: usize>(bytes: &mut &[u8], order: ByteOrder) -> Option<u32> {
    let (number, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(order.number(*number))
}

/// The words of one row, read one by one.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    pub(super) rest: &'a [u8],
    pub(super) order: ByteOrder,
    /// Width code: 0, 1, 2 are 1, 2, 4 bytes.
    pub(super) width: u8,
}

impl Words<'_> {
    pub(super) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next word as an offset, which has a sign. `None`: there is none.
    #[inline(always)]
    pub(super) fn signed(&mut self) -> Option<i32> {
        let word = self.unsigned()?;
        Some(match self.width {
            0 => i32::from(word as i8),
            1 => i32::from(word as i16),
            _ => word.cast_signed(),
        })
    }

    /// The next word as a control word, which has no sign. `None`: there is none.
    #[inline(always)]
    pub(super) fn unsigned(&mut self) -> Option<u32> {
        take(&mut self.rest, self.order, self.width)
    }
}
