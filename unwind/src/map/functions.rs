//! All functions of a map, in order.

use core::iter::FusedIterator;

use crate::map::section::Map;
use crate::memory::Range;

/// Iterator over the ranges of a map's functions: [`Map::functions`].
#[derive(Clone, Debug)]
pub struct Functions<'a> {
    map: Map<'a>,
    /// The region that is looked through, and how far it was, in units of code.
    region: usize,
    passed: u64,
}

impl<'a> Map<'a> {
    /// The ranges of all functions, in the order of the regions. Of a damaged map, as far as they can be read.
    #[must_use]
    pub const fn functions(&self) -> Functions<'a> {
        Functions {
            map: *self,
            region: 0,
            passed: 0,
        }
    }
}

impl Iterator for Functions<'_> {
    type Item = Range;

    fn next(&mut self) -> Option<Range> {
        loop {
            let region = self.map.region_at(self.region)?;
            let piece = self.map.piece(&region, self.passed);
            let piece = piece.and_then(|(start, end)| {
                let range = self.map.range_of(&region, start, end)?;
                Some((
                    range,
                    region.distance_to(range.end, self.map.unit),
                    !self.map.is_nothing(start)?,
                ))
            });
            // Each piece lies behind the one before it, or the map is damaged.
            let ahead = piece.filter(|(_, end, _)| *end > self.passed);
            let Some((range, end, is_function)) = ahead else {
                self.region = self.region.wrapping_add(1);
                self.passed = 0;
                continue;
            };
            self.passed = end;
            if is_function {
                return Some(range);
            }
        }
    }
}

impl FusedIterator for Functions<'_> {}
