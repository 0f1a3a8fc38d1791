//! The quick way of nearly all look-ups: in the map's first region, of numbers in this machine's byte order, to a rule that a byte names
//! and whose offsets are in it. What it finds is what [`Map::look_up_any`] finds; what it does not, that one is asked for, by a jump, so
//! that no register has to be saved for it.

use crate::lookup::{Found, LookupError};
use crate::map::format;
use crate::map::section::Map;
use crate::memory::Range;
use crate::reads;
use crate::rules::Rules;

/// Where the code for the canonical frame address is in a rule's first number, and what it has there if that has a value.
const CFA: u32 = format::SHIFTS[0];
const HAS_VALUE: u16 = format::KIND_SHORT | (format::VALUE as u16) << CFA;

/// The changes of a block of code, and an address in it.
#[derive(Clone, Copy)]
struct Block {
    from: usize,
    to: usize,
    /// The address's place in the block, in units.
    place: u8,
}

/// Those of a block's changes that lie behind this place in it. All look-ups ask this, so that they agree by damaged maps, too.
#[inline(always)]
pub(super) fn behind(changes: &[[u8; 2]], place: u8) -> &[[u8; 2]] {
    let mut rest = changes;
    // They ascend, so the last of four tells of all.
    while let [_, _, _, [last, _], behind @ ..] = rest
        && *last <= place
    {
        rest = behind;
    }
    while let [[next, _], behind @ ..] = rest
        && *next <= place
    {
        rest = behind;
    }
    rest
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
        let block = self.quick_block(pc)?;
        let rest = behind(self.changes.get(block.from..block.to)?, block.place);
        // It may be one of a block before.
        let change = block.to.wrapping_sub(rest.len()).checked_sub(1)?;
        let [_, code] = *self.changes.get(change)?;
        let number = code.wrapping_sub(1);
        if usize::from(number) >= format::CODES {
            return None;
        }
        reads::note();
        let [a, b, c, d, e, f, g, h] = *self.rules.get(usize::from(number))?;
        let flags = u16::from_ne_bytes([a, b]);
        // No other kind has these bits: the rules of a row, with a canonical frame address.
        if flags & (format::KIND | HAS_VALUE) != HAS_VALUE {
            return None;
        }
        let offset = |bytes| i64::from(i16::from_ne_bytes(bytes)).wrapping_mul(format::SCALE);
        let offsets = [offset([c, d]), offset([e, f]), offset([g, h])];
        *found = Found {
            range: Range::of_one(pc),
            // It is below their number, which has 32 bits.
            place: change as u32,
            is_trap: flags & format::SIGNAL != 0,
            rules: Rules::short(flags.wrapping_shr(CFA).into(), offsets),
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
        let page = self.quick_pages.get(page)?;
        let place = (distance / format::BLOCK % format::BLOCKS) as usize;
        reads::note();
        let first = u32::from_ne_bytes(*page.first_chunk()?);
        // How many changes of the page there are up to the end of the block before, and of this one: two numbers side by side.
        let ends = page.get(place.wrapping_mul(2).wrapping_add(2)..)?;
        let ends = u32::from_ne_bytes(*ends.first_chunk()?);
        let (low, high) = (ends & 0xffff, ends >> 16);
        let (before, end) = match cfg!(target_endian = "little") {
            true => (low, high),
            false => (high, low),
        };
        // Before the first block the page's first change is.
        let before = if place == 0 { 0 } else { before };
        Some(Block {
            from: first.wrapping_add(before) as usize,
            to: first.wrapping_add(end) as usize,
            place: distance as u8,
        })
    }
}
