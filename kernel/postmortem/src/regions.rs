//! The code of an image that can be read: a kernel may have unmapped code that it does not need any more.

use unwind::{Code, Range, RegisterSet as _};

use crate::arch::Registers;
use crate::image::Section;
use crate::probe;

/// More of them than an image has sections with code that lie apart.
const MOST: usize = 4;

/// Bytes of a page, the least that can be unmapped.
const PAGE: u64 = 4096;

/// More bytes than the code of any kernel has. A longer range in a damaged table is not used.
pub(crate) const CODE: u64 = 1 << 28;

/// Bytes between two ranges of one section: padding, code that is patched, and functions without rows.
pub(crate) const GAP: u64 = 1 << 16;

/// The code of an image, in one piece or in several that lie apart. The first ones are there; the others are empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Regions([Section; MOST]);

impl Regions {
    /// Code in one piece.
    pub(crate) fn one(code: Section) -> Self {
        let mut regions = Self([Section::new(&[]); MOST]);
        regions.add(code);
        regions
    }

    /// The pieces of this code that can be read. Each page is tried.
    pub(crate) fn readable(code: Section) -> Self {
        // In a test the bytes are elsewhere.
        let shift = (code.bytes.as_ptr() as u64).wrapping_sub(code.address);
        Self::pieces(code, |at| {
            let word = at.wrapping_add(shift) & !(Registers::WORD - 1);
            // SAFETY: aligned, and in a page of code, which is not a device.
            unsafe { probe::read(word) }.is_some()
        })
    }

    /// The pieces of this code in pages that `can_be_read`, which gets an address in the page.
    fn pieces(code: Section, can_be_read: impl Fn(u64) -> bool) -> Self {
        let mut regions = Self::one(Section::new(&[]));
        let (mut from, mut at) = (code.address, code.address);
        while at < code.end() {
            let next = (at | (PAGE - 1)).saturating_add(1).min(code.end());
            if !can_be_read(at) {
                regions.add(code.part(from, at));
                from = next;
            }
            at = next;
        }
        regions.add(code.part(from, at));
        regions
    }

    /// The first address of these ranges of code that is in none of these regions.
    pub(crate) fn first_missing(&self, mut code: impl Iterator<Item = Range>) -> Option<u64> {
        code.find_map(|code| {
            // At most one region continues after each region.
            let at = (0..MOST).fold(code.start, |at, _| match self.with(at) {
                Section { bytes: [], .. } => at,
                region => region.end(),
            });
            (at < code.end).then_some(at)
        })
    }

    /// Returns the regions that contain all these ranges of code and what is between them, if `are_memory`. `gaps` are the most bytes between
    /// two ranges of a region, in the order in which they are tried.
    pub(crate) fn described<F: Iterator<Item = Range>>(
        code: impl Fn() -> F,
        gaps: &[u64],
        are_memory: impl Fn(&Range) -> bool,
    ) -> Self {
        let can_be_read = |region: &Range| {
            let size = region.end.saturating_sub(region.start);
            size <= CODE && are_memory(region)
        };
        let mut found = [Range::new(0, 0); MOST];
        for gap in gaps {
            found = apart(code(), *gap);
            let mut used = found.iter().filter(|region| region.end != 0);
            if used.all(can_be_read) {
                break;
            }
        }
        let mut regions = Self::one(Section::new(&[]));
        for region in found
            .iter()
            .filter(|region| region.end != 0 && can_be_read(region))
        {
            // SAFETY: `are_memory` has accepted the range, and in an image no code changes.
            let code =
                unsafe { Section::between(region.start as *const u8, region.end as *const u8) };
            regions.add(code);
        }
        regions
    }

    /// Adds one that is not empty, if there is room.
    fn add(&mut self, code: Section) {
        let place = self.0.iter_mut().find(|region| region.bytes.is_empty());
        if let Some(place) = place {
            *place = code;
        }
    }

    /// Those that are there, as a walk knows code: so many of them.
    pub(crate) fn code(&self) -> ([Code<'static>; MOST], usize) {
        let code = self.0.map(|region| Code::new(region.bytes, region.address));
        (code, self.iter().count())
    }

    /// Those that are there.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Section> {
        self.0.iter().filter(|region| !region.bytes.is_empty())
    }

    /// The one with this address; an empty one if there is none.
    pub(crate) fn with(&self, pc: u64) -> Section {
        let mut all = self.0.iter();
        let its = all.find(|region| (region.address..region.end()).contains(&pc));
        its.copied().unwrap_or(Section::new(&[]))
    }
}

