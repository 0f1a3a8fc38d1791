//! Regions: code without large gaps.

use unwind::map::format;

use super::changes::Change;
use super::unfit::Unfit;

/// Gaps of more pages than this begin a new region, unless there are too many: a page without a change takes as much as others.
const GAP: u64 = 4;

/// The greatest number of pages: they take 40 MiB.
const MAX_PAGES: u64 = 1 << 20;

/// The changes of each region. Every gap begins with a change, which ends its region.
pub(super) fn regions(changes: &[Change], unit: u8) -> Result<Vec<&[Change]>, Unfit> {
    let page = format::PAGE << unit;
    let mut gap = GAP;
    loop {
        let regions: Vec<_> = split(changes, gap.saturating_mul(page)).collect();
        if regions.len() <= format::MAX_REGIONS as usize {
            let pages = regions.iter().filter_map(|region| {
                let (first, last) = (region.first()?, region.last()?);
                Some((last.address - first.address) / page + 1)
            });
            // A sum of at most 16 numbers below 2^52.
            return match pages.sum::<u64>() <= MAX_PAGES {
                true => Ok(regions),
                false => Err(Unfit::TooLarge),
            };
        }
        gap = gap.saturating_mul(2);
    }
}

fn split(changes: &[Change], gap: u64) -> impl Iterator<Item = &[Change]> {
    changes.chunk_by(move |before, after| {
        !before.rule.is_nothing() || after.address - before.address <= gap
    })
}
