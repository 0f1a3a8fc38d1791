//! All functions of a map, in order.

use core::iter::FusedIterator;

use crate::map::section::Map;
use crate::memory::Range;

/// Iterator over the ranges of a map's functions. [`Map::functions`] returns it.
#[derive(Clone, Debug)]
pub struct Functions<'a> {
    map: Map<'a>,
    /// The current region, and the distance in it up to which functions were returned, in units of code.
    region: usize,
    passed: u64,
}

impl<'a> Map<'a> {
    /// Returns the ranges of all functions, in the order of the regions. In a damaged map, some may be missing or wrong.
    ///
    /// ```
    /// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
    /// # use example::*;
    /// use unwind::{Range, map::Map};
    ///
    /// let functions: Vec<Range> = Map::parse(&MAP, 0x2000)?.functions().collect();
    /// assert_eq!(functions, [Range::new(0x1000, 0x1010), Range::new(0x1010, 0x1030)]);
    /// # Ok::<(), unwind::map::MapError>(())
    /// ```
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
            // Each piece follows the previous piece, or the map is damaged.
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