/// The ranges that pieces of code lie in, with at most `gap` bytes between two of them. The others are empty. Pieces beyond the last range
/// belong to none.
fn apart(pieces: impl Iterator<Item = Range>, gap: u64) -> [Range; MOST] {
    let mut ranges = [Range::new(0, 0); MOST];
    for piece in pieces.filter(|piece| piece.start < piece.end) {
        let is_near = |range: &&mut Range| {
            range.end == 0
                || (piece.start <= range.end.saturating_add(gap)
                    && range.start <= piece.end.saturating_add(gap))
        };
        match ranges.iter_mut().find(is_near) {
            Some(range) if range.end == 0 => *range = piece,
            Some(range) => {
                range.start = range.start.min(piece.start);
                range.end = range.end.max(piece.end);
            }
            None => {}
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use core::iter::once;

    use super::*;

    fn apart_by(functions: &[(u64, u64)], gap: u64) -> Vec<(u64, u64)> {
        let ranges = functions
            .iter()
            .map(|(start, end)| Range::new(*start, *end));
        let ranges = apart(ranges, gap);
        let there = ranges.iter().filter(|range| range.end != 0);
        there.map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn functions_that_lie_together_are_one_region() {
        let near = [
            (0x1000, 0x1010),
            (0x1020, 0x1020),
            (0x1120, 0x1130),
            (0x900, 0xf00),
        ];
        assert_eq!(apart_by(&near, 0x110), [(0x900, 0x1130)]);
        let far = [(0x1000, 0x1010), (0x1121, 0x1130), (u64::MAX - 8, u64::MAX)];
        assert_eq!(apart_by(&far, 0x110), far);
        assert_eq!(apart_by(&far, u64::MAX), [(0x1000, u64::MAX)]);
        assert_eq!(apart_by(&[], 0x110), []);
    }

    #[test]
    fn what_is_beyond_the_last_region_is_left_out() {
        let regions: Vec<_> = (1..=MOST as u64 + 1)
            .map(|at| (at << 20, (at << 20) + 8))
            .collect();
        assert_eq!(apart_by(&regions, 0x1000), regions[..MOST]);
    }

    #[test]
    fn pages_that_cannot_be_read_are_left_out() {
        static CODE: [u8; 0x5000] = [0; 0x5000];
        let code = Section {
            bytes: &CODE,
            address: 0x10_0010,
        };
        let pieces = |unmapped: &[u64]| {
            let regions = Regions::pieces(code, |at| !unmapped.contains(&(at >> 12)));
            let all = regions.iter().map(|it| (it.address, it.end()));
            let missing = regions.first_missing(once(code.range()));
            (all.collect::<Vec<_>>(), missing)
        };
        let whole = (vec![(0x10_0010, 0x10_5010)], None);
        assert_eq!(pieces(&[0xff, 0x106]), whole);
        let (first, last) = (0x10_1000, 0x10_5000);
        assert_eq!(
            pieces(&[0x100]),
            (vec![(first, 0x10_5010)], Some(0x10_0010))
        );
        assert_eq!(pieces(&[0x105]), (vec![(0x10_0010, last)], Some(last)));
        let two = vec![
            (0x10_0010, first),
            (0x10_2000, 0x10_4000),
            (last, 0x10_5010),
        ];
        assert_eq!(pieces(&[0x101, 0x104]), (two, Some(first)));
        let none = (vec![], Some(0x10_0010));
        assert_eq!(pieces(&[0x100, 0x101, 0x102, 0x103, 0x104, 0x105]), none);
    }

    #[test]
    fn an_address_has_the_region_that_it_is_in() {
        static CODE: [u8; 8] = [0; 8];
        let mut regions = Regions::one(Section {
            bytes: &CODE,
            address: 0x1000,
        });
        let (_, count) = regions.code();
        assert_eq!(count, 1);
        regions.add(Section {
            bytes: &CODE,
            address: 0x8000,
        });
        assert_eq!(regions.code().1, 2);
        for (pc, address) in [
            (0x1000, Some(0x1000)),
            (0x1007, Some(0x1000)),
            (0x1008, None),
            (0x8004, Some(0x8000)),
            (0, None),
        ] {
            let section = regions.with(pc);
            let found = (!section.bytes.is_empty()).then_some(section.address);
            assert_eq!(found, address, "{pc:#x}");
        }
    }
}
