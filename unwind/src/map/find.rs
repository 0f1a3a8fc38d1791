//! Look-up: the change that holds at an address, and the function it belongs to.

use crate::bytes::Bytes;
use crate::lookup::{Found, LookupError};
use crate::map::format;
use crate::map::quick::behind;
use crate::map::section::Map;
use crate::memory::Range;

/// Code without a gap that is worth another region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    start: u64,
    first_page: usize,
    pages: usize,
}

impl Region {
    /// The region of an entry, of a map at this address.
    pub(super) fn read(entry: Bytes<'_>, map: u64) -> Option<Self> {
        Some(Self {
            start: entry.u64(0)?.wrapping_add(map),
            first_page: entry.u32(8)? as usize,
            pages: entry.u32(12)? as usize,
        })
    }

    /// Its start, and its entries of these.
    pub(super) fn part<'a, T>(&self, pages: &'a [T]) -> Option<(u64, &'a [T])> {
        let pages = pages.get(self.first_page..)?.get(..self.pages)?;
        Some((self.start, pages))
    }

    /// How many units of code an address is behind its start, if it is inside.
    fn distance(&self, address: u64, unit: u32) -> Option<u64> {
        let distance = address.wrapping_sub(self.start).wrapping_shr(unit);
        (distance / format::PAGE < self.pages as u64).then_some(distance)
    }
}

/// The changes of a block of code: their numbers, from the first up to the next block's first.
#[derive(Clone, Copy)]
struct Block {
    /// The block's number in its region.
    number: u64,
    from: usize,
    to: usize,
}

/// The change that holds at an address.
#[derive(Clone, Copy)]
struct At {
    block: Block,
    change: usize,
    code: u8,
}

