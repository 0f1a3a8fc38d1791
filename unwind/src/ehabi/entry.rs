//! What the tables say of a function. Source: EHABI32, sections 6 "Index table entries" and 7 "Exception-handling table entries".

use super::{Error, Opcodes, Tables};
use crate::memory::Range;

/// An entry of the index, and what it leads to.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Entry<'a> {
    /// Its function's addresses: up to the next entry. They may be those of several functions, whose entries were merged.
    pub range: Range,
    /// How to unwind it.
    pub unwinding: Result<Unwinding<'a>, Error>,
}

/// How a function is unwound.
#[derive(Clone, Copy, Debug)]
pub enum Unwinding<'a> {
    /// Not at all: an outermost function, or code of which the linker knows nothing.
    Cannot,
    /// By opcodes, in the form of this personality routine.
    By(Personality, Opcodes<'a>),
}

/// The routine that a compiler has written an entry for. It runs when an exception is thrown, and never for a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Personality {
    /// One of the ABI's own, by its number: 0, 1 or 2.
    Own(u8),
    /// The one at this address, which is among those declared.
    At(u64),
}

/// A second word of the index that is no reference.
const CANNOT_UNWIND: u32 = 1;
const BIT_31: u32 = 1 << 31;

impl<'a> Tables<'a> {
    /// What the second word of an index entry says, which lies at `address`; `bytes` are those of the word.
    pub(super) fn unwinding(
        &self,
        bytes: &'a [u8],
        word: u32,
        address: u32,
    ) -> Result<Unwinding<'a>, Error> {
        if word == CANNOT_UNWIND {
            return Ok(Unwinding::Cannot);
        }
        if word & BIT_31 == 0 {
            return self.in_table(prel31(word, address));
        }
        match word >> 24 {
            0x80 => Ok(Unwinding::By(Personality::Own(0), Opcodes::new(bytes, 1))),
            other => Err(Error::Reserved((other & 0x7f) as u8)),
        }
    }

    /// The entry at this address of `.ARM.extab`.
    fn in_table(&self, address: u32) -> Result<Unwinding<'a>, Error> {
        let outside = Error::OutsideTable(address.into());
        let first = self.table_word(address).ok_or(outside)?;
        let (personality, start, count, skip) = if first & BIT_31 == 0 {
            // GNU's routines, and Rust's, have one word more, which begins as that of routine 1 behind its number.
            let routine = u64::from(prel31(first, address) & !1);
            if !self.personalities.contains(&routine) {
                return Err(Error::UnknownPersonality(routine));
            }
            let start = address.wrapping_add(4);
            let second = self.table_word(start).ok_or(outside)?;
            (Personality::At(routine), start, second >> 24, 1)
        } else {
            match first >> 24 {
                0x80 => (Personality::Own(0), address, 0, 1),
                own @ (0x81 | 0x82) => {
                    let count = first >> 16 & 0xff;
                    (Personality::Own((own & 3) as u8), address, count, 2)
                }
                other => return Err(Error::Reserved((other & 0x7f) as u8)),
            }
        };
        // 256 words at most.
        let size = count.wrapping_add(1).wrapping_mul(4);
        let words = self.table_bytes(start, size).ok_or(outside)?;
        Ok(Unwinding::By(personality, Opcodes::new(words, skip)))
    }
}

/// The address that a word at `address` refers to: the lower 31 bits are a signed distance from the word itself.
pub(super) const fn prel31(word: u32, address: u32) -> u32 {
    let distance = (word << 1).cast_signed() >> 1;
    address.wrapping_add_signed(distance)
}
