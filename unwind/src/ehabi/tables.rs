//! The index, and the search in it. Source: EHABI32, section 6 "Index table entries".

use super::entry::prel31;
use super::{Entry, Error};
use crate::bytes::{ByteOrder, Bytes};
use crate::lookup::LookupError;
use crate::memory::Range;

/// Exception tables of little-endian ARM, and where they and their code lie.
#[derive(Clone, Copy, Debug)]
pub struct Tables<'a> {
    index: Bytes<'a>,
    index_address: u32,
    table: Bytes<'a>,
    table_address: u32,
    code: Range,
    pub(super) personalities: &'a [u64],
    outermost: &'a [Range],
    pub(crate) is_damaged: bool,
}

/// Bytes of an index entry.
const SIZE: usize = 8;

impl<'a> Tables<'a> {
    /// The tables in `index`, the bytes of `.ARM.exidx` (`__exidx_start` to `__exidx_end`), and in `table`, those of `.ARM.extab`,
    /// each at its address. All code that they describe is in `code`: nothing else says where the last function ends.
    ///
    /// Addresses have 32 bits. Bytes of an index that are no whole entry are not read.
    #[must_use]
    pub const fn new(
        index: &'a [u8],
        index_address: u32,
        table: &'a [u8],
        table_address: u32,
        code: Range,
    ) -> Self {
        Self {
            index: Bytes::new(index, ByteOrder::Little),
            index_address,
            table: Bytes::new(table, ByteOrder::Little),
            table_address,
            code,
            personalities: &[],
            outermost: &[],
            is_damaged: false,
        }
    }

    /// The same, and entries in the form of these personality routines, by their addresses without the bit for Thumb, are read as GNU's are: the routine's
    /// address is followed by the number of further words in one byte, and the opcodes. This is so of `__gxx_personality_v0`,
    /// `__gcc_personality_v0` and Rust's `rust_eh_personality`. Of others the form is not known: [`Error::UnknownPersonality`].
    #[must_use]
    pub const fn personalities(mut self, routines: &'a [u64]) -> Self {
        self.personalities = routines;
        self
    }

    /// The same, and code in these ranges has no caller, where its entry says that it cannot be unwound. The entry alone does not say so:
    /// linkers write it for all code that has none, such as assembly that calls on another stack. Without this no walk is complete.
    #[must_use]
    pub const fn outermost(mut self, code: &'a [Range]) -> Self {
        self.outermost = code;
        self
    }

    /// The entries, in the order of the index.
    #[must_use]
    pub const fn entries(&self) -> Entries<'a> {
        Entries {
            tables: *self,
            next: 0,
        }
    }

    /// The entry of the function at the address `pc`.
    #[must_use]
    pub fn entry_at(&self, pc: u64) -> Option<Entry<'a>> {
        if !self.code.contains(pc) {
            return None;
        }
        // The entries below `low` begin at or before pc, those from `high` on behind it. Each round halves what is between them.
        let (mut low, mut high) = (0, self.count());
        while low < high {
            let middle = low.midpoint(high);
            match self.start(middle) {
                Some(start) if u64::from(start) <= pc => low = middle.wrapping_add(1),
                _ => high = middle,
            }
        }
        let entry = self.entry(low.checked_sub(1)?)?;
        entry.range.contains(pc).then_some(entry)
    }

    /// Checks every entry: that functions are in order, and that all opcodes can be followed.
    ///
    /// # Errors
    /// The first entry that is damaged, by its number in the index, and why. An unknown personality routine, a refusal to unwind and
    /// what no row says are no damage.
    pub fn verify(&self) -> Result<(), (u32, Error)> {
        let (mut before, mut next) = (None, 0_u32);
        for entry in self.entries() {
            let number = next;
            next = next.wrapping_add(1);
            let damage = |error| Err((number, error));
            if before.is_some_and(|before| entry.range.start <= before) {
                return damage(Error::NotSorted);
            }
            before = Some(entry.range.start);
            match entry.rules() {
                Err(error) if matches!(error.of_look_up(), LookupError::Damaged) => {
                    return damage(error);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The same with the result of [`Self::verify`]: a walk by damaged tables is never complete.
    #[must_use]
    pub fn verified(mut self, outcome: Result<(), (u32, Error)>) -> Self {
        self.is_damaged = outcome.is_err();
        self
    }

    /// Whether the function at `pc`, whose entry says that it cannot be unwound, has no caller.
    pub(crate) fn is_outermost(&self, pc: u64) -> bool {
        self.outermost.iter().any(|code| code.contains(pc))
    }

    /// Whether there is no entry at all.
    pub(crate) const fn is_empty(&self) -> bool {
        self.count() == 0
    }

    const fn count(&self) -> usize {
        self.index.data.len() / SIZE
    }

    /// The function's address of an entry.
    fn start(&self, number: usize) -> Option<u32> {
        let offset = number.checked_mul(SIZE)?;
        let word = self.index.u32(offset)?;
        Some(prel31(word, self.index_address.wrapping_add(offset as u32)))
    }

    fn entry(&self, number: usize) -> Option<Entry<'a>> {
        let start = self.start(number)?;
        let end = match number.checked_add(1).and_then(|next| self.start(next)) {
            Some(next) => u64::from(next).min(self.code.end),
            None => self.code.end,
        };
        let offset = number.checked_mul(SIZE)?;
        let second = offset.checked_add(4)?;
        let bytes = self.index.data.get(second..offset.checked_add(SIZE)?)?;
        let address = self.index_address.wrapping_add(second as u32);
        let unwinding = match self.index.u32(offset)? >> 31 {
            0 => self.unwinding(bytes, self.index.u32(second)?, address),
            _ => Err(Error::StartHasBit31),
        };
        Some(Entry {
            range: Range::new(start.into(), end),
            unwinding,
        })
    }

    /// The word at this address of `.ARM.extab`.
    pub(super) fn table_word(&self, address: u32) -> Option<u32> {
        self.table.u32(self.table_offset(address))
    }

    /// So many bytes from this address of `.ARM.extab` on.
    pub(super) fn table_bytes(&self, address: u32, size: u32) -> Option<&'a [u8]> {
        let start = self.table_offset(address);
        self.table
            .data
            .get(start..start.checked_add(size as usize)?)
    }

    const fn table_offset(&self, address: u32) -> usize {
        address.wrapping_sub(self.table_address) as usize
    }
}

/// The entries of an index: [`Tables::entries`] makes it.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    tables: Tables<'a>,
    next: usize,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let entry = self.tables.entry(self.next)?;
        self.next = self.next.wrapping_add(1);
        Some(entry)
    }
}

impl core::iter::FusedIterator for Entries<'_> {}
