//! Where code is, if nobody says it: what lies between functions with rows.

use unwind::{Code, Range};

use super::memory::Stacks;
use crate::image::Section;

/// More of them than an image has sections with code that lie apart.
const MOST: usize = 4;

/// More bytes than any kernel has of code: what a damaged table says is not looked for.
const CODE: u64 = 1 << 28;

/// What lies between two functions of one section, if they have rows: padding, and functions without.
const GAP: u64 = 1 << 16;

/// The code of an image, in one piece or in several that lie apart. The first ones are there; the others are empty.
#[derive(Clone, Copy, Debug)]
pub(super) struct Regions([Section; MOST]);

impl Regions {
    /// Code in one piece.
    pub(super) fn one(code: Section) -> Self {
        let mut regions = Self([Section::new(&[]); MOST]);
        regions.add(code);
        regions
    }

    /// What lies between all functions with rows, as far as it can be read: in one piece, unless that has holes.
    pub(super) fn described<F: Iterator<Item = Range>>(
        functions: impl Fn() -> F,
        stacks: &Stacks,
    ) -> Self {
        let mut regions = Self::one(Section::new(&[]));
        let can_be_read = |region: &Range| {
            let size = region.end.saturating_sub(region.start);
            size <= CODE && stacks.are_memory(region.start, region.end)
        };
        let mut found = apart(functions(), CODE);
        if !found
            .iter()
            .all(|region| region.end == 0 || can_be_read(region))
        {
            found = apart(functions(), GAP);
        }
        for region in found
            .iter()
            .filter(|region| region.end != 0 && can_be_read(region))
        {
            // SAFETY: each page is mapped, and in an image no code changes.
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
    pub(super) fn code(&self) -> ([Code<'static>; MOST], usize) {
        let count = self.0.iter().filter(|region| !region.bytes.is_empty());
        let code = self.0.map(|region| Code::new(region.bytes, region.address));
        (code, count.count())
    }

    /// The one with this address; an empty one if there is none.
    pub(super) fn with(&self, pc: u64) -> Section {
        let mut all = self.0.iter();
        let its = all.find(|region| (region.address..region.end()).contains(&pc));
        its.copied().unwrap_or(Section::new(&[]))
    }
}

/// The ranges that functions lie in, with no more than so many bytes between two of them. The others are empty. Functions beyond
/// the last range belong to none.
fn apart(functions: impl Iterator<Item = Range>, gap: u64) -> [Range; MOST] {
    let mut ranges = [Range::new(0, 0); MOST];
    for function in functions.filter(|function| function.start < function.end) {
        let is_near = |range: &&mut Range| {
            range.end == 0
                || (function.start <= range.end.saturating_add(gap)
                    && range.start <= function.end.saturating_add(gap))
        };
        match ranges.iter_mut().find(is_near) {
            Some(range) if range.end == 0 => *range = function,
            Some(range) => {
                range.start = range.start.min(function.start);
                range.end = range.end.max(function.end);
            }
            None => {}
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
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
