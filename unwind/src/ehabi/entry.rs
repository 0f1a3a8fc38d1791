//! The entry of a function. Source: EHABI32, sections 6 "Index table entries" and 7 "Exception-handling table entries".

use super::{Error, Opcodes, Tables};
use crate::memory::Range;

/// An entry of the index, with its decoded unwinding information.
///
/// ```
/// use unwind::{Range, ehabi::{Personality, Tables, Unwinding}};
///
/// let index = [0, 0, 0xff, 0x7f, 0xb0, 0xb0, 0xa8, 0x80];
/// let tables = Tables::new(&index, 0x2_0000, &[], 0, Range::new(0x1_0000, 0x1_1000));
/// let entry = tables.entries().next().expect("an entry");
/// let Ok(Unwinding::By(Personality::Own(0), opcodes)) = entry.unwinding else { panic!("{entry:?}") };
/// let text: Vec<String> = opcodes.map(|opcode| opcode.unwrap().to_string()).collect();
/// assert_eq!(text, ["pop {r4, r14}", "finish", "finish"]);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Entry<'a> {
    /// The addresses of the function, up to the next entry. They cover several functions if the linker merged their entries.
    pub range: Range,
    /// The unwinding information, or the reason why it cannot be used.
    pub unwinding: Result<Unwinding<'a>, Error>,
}

/// The unwinding information of a function.
#[derive(Clone, Copy, Debug)]
pub enum Unwinding<'a> {
    /// "Cannot unwind" (`EXIDX_CANTUNWIND`): a function without a caller, or code about which the linker has no information.
    Cannot,
    /// Opcodes, in the form of this personality routine.
    By(Personality, Opcodes<'a>),
}

/// The personality routine for which a compiler wrote an entry. It runs when an exception is thrown, but never in a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Personality {
    /// A routine of the ABI (`__aeabi_unwind_cpp_pr0` to `2`), by its number: 0, 1 or 2.
    Own(u8),
    /// A declared routine, by its address: see [`Tables::personalities`].
    At(u64),
}

/// The second word of an index entry for "cannot unwind".
const CANNOT_UNWIND: u32 = 1;
const BIT_31: u32 = 1 << 31;

impl<'a> Tables<'a> {
    /// Decodes the second word of an index entry, which is at `address`. `bytes` are the bytes of the word.
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

    /// Decodes the entry at this address of `.ARM.extab`.
    fn in_table(&self, address: u32) -> Result<Unwinding<'a>, Error> {
        let outside = Error::OutsideTable(address.into());
        let first = self.table_word(address).ok_or(outside)?;
        let (personality, start, count, skip) = if first & BIT_31 == 0 {
            // Entries of GNU's routines, and Rust's, have one word more. It begins like the word of routine 1 after its number.
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

/// Returns the address to which a word at `address` refers: the lower 31 bits are a signed distance from the word.
pub(super) const fn prel31(word: u32, address: u32) -> u32 {
    let distance = (word << 1).cast_signed() >> 1;
    address.wrapping_add_signed(distance)
}
