//! Look-up: the change that holds at an address, and the function it belongs to.

use crate::bytes::Bytes;
use crate::lookup::{Found, LookupError};
use crate::map::format;
use crate::map::quick::{Block, near};
use crate::map::section::Map;
use crate::memory::Range;
use crate::row::Kept;

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

    /// Its entries of these, of which every page has one.
    pub(super) fn part<'a, T>(&self, of_pages: &'a [T]) -> Option<&'a [T]> {
        of_pages.get(self.first_page..)?.get(..self.pages)
    }

    pub(super) const fn start(&self) -> u64 {
        self.start
    }

    /// The page at a distance from its start, which is inside.
    fn page(&self, distance: u64) -> Option<usize> {
        let page = usize::try_from(distance / format::PAGE).ok()?;
        Some(self.first_page.wrapping_add(page))
    }

    /// How many units of code an address is behind its start.
    pub(super) const fn distance_to(&self, address: u64, unit: u32) -> u64 {
        address.wrapping_sub(self.start).wrapping_shr(unit)
    }

    /// The same, if it is inside.
    fn distance(&self, address: u64, unit: u32) -> Option<u64> {
        let distance = self.distance_to(address, unit);
        (distance / format::PAGE < self.pages as u64).then_some(distance)
    }
}

impl Map<'_> {
    /// Does what [`Self::look_up`] does, for any address, rule and byte order.
    #[inline(never)]
    pub(super) fn look_up_any(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        let damaged = LookupError::Damaged;
        let (page, distance) = self.page(pc).ok_or(LookupError::NoFunction)?;
        let (change, code) = self.at(page, distance).ok_or(damaged)?;
        let stored = self.stored(change, code).ok_or(damaged)?;
        found.range = Range::of_one(pc);
        // It is below their number, which has 32 bits.
        found.place = change as u32;
        found.is_trap = stored.is_signal();
        found.proof = stored.proof(self.proof);
        self.decode(stored, &mut found.rules)
    }

    /// All of the function at the address `pc`.
    // Its callees are called in sequence, so that their stack frames do not add up. Of all look-ups, this one is called with the most stack in
    // use.
    #[inline(never)]
    pub(crate) fn function(&self, pc: u64) -> Option<Range> {
        let (region, distance) = self.region(pc)?;
        let (start, end) = self.piece(&region, distance)?;
        let range = self.range_of(&region, start, end)?;
        // A damaged map may have changes that do not ascend.
        (!self.is_nothing(start)? && range.contains(pc)).then_some(range)
    }

    /// Does what [`Self::is_one_function`] does, for any place of `other` in its function.
    #[inline(never)]
    pub(super) fn is_one_function_any(&self, found: &Found, other: u64) -> bool {
        let at = self
            .page(other)
            .and_then(|(page, distance)| self.at(page, distance));
        let Some((change, _)) = at else {
            return false;
        };
        let found = found.place as usize;
        let first = found.min(change).wrapping_add(1);
        let passed = self.changes.get(first..=found.max(change));
        passed.is_some_and(|passed| {
            passed.len() < format::MAX_CHANGES && !passed.iter().any(|[_, code]| self.begins(*code))
        })
    }

    /// Returns the rules for the caller's `r4` to `r10` in the row for the address `pc`; `None` in a map that is not for 32-bit ARM.
    #[inline(never)]
    pub(crate) fn kept_at(&self, pc: u64) -> Option<Kept> {
        let (page, distance) = self.page(pc)?;
        let (change, code) = self.at(page, distance)?;
        self.kept(self.number_of(change, code)?)
    }

    /// Whether the address `pc` is in a function.
    pub(crate) fn is_in_function(&self, pc: u64) -> bool {
        let at = self
            .page(pc)
            .and_then(|(page, distance)| self.at(page, distance));
        let stored = at.and_then(|(change, code)| self.stored(change, code));
        stored.is_some_and(|stored| !stored.is_nothing())
    }

    /// The region with this number.
    pub(super) fn region_at(&self, number: usize) -> Option<Region> {
        let entry = Bytes::new(self.regions.get(number)?, self.order);
        Region::read(entry, self.address)
    }

    /// The region that an address is in, and its distance from the region's start in units of code.
    #[inline(always)]
    fn region(&self, pc: u64) -> Option<(Region, u64)> {
        (0..self.regions.len()).find_map(|number| {
            let region = self.region_at(number)?;
            Some((region, region.distance(pc, self.unit)?))
        })
    }

    /// The page that an address is in, and its distance from its region's start in units of code.
    #[inline(never)]
    fn page(&self, pc: u64) -> Option<(usize, u64)> {
        let (region, distance) = self.region(pc)?;
        Some((region.page(distance)?, distance))
    }

    /// The function, or the code without one, at a distance from a region's start: the change that begins it, and the one that ends it.
    #[inline(never)]
    pub(super) fn piece(&self, region: &Region, distance: u64) -> Option<(u32, u32)> {
        let (change, _) = self.at(region.page(distance)?, distance)?;
        let code = |change: usize| Some(self.changes.get(change)?[1]);
        let (mut start, mut end) = (change, change);
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
        // They are below the changes' number, which has 32 bits.
        Some((start as u32, end as u32))
    }

    /// Whether no function is where this change holds.
    pub(super) fn is_nothing(&self, change: u32) -> Option<bool> {
        let change = change as usize;
        let [_, code] = *self.changes.get(change)?;
        Some(self.stored(change, code)?.is_nothing())
    }

    /// The change that holds at a distance from a region's start, which is inside, in this page: its number and its code.
    #[inline(never)]
    fn at(&self, page: usize, distance: u64) -> Option<(usize, u8)> {
        let count = Bytes::new(self.pages.get(page)?, self.order).u16(4)?;
        let first = self.first_change(page)?;
        let blocks = Bytes::new(self.blocks.get(page)?, self.order);
        let at = (distance / format::BLOCK % format::BLOCKS).wrapping_mul(2) as usize;
        let number_of = |passed: u16| first.wrapping_add(passed.into()) as usize;
        let block = Block {
            from: number_of(blocks.u16(at)?),
            to: number_of(blocks.u16(at.wrapping_add(2))?),
            near: near(first, count, distance),
            place: distance as u8,
        };
        let change = block.change(self.changes)?;
        let [_, code] = *self.changes.get(change)?;
        Some((change, code))
    }

    /// The number of a page's first change.
    #[inline(always)]
    fn first_change(&self, page: usize) -> Option<u32> {
        Bytes::new(self.pages.get(page)?, self.order).u32(0)
    }

    /// The range between two changes of a region.
    pub(super) fn range_of(&self, region: &Region, start: u32, end: u32) -> Option<Range> {
        let start = self.address_of(region, start as usize)?;
        Some(Range::new(start, self.address_of(region, end as usize)?))
    }

    /// The address of a change of a region.
    #[inline(never)]
    fn address_of(&self, region: &Region, change: usize) -> Option<u64> {
        let block = self.block_of(region, change)?;
        let [place, _] = *self.changes.get(change)?;
        let units = block.wrapping_mul(format::BLOCK).wrapping_add(place.into());
        Some(region.start.wrapping_add(units.wrapping_shl(self.unit)))
    }

    /// The number of the block with a change of a region.
    fn block_of(&self, region: &Region, change: usize) -> Option<u64> {
        let first = |page: usize| self.first_change(region.first_page.wrapping_add(page));
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
        let passed = change.checked_sub(first(page)? as usize)?;
        let blocks = self.blocks.get(region.first_page.wrapping_add(page))?;
        let blocks = Bytes::new(blocks, self.order);
        let block = (0..format::BLOCKS).find(|block| {
            let end = blocks.u16((*block as usize).wrapping_mul(2).wrapping_add(2));
            end.is_some_and(|end| passed < usize::from(end))
        })?;
        Some(
            (page as u64)
                .wrapping_mul(format::BLOCKS)
                .wrapping_add(block),
        )
    }
}
