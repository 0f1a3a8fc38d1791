//! The index of exception tables, and the search in it. Source: EHABI32, section 6 "Index table entries".

use super::entry::prel31;
use super::{Entry, Error};
use crate::bytes::{ByteOrder, Bytes};
use crate::lookup::LookupError;
use crate::memory::Range;

/// The exception tables of a little-endian ARM image, with the addresses of the tables and of the code.
///
/// ```
/// use unwind::{Range, ehabi::Tables};
///
/// // Two index entries at 0x2_0000, for functions at 0x1_0000 and 0x1_0100. The second word of the first: pop {r4, lr}.
/// let index = [0, 0, 0xff, 0x7f, 0xb0, 0xb0, 0xa8, 0x80, 0xf8, 0, 0xff, 0x7f, 1, 0, 0, 0];
/// let tables = Tables::new(&index, 0x2_0000, &[], 0, Range::new(0x1_0000, 0x1_1000));
/// assert_eq!(tables.verify(), Ok(()));
/// let entry = tables.entry_at(0x1_0010).expect("an entry");
/// assert_eq!(entry.range, Range::new(0x1_0000, 0x1_0100));
/// ```
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

/// The size of an index entry in bytes.
const SIZE: usize = 8;

impl<'a> Tables<'a> {
    /// Creates the tables from `index`, the bytes of `.ARM.exidx` (`__exidx_start` to `__exidx_end`), and `table`, the bytes of `.ARM.extab`,
    /// with the addresses of their first bytes. `code` must contain all code that they describe: its end is the end of the last function.
    ///
    /// Addresses have 32 bits. An incomplete entry at the end of the index is ignored.
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

    /// Sets the personality routines whose entries have the form of GNU's routines, by their addresses without the bit for Thumb.
    ///
    /// In this form, one byte with the number of further words and the opcodes follow the address of the routine. `__gxx_personality_v0`,
    /// `__gcc_personality_v0` and Rust's `rust_eh_personality` use it. Entries of other routines cannot be decoded:
    /// [`Error::UnknownPersonality`].
    #[must_use]
    pub const fn personalities(mut self, routines: &'a [u64]) -> Self {
        self.personalities = routines;
        self
    }

    /// Sets the code that has no caller, if its entry is "cannot unwind". Without this, no walk is complete.
    ///
    /// The entry alone is not enough, because linkers write it for all code without an entry: assembly that switches stacks, for example.
    ///
    /// ```
    /// use unwind::{Found, LookupError, Range, RowSource, ehabi::Tables};
    ///
    /// // The only entry, for the function at 0x1_0000: cannot unwind.
    /// let (index, start) = ([0, 0, 0xff, 0x7f, 1, 0, 0, 0], [Range::new(0x1_0000, 0x1_0020)]);
    /// let tables = Tables::new(&index, 0x2_0000, &[], 0, Range::new(0x1_0000, 0x1_1000));
    /// let mut found = Found::EMPTY;
    /// assert_eq!(tables.look_up(0x1_0010, &mut found), Err(LookupError::NoRows { signal: false }));
    /// assert_eq!(tables.outermost(&start).look_up(0x1_0010, &mut found), Ok(()));
    /// assert!(found.rules.is_outermost());
    /// ```
    #[must_use]
    pub const fn outermost(mut self, code: &'a [Range]) -> Self {
        self.outermost = code;
        self
    }

    /// Returns the entries, in the order of the index.
    #[must_use]
    pub const fn entries(&self) -> Entries<'a> {
        Entries {
            tables: *self,
            next: 0,
        }
    }

    /// Returns the entry of the function at the address `pc`.
    #[must_use]
    pub fn entry_at(&self, pc: u64) -> Option<Entry<'a>> {
        if !self.code.contains(pc) {
            return None;
        }
        // Entries below `low` begin at or before pc, and entries from `high` on after it. Each round halves the entries between them.
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

    /// Verifies every entry: that functions are sorted, and that all opcodes can be decoded.
    ///
    /// # Errors
    /// Returns an error if an entry is damaged: the number of the first damaged entry, from 0, and the reason. An unknown personality routine, an
    /// entry that refuses to unwind, and opcodes without an equivalent row are not damage.
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

    /// Sets the result of [`Self::verify`]. If it is an error, no walk that uses these tables ends with
    /// [`Complete`](crate::End::Complete).
    #[must_use]
    pub fn verified(mut self, outcome: Result<(), (u32, Error)>) -> Self {
        self.is_damaged = outcome.is_err();
        self
    }

    /// Checks whether the function at `pc`, whose entry is "cannot unwind", has no caller.
    pub(crate) fn is_outermost(&self, pc: u64) -> bool {
        self.outermost.iter().any(|code| code.contains(pc))
    }

    /// Checks whether there are no entries.
    pub(crate) const fn is_empty(&self) -> bool {
        self.count() == 0
    }

    const fn count(&self) -> usize {
        self.index.data.len() / SIZE
    }

    /// Returns the address of an entry's function.
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

    /// Returns the word at this address of `.ARM.extab`.
    pub(super) fn table_word(&self, address: u32) -> Option<u32> {
        self.table.u32(self.table_offset(address))
    }

    /// Returns `size` bytes from this address of `.ARM.extab` on.
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

/// Iterator over the entries of an index. [`Tables::entries`] returns it.
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
