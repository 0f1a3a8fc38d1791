//! The words of a row, taken one by one.

use crate::bytes::ByteOrder;

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
    ///
    /// Not inlined: six copies take 800 bytes, and rows of the usual form are decoded without it.
    #[inline(never)]
    pub(super) fn unsigned(&mut self) -> Option<u32> {
        match self.width {
            0 => self.take::<1>(),
            1 => self.take::<2>(),
            2 => self.take::<4>(),
            _ => None,
        }
    }

    /// Removes an unsigned number of `N` bytes from the front.
    #[inline(always)]
    fn take<const N: usize>(&mut self) -> Option<u32> {
        let (number, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(self.order.number(number))
    }
}
