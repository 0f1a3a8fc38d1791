//! Expansion of rows and names that were compressed by a list of phrases.

use core::slice::Iter;

use crate::bytes::{ByteOrder, Bytes};
use crate::reads;
use crate::symbols::format::{LENGTH_SHIFT, PHRASE_SIZE, PHRASES_HEADER};

/// Phrases, which are pieces of one text, and how they are coded: the first `short` in one byte, the others in two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phrases<'a> {
    short: u16,
    list: &'a [u8],
    text: &'a [u8],
}

impl<'a> Phrases<'a> {
    /// A part of phrases: how many have short codes, how many there are, where each is in the text, the text.
    pub(super) fn new(part: &'a [u8]) -> Self {
        let whole = Bytes::new(part, ByteOrder::Little);
        let count = usize::from(whole.u16(2).unwrap_or(0));
        let rest = part.get(PHRASES_HEADER..).unwrap_or(&[]);
        let (list, text) = rest
            .split_at_checked(count.wrapping_mul(PHRASE_SIZE))
            .unwrap_or((&[], &[]));
        Self {
            short: whole.u16(0).unwrap_or(0),
            list,
            text,
        }
    }

    /// The phrase with this number.
    #[inline]
    fn phrase(&self, number: usize) -> Option<&'a [u8]> {
        let entry = self.list.get(number.wrapping_mul(PHRASE_SIZE)..)?;
        let &[low, middle, high] = entry.first_chunk()?;
        reads::note();
        let entry = u32::from_le_bytes([low, middle, high, 0]);
        let start = (entry & ((1 << LENGTH_SHIFT) - 1)) as usize;
        let length = (entry >> LENGTH_SHIFT) as usize;
        self.text.get(start..)?.get(..length.wrapping_add(1))
    }

    /// The phrase of the first of these codes, which is taken from them.
    #[inline(never)]
    fn next(&self, codes: &mut Iter<'a, u8>) -> Option<&'a [u8]> {
        let first = u16::from(*codes.next()?);
        reads::note();
        let number = match first.checked_sub(self.short) {
            None => first,
            Some(page) => {
                let low = u16::from(*codes.next()?);
                self.short.wrapping_add((page << 8) | low)
            }
        };
        self.phrase(usize::from(number))
    }

    /// The bytes that `codes` stand for.
    pub(super) fn expand(self, codes: &'a [u8]) -> Expansion<'a> {
        Expansion {
            phrases: self,
            codes: codes.iter(),
            rest: [].iter(),
        }
    }
}

/// The bytes that codes stand for, one after the other. Ends early where something is damaged: at a phrase that is not there.
#[derive(Clone, Debug)]
pub(super) struct Expansion<'a> {
    phrases: Phrases<'a>,
    codes: Iter<'a, u8>,
    /// What is left of the phrase of the code before.
    rest: Iter<'a, u8>,
}

impl Expansion<'_> {
    /// The first byte of the next phrase.
    #[inline]
    fn next_phrase(&mut self) -> Option<u8> {
        self.rest = self.phrases.next(&mut self.codes)?.iter();
        self.rest.next().copied()
    }

    /// A number: seven bits a byte, the lowest first, the top bit of all but the last byte set.
    #[inline(never)]
    pub(super) fn number(&mut self) -> Option<u32> {
        match self.next()? {
            small @ ..0x80 => Some(small.into()),
            first => self.long_number(first),
        }
    }

    #[inline(never)]
    fn long_number(&mut self, first: u8) -> Option<u32> {
        let mut value = u32::from(first & 0x7f);
        let mut shift = 7_u32;
        while shift < 32 {
            let byte = self.next()?;
            value |= u32::from(byte & 0x7f).wrapping_shl(shift);
            if byte < 0x80 {
                return Some(value);
            }
            shift = shift.wrapping_add(7);
        }
        None
    }
}

impl Iterator for Expansion<'_> {
    type Item = u8;

    #[inline]
    fn next(&mut self) -> Option<u8> {
        reads::note();
        match self.rest.next() {
            Some(&byte) => Some(byte),
            None => self.next_phrase(),
        }
    }
}
