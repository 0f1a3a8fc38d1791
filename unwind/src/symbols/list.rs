//! A list of entries of any length, with an index to every eighth of them.

use crate::bytes::{ByteOrder, Bytes};
use crate::reads;
use crate::symbols::format::STRIDE;

/// A number in plain bytes, and what comes after it: see [`super::phrases::Expansion::number`].
#[inline(never)]
pub(super) fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let mut value = 0;
    reads::note();
    let mut rest = bytes;
    for shift in [0, 7, 14, 21, 28] {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        value |= u32::from(byte & 0x7f).wrapping_shl(shift);
        if byte < 0x80 {
            return Some((value, rest));
        }
    }
    None
}

/// Entries, each its length in bytes and so many bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct List<'a> {
    index: Bytes<'a>,
    entries: &'a [u8],
}

impl<'a> List<'a> {
    pub(super) const fn new(index: &'a [u8], entries: &'a [u8]) -> Self {
        Self {
            index: Bytes::new(index, ByteOrder::Little),
            entries,
        }
    }

    /// An entry, without its length.
    pub(super) fn get(&self, id: u32) -> Option<&'a [u8]> {
        self.find(id).map(|(entry, _)| entry)
    }

    /// An entry, without its length, and how many bytes lie behind it.
    pub(super) fn find(&self, id: u32) -> Option<(&'a [u8], usize)> {
        let index = usize::try_from(id / STRIDE).ok()?;
        let start = self.index.u32(index.checked_mul(4)?)?;
        let mut rest = self.entries.get(usize::try_from(start).ok()?..)?;
        let mut skip = id % STRIDE;
        loop {
            let (length, after) = number(rest)?;
            let (entry, behind) = after.split_at_checked(usize::try_from(length).ok()?)?;
            if skip == 0 {
                return Some((entry, behind.len()));
            }
            skip = skip.wrapping_sub(1);
            rest = behind;
        }
    }

    /// The bytes from so many before the end of all entries on.
    pub(super) fn before_end(&self, behind: u32) -> Option<&'a [u8]> {
        let start = self
            .entries
            .len()
            .checked_sub(usize::try_from(behind).ok()?)?;
        self.entries.get(start..)
    }
}
