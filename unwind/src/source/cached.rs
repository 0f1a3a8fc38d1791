//! A row source with a cache in front.

use super::RowSource;
use crate::cache::RuleCache;
use crate::code::Code;
use crate::lookup::{Found, LookupError};
use crate::memory::Range;
use crate::registers::Machine;
use crate::restored::Restored;
use crate::row::Rule;
use crate::verdict::End;

/// A source of rows with a [`RuleCache`] in front. For a profiler, which walks through the same functions again and again.
///
/// A walk finds the same frames as without the cache, with three fifths of the instructions for each frame, or fewer.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::TABLE;
/// use unwind::{Cached, Found, RowSource, RuleCache, sframe::Tables};
///
/// static CACHE: RuleCache<2048> = RuleCache::new();
///
/// let source = Cached::new(Tables::new(&TABLE, 0x2000), &CACHE);
/// let (mut first, mut again) = (Found::EMPTY, Found::EMPTY);
/// assert_eq!(source.look_up(0x1004, &mut first), Ok(()));
/// assert_eq!(source.look_up(0x1004, &mut again), Ok(()));
/// assert_eq!(first.rules, again.rules);
/// ```
#[derive(Debug)]
pub struct Cached<'a, S, const ENTRIES: usize> {
    source: S,
    cache: &'a RuleCache<ENTRIES>,
}

impl<S: Copy, const ENTRIES: usize> Copy for Cached<'_, S, ENTRIES> {}

impl<S: Clone, const ENTRIES: usize> Clone for Cached<'_, S, ENTRIES> {
    fn clone(&self) -> Self {
        Self {
            source: self.source.clone(),
            cache: self.cache,
        }
    }
}

impl<'a, S: RowSource, const ENTRIES: usize> Cached<'a, S, ENTRIES> {
    /// Creates a source that keeps the rows of `source` in `cache`. Other sources must not use the same cache.
    pub const fn new(source: S, cache: &'a RuleCache<ENTRIES>) -> Self {
        Self { source, cache }
    }

    /// Does what [`RowSource::look_up`] does, for an address that is not in the cache.
    #[inline(never)]
    fn look_up_and_keep(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        self.source.look_up(pc, found)?;
        let function = self.source.function(pc).unwrap_or(found.range);
        // Damaged tables may contain anything.
        if function.contains(pc) {
            found.range = function;
            self.cache.put(pc, function.start, found);
        }
        Ok(())
    }
}

impl<S: RowSource, const ENTRIES: usize> RowSource for Cached<'_, S, ENTRIES> {
    fn describes(&self, machine: Machine) -> Result<(), End> {
        self.source.describes(machine)
    }

    #[inline(always)]
    fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        let Some((rules, proof, start)) = self.cache.get(pc) else {
            return self.look_up_and_keep(pc, found);
        };
        // Up to `pc`: nearly every call leads to the start of its function. The place is for the source, which does not get this value.
        found.range = Range::new(start, pc.wrapping_add(1));
        (found.is_trap, found.proof, found.rules) = (false, proof, rules);
        Ok(())
    }

    fn function(&self, pc: u64) -> Option<Range> {
        if let function @ Some(_) = self.source.function(pc) {
            return function;
        }
        let mut found = Found::EMPTY;
        let outcome = self.source.look_up(pc, &mut found);
        outcome.ok().map(|()| found.range)
    }

    #[inline(never)]
    fn is_one_function(&self, found: &Found, other: u64) -> bool {
        // The cache does not contain the place that the source uses.
        let mut own = Found::EMPTY;
        self.source.look_up(found.last_address(), &mut own).is_ok()
            && (own.range.contains(other) || self.source.is_one_function(&own, other))
    }

    fn restored(&self, pc: u64, restored: &mut Restored) {
        self.source.restored(pc, restored);
    }

    fn interrupted_link(&self, pc: u64) -> Option<Rule> {
        self.source.interrupted_link(pc)
    }

    fn stack_pointer(&self, pc: u64) -> Option<u64> {
        self.source.stack_pointer(pc)
    }

    fn covers(&self, pc: u64) -> bool {
        self.source.covers(pc)
    }

    fn doubt(&self) -> Option<End> {
        self.source.doubt()
    }

    #[inline(always)]
    fn read_code(&self, machine: Machine, code: &Code<'_>, pc: u64) -> Option<Found> {
        self.source.read_code(machine, code, pc)
    }
}
