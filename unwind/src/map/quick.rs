//! The fast path of nearly all look-ups: in the map's first region, with numbers in this machine's byte order, to a short rule whose number fits
//! into a code. Its result is the result of [`Map::look_up_any`]. If it finds nothing, it calls that function with a jump, so that no
//! register has to be saved.

use core::hint::select_unpredictable;

use crate::lookup::{Found, LookupError};
use crate::map::format;
use crate::map::rule::codes;
use crate::map::section::Map;
use crate::memory::Range;
use crate::reads;
use crate::rules::Rules;

/// The shift of the code for the canonical frame address in a rule's first number, and the bits of this code if the address has a value.
const CFA: u32 = format::SHIFTS[0];
const HAS_VALUE: u16 = (format::VALUE as u16) << CFA;

/// The changes of a block of code, and an address in it.
#[derive(Clone, Copy)]
pub(super) struct Block {
    /// The number of the first change of the block, and of the first change after it.
    pub(super) from: usize,
    pub(super) to: usize,
    /// The number of the change that would apply to the address if the changes of its page were distributed evenly.
    pub(super) near: usize,
    /// The place of the address in the block, in units.
    pub(super) place: u8,
}

impl Block {
    /// Returns the number of the change that applies to the address. All look-ups use this function, so that they agree on damaged maps, too.
    #[inline(always)]
    pub(super) fn change(self, changes: &[[u8; 2]]) -> Option<usize> {
        // Read the guessed entry before the block's numbers are known, so that both memory accesses overlap. Entries before it need not be
        // searched.
        let [guessed, _] = *changes.get(self.near)?;
        let is_before = guessed <= self.place;
        let from = select_unpredictable(is_before, self.near, self.from);
        let from = select_unpredictable(self.near < self.to, from, self.from);
        let from = from.max(self.from);
        let mut rest = changes.get(from..self.to)?;
        // The changes ascend, so the last of four decides for all. To compare four at once as one number is slower (45 ns instead of 31 ns),
        // because the processor predicts these jumps.
        while let [_, _, _, [last, _], behind @ ..] = rest
            && *last <= self.place
        {
            rest = behind;
        }
        while let [[next, _], behind @ ..] = rest
            && *next <= self.place
        {
            rest = behind;
        }
        // It may belong to an earlier block. Before the first change there is none. Then this is not the number of a change, and the read of
        // its code fails.
        Some(self.to.wrapping_sub(rest.len()).wrapping_sub(1))
    }
}

/// Returns the number [`Block::near`] for a page with `count` changes from `first` on. `distance` is the distance from the region's start in units.
#[inline(always)]
pub(super) fn near(first: u32, count: u16, distance: u64) -> usize {
    let passed = u64::from(count).wrapping_mul(distance % format::PAGE) / format::PAGE;
    u64::from(first).wrapping_add(passed) as usize
}

impl Map<'_> {
    /// Writes the rules for the address `pc` to `found`. The range is `pc` only, because a search for the ends of the function takes four times
    /// as many instructions, and [`Self::is_one_function`] checks without it whether a call leads to the function.
    #[inline(never)]
    pub(crate) fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        match self.quick_look_up(pc, found) {
            Some(()) => Ok(()),
            None => self.look_up_any(pc, found),
        }
    }

    #[inline(always)]
    fn quick_look_up(&self, pc: u64, found: &mut Found) -> Option<()> {
        let change = self.quick_block(pc)?.change(self.changes)?;
        let [_, code] = *self.changes.get(change)?;
        let number = code.wrapping_sub(1);
        if usize::from(number) >= format::CODES {
            return None;
        }
        reads::note();
        let [a, b, c, d, e, f, g, h] = *self.rules.get(usize::from(number))?;
        let flags = u16::from_ne_bytes([a, b]);
        // Only rules of a row with a canonical frame address have these bits. Trap code and unproven rules are rare.
        if flags & (format::LONG | format::SIGNAL | format::UNPROVEN | HAS_VALUE) != HAS_VALUE {
            return None;
        }
        let offset = |bytes| i64::from(i16::from_ne_bytes(bytes)).wrapping_mul(format::SCALE);
        let offsets = [offset([c, d]), offset([e, f]), offset([g, h])];
        *found = Found {
            range: Range::of_one(pc),
            // It is below the number of changes, which has 32 bits.
            place: change as u32,
            is_trap: false,
            proof: self.proof,
            rules: Rules::short(codes(flags), offsets),
        };
        Some(())
    }

    /// Checks whether no function begins or ends between the change that was `found` and the change that applies to the address `other`.
    #[inline(never)]
    pub(crate) fn is_one_function(&self, found: &Found, other: u64) -> bool {
        match self.begins_at(found.place as usize, other) {
            Some(true) => true,
            _ => self.is_one_function_any(found, other),
        }
    }

    /// Checks whether the function of a change begins at the address `other`, because nearly every call leads to the start of its function. If
    /// so, the change that begins it is in that block, at that place. `None` if the fast path cannot find out.
    #[inline(always)]
    fn begins_at(&self, change: usize, other: u64) -> Option<bool> {
        let block = self.quick_block(other)?;
        let least = block.from.max(change.saturating_sub(format::MAX_CHANGES));
        let mut passed = self.changes.get(least..=change)?;
        loop {
            let ([place, code], before) = passed.split_last()?;
            if self.begins(*code) {
                let start = least.wrapping_add(before.len());
                return Some(start < block.to && *place == block.place);
            }
            passed = before;
        }
    }

    /// Returns the block that contains an address.
    #[inline(always)]
    fn quick_block(&self, address: u64) -> Option<Block> {
        let distance = address
            .wrapping_sub(self.quick_start)
            .wrapping_shr(self.unit);
        let page = usize::try_from(distance / format::PAGE).ok()?;
        let blocks = self.quick_blocks.get(page)?;
        let [a, b, c, d, count @ ..] = *self.quick_pages.get(page)?;
        reads::note();
        let first = u32::from_ne_bytes([a, b, c, d]);
        // The numbers of the page's changes before this block and before the next block.
        let at = (distance / format::BLOCK % format::BLOCKS).wrapping_mul(2) as usize;
        let passed = u32::from_ne_bytes(*blocks.get(at..)?.first_chunk()?);
        let (low, high) = (passed & 0xffff, passed >> 16);
        let (before, end) = match cfg!(target_endian = "little") {
            true => (low, high),
            false => (high, low),
        };
        Some(Block {
            from: first.wrapping_add(before) as usize,
            to: first.wrapping_add(end) as usize,
            near: near(first, u16::from_ne_bytes(count), distance),
            place: distance as u8,
        })
    }
}
