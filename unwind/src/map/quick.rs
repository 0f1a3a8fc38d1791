//! The quick way of nearly all look-ups: in the map's first region, of numbers in this machine's byte order, to a rule that a byte names
//! and whose offsets are in it. What it finds is what [`Map::look_up_any`] finds; what it does not, that one is asked for, by a jump, so
//! that no register has to be saved for it.

use core::hint::select_unpredictable;

use crate::lookup::{Found, LookupError};
use crate::map::format;
use crate::map::rule::codes;
use crate::map::section::Map;
use crate::memory::Range;
use crate::reads;
use crate::rules::Rules;

/// Where the code for the canonical frame address is in a rule's first number, and what it has there if that has a value.
const CFA: u32 = format::SHIFTS[0];
const HAS_VALUE: u16 = (format::VALUE as u16) << CFA;

/// The changes of a block of code, and an address in it.
#[derive(Clone, Copy)]
pub(super) struct Block {
    /// The number of its first change, and of the first one behind it.
    pub(super) from: usize,
    pub(super) to: usize,
    /// The number of the change that would hold at the address if those of its page lay evenly in it.
    pub(super) near: usize,
    /// The address's place in the block, in units.
    pub(super) place: u8,
}

impl Block {
    /// The number of the change that holds at the address. All look-ups ask this, so that they agree by damaged maps, too.
    #[inline(always)]
    pub(super) fn change(self, changes: &[[u8; 2]]) -> Option<usize> {
        // This one is read before the block's own numbers are known, so that memory is waited for once. What is before it need not be looked
        // through.
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
        // It may be one of a block before. Before the first of all there is none: then this is no number of a change, which is seen where its
        // code is read.
        Some(self.to.wrapping_sub(rest.len()).wrapping_sub(1))
    }
}

/// That change of a page, at this distance from the page's start in units, if `count` changes from `first` on are the page's.
#[inline(always)]
pub(super) fn near(first: u32, count: u16, distance: u64) -> usize {
    let passed = u64::from(count).wrapping_mul(distance % format::PAGE) / format::PAGE;
    u64::from(first).wrapping_add(passed) as usize
}

impl Map<'_> {
    /// Writes the rules for the address `pc` to `found`. Of its function only `pc`: to search for where it begins and ends takes four times
    /// as many instructions, and a walk asks whether a call leads to it, which [`Self::is_one_function`] knows without.
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
        // Only the rules of a row, with a canonical frame address, have these bits so. Trap code and unproven rules are rare.
        if flags & (format::LONG | format::SIGNAL | format::UNPROVEN | HAS_VALUE) != HAS_VALUE {
            return None;
        }
        let offset = |bytes| i64::from(i16::from_ne_bytes(bytes)).wrapping_mul(format::SCALE);
        let offsets = [offset([c, d]), offset([e, f]), offset([g, h])];
        *found = Found {
            range: Range::of_one(pc),
            // It is below their number, which has 32 bits.
            place: change as u32,
            is_trap: false,
            proof: self.proof,
            rules: Rules::short(codes(flags), offsets),
        };
        Some(())
    }

    /// Whether no function begins or ends between the change that was `found` and the one that holds at the address `other`.
    #[inline(never)]
    pub(crate) fn is_one_function(&self, found: &Found, other: u64) -> bool {
        match self.begins_at(found.place as usize, other) {
            Some(true) => true,
            _ => self.is_one_function_any(found, other),
        }
    }

    /// Whether the function of a change begins at the address `other`, as nearly every call leads to: then the change that begins it is
    /// one of that block, and at that place in it. `None`: that takes more to find out.
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

    /// The block that an address is in.
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
        // How many of the page's changes come before this block, and before the next one: two numbers side by side.
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