impl Map<'_> {
    /// As [`Self::look_up`], of any address, rule and byte order.
    #[inline(never)]
    pub(super) fn look_up_any(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        let damaged = LookupError::Damaged;
        let (region, distance) = self.region(pc).ok_or(LookupError::NoFunction)?;
        let at = self.at(&region, distance).ok_or(damaged)?;
        let stored = self.stored(at.change, at.code).ok_or(damaged)?;
        found.range = Range::of_one(pc);
        // It is below their number, which has 32 bits.
        found.place = at.change as u32;
        found.is_trap = stored.is_signal();
        self.decode(stored, &mut found.rules)
    }

    /// All of the function at the address `pc`.
    #[inline(never)]
    pub(crate) fn function(&self, pc: u64) -> Option<Range> {
        let (region, distance) = self.region(pc)?;
        let (range, _, is_function) = self.piece(&region, distance)?;
        // A damaged map may have changes that do not ascend.
        (is_function && range.contains(pc)).then_some(range)
    }

    /// As [`Self::is_one_function`], wherever in its function `other` is.
    #[inline(never)]
    pub(super) fn is_one_function_any(&self, found: &Found, other: u64) -> bool {
        let at = self
            .region(other)
            .and_then(|(region, distance)| self.at(&region, distance));
        let Some(at) = at else {
            return false;
        };
        let found = found.place as usize;
        let first = found.min(at.change).wrapping_add(1);
        let passed = self.changes.get(first..=found.max(at.change));
        passed.is_some_and(|passed| {
            passed.len() < format::MAX_CHANGES && !passed.iter().any(|[_, code]| self.begins(*code))
        })
    }

    /// Whether the address `pc` is in a function.
    pub(crate) fn is_in_function(&self, pc: u64) -> bool {
        let at = self
            .region(pc)
            .and_then(|(region, distance)| self.at(&region, distance));
        let stored = at.and_then(|at| self.stored(at.change, at.code));
        stored.is_some_and(|stored| !stored.is_nothing())
    }

    /// The region with this number.
    pub(super) fn region_at(&self, number: usize) -> Option<Region> {
        let entry = Bytes::new(self.regions.get(number)?, self.order);
        Region::read(entry, self.address)
    }

    /// The region that an address is in, and its distance from the region's start in units of code.
    #[inline(never)]
    fn region(&self, pc: u64) -> Option<(Region, u64)> {
        (0..self.regions.len()).find_map(|number| {
            let region = self.region_at(number)?;
            Some((region, region.distance(pc, self.unit)?))
        })
    }

    /// The function, or the code without one, at a distance from a region's start: its range, the distance of its end, and whether it
    /// is a function.
    pub(super) fn piece(&self, region: &Region, distance: u64) -> Option<(Range, u64, bool)> {
        let at = self.at(region, distance)?;
        let stored = self.stored(at.change, at.code)?;
        let range = self.range_of(region, &at)?;
        let end = range.end.wrapping_sub(region.start).wrapping_shr(self.unit);
        Some((range, end, !stored.is_nothing()))
    }

    /// The change that holds at a distance from a region's start, which is inside.
    fn at(&self, region: &Region, distance: u64) -> Option<At> {
        let block = self.block(region, distance / format::BLOCK)?;
        let place = distance as u8;
        let changes = self.changes.get(block.from..block.to)?;
        let rest = behind(changes, place);
        // It may be one of a block before.
        let change = block.to.wrapping_sub(rest.len()).checked_sub(1)?;
        let [_, code] = *self.changes.get(change)?;
        Some(At {
            block,
            change,
            code,
        })
    }

    /// The changes of a block of a region, by its number.
    fn block(&self, region: &Region, number: u64) -> Option<Block> {
        let page = usize::try_from(number / format::BLOCKS).ok()?;
        let page = self.pages.get(region.first_page.wrapping_add(page))?;
        let page = Bytes::new(page, self.order);
        let first = page.u32(0)?;
        let place = (number % format::BLOCKS) as usize;
        // How many changes of the page there are up to the end of each of its blocks.
        let end = |block: usize| page.u16(block.wrapping_mul(2).wrapping_add(4));
        let before = match place.checked_sub(1) {
            Some(before) => end(before)?,
            None => 0,
        };
        let number_of = |passed: u16| first.wrapping_add(passed.into()) as usize;
        Some(Block {
            number,
            from: number_of(before),
            to: number_of(end(place)?),
        })
    }

    /// The range of the function that a change belongs to.
    #[inline(always)]
    fn range_of(&self, region: &Region, at: &At) -> Option<Range> {
        let code = |change: usize| Some(self.changes.get(change)?[1]);
        let (mut start, mut end) = (at.change, at.change);
        let mut left = const { format::MAX_CHANGES * 2 };
        while !self.begins(code(start)?) {
            left = left.checked_sub(1)?;
            start = start.checked_sub(1)?;
        }
        loop {
            left = left.checked_sub(1)?;
            end = end.wrapping_add(1);
            if self.begins(code(end)?) {
                break;
            }
        }
        let start = self.address_of(region, at, start)?;
        Some(Range::new(start, self.address_of(region, at, end)?))
    }

    /// The address of a change of the same region, which is mostly in the same page.
    #[inline(never)]
    fn address_of(&self, region: &Region, near: &At, change: usize) -> Option<u64> {
        let block = match near.block.from <= change && change < near.block.to {
            true => near.block.number,
            false => {
                let page = near.block.number / format::BLOCKS;
                match self.block_in_page(region, page, change) {
                    Some(block) => block,
                    None => self.block_of(region, change)?,
                }
            }
        };
        let [place, _] = *self.changes.get(change)?;
        let units = block.wrapping_mul(format::BLOCK).wrapping_add(place.into());
        Some(region.start.wrapping_add(units.wrapping_shl(self.unit)))
    }

    /// The number of the block with a change, if it is in this page of a region.
    #[inline(never)]
    fn block_in_page(&self, region: &Region, page: u64, change: usize) -> Option<u64> {
        let entry = usize::try_from(page).ok()?;
        let entry = self.pages.get(region.first_page.wrapping_add(entry))?;
        let entry = Bytes::new(entry, self.order);
        let passed = change.checked_sub(entry.u32(0)? as usize)?;
        let block = (0..format::BLOCKS).find(|block| {
            let end = entry.u16((*block as usize).wrapping_mul(2).wrapping_add(4));
            end.is_some_and(|end| passed < usize::from(end))
        })?;
        Some(page.wrapping_mul(format::BLOCKS).wrapping_add(block))
    }

    /// The number of the block with a change of a region.
    #[inline(never)]
    fn block_of(&self, region: &Region, change: usize) -> Option<u64> {
        let first = |page: usize| {
            let page = self.pages.get(region.first_page.wrapping_add(page))?;
            Bytes::new(page, self.order).u32(0)
        };
        // The last page whose first change is at most this one: pages without a change have the number of the next one.
        let (mut page, mut rest) = (0_usize, region.pages);
        while rest > 1 {
            let half = rest >> 1;
            let middle = page.wrapping_add(half);
            if first(middle)? as usize <= change {
                page = middle;
            }
            rest = rest.wrapping_sub(half);
        }
        self.block_in_page(region, page as u64, change)
    }
}
