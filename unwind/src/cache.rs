//! A cache of rules that walks share: a word for each address, and a word for each different rule.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::lookup::{Found, Proof};
use crate::rules::Rules;

/// The maximum number of different rules plus 1. Real images have 93 to 786 rules, and the 239 most frequent of them apply to 99.4 % of rows.
const RULES: usize = 512;
/// The number of places that are tried for a rule.
const PROBES: usize = 8;

/// The minimum number of entries. The number of an entry replaces the bits of its address for which its word has no space.
const FEWEST: usize = 1024;

/// The number of low bits of an address that are stored, and the number with one more bit, for the bits above them, which are all ones or all
/// zeros. On x86-64 these equal the highest low bit, but not on AArch64, where kernels begin at 0xffff_0000_0000_0000.
const LOW: u32 = 48;
const ADDRESS: u32 = LOW + 1;
/// The number of address bits that the entry's number contains.
const NUMBER: u32 = FEWEST.trailing_zeros();
/// The shifts in an entry. It contains the address without the lowest bits, then the rule's number, then the distance from the function's start
/// in bytes.
const RULE: u32 = ADDRESS - NUMBER;
const DISTANCE: u32 = RULE + RULES.trailing_zeros();

/// Values of [`Rules::FREE`] in a rule's word, for [`Proof::Proven`] and [`Proof::Unproven`]. All bits are set for [`Proof::Unknown`].
const PROVEN: u64 = 0;
const UNPROVEN: u64 = 1 << Rules::FREE.trailing_zeros();

/// The cache of [`Cached`](crate::Cached): the rules for addresses that were looked up. A static, which all walks share.
///
/// `ENTRIES` is the number of addresses: a power of two, at least 1,024. The cache takes 8 bytes for each, and 4 KiB for rules. Each address
/// has one possible entry, and a new address replaces an old address in its entry. With 2,048 entries, few of 200 addresses replace each
/// other.
///
/// - **No locks.** Each entry is one word, which is read and written as a whole, so a walk in an NMI or on another CPU can use the cache at
///   any time. On AArch64, the memory must be cacheable, with the MMU on, as for all atomic operations.
/// - **Changed tables.** The entries are valid as long as the tables do not change. If they change, call [`Self::clear`] while no walk runs.
/// - **Crash reports** should not use a cache: tables can be verified before a report, but a stray write into a cache is not noticed.
///
/// ```
/// use unwind::{Cached, ImageTables, RuleCache, Unwinder};
///
/// static RULES: RuleCache<2048> = RuleCache::new();
///
/// /// Creates the unwinder for one sample of a profiler.
/// fn unwinder(tables: ImageTables<'_>) -> Unwinder<'_, Cached<'_, ImageTables<'_>, 2048>> {
///     Unwinder::new(Cached::new(tables, &RULES))
/// }
/// ```
#[derive(Debug)]
pub struct RuleCache<const ENTRIES: usize> {
    entries: [AtomicU64; ENTRIES],
    rules: [AtomicU64; RULES],
}

impl<const ENTRIES: usize> RuleCache<ENTRIES> {
    /// Creates an empty cache. If `ENTRIES` is not a power of two, or less than 1,024, the program does not compile.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(ENTRIES.is_power_of_two() && ENTRIES >= FEWEST) };
        Self {
            entries: [const { AtomicU64::new(0) }; ENTRIES],
            rules: [const { AtomicU64::new(0) }; RULES],
        }
    }

    /// Removes all entries.
    pub fn clear(&self) {
        // The rules may stay, because they do not depend on functions, and an entry that is being read still needs its rule.
        for entry in &self.entries {
            entry.store(0, Ordering::Relaxed);
        }
    }

    /// Returns the rules at an address, their proof, and the start of its function.
    #[inline(always)]
    pub(crate) fn get(&self, pc: u64) -> Option<(Rules, Proof, u64)> {
        let (tag, number) = place(pc, ENTRIES);
        // `Acquire`: the rule that `put` wrote before the entry is visible.
        let entry = self.entries.get(number)?.load(Ordering::Acquire);
        if extended(entry) != tag {
            return None;
        }
        let rule = (entry >> RULE) as usize % RULES;
        // An empty entry has the rule with the number 0, which is never written.
        let word = self.rules.get(rule)?.load(Ordering::Relaxed);
        if word == 0 {
            return None;
        }
        let proof = match word & Rules::FREE {
            PROVEN => Proof::Proven,
            UNPROVEN => Proof::Unproven,
            _ => Proof::Unknown,
        };
        let start = pc.wrapping_sub(entry >> DISTANCE);
        Some((Rules::of_narrow(word), proof, start))
    }

    /// Stores the rules found for an address, in a function that begins at `start`. Does nothing if they do not fit.
    #[inline(never)]
    pub(crate) fn put(&self, pc: u64, start: u64, found: &Found) {
        let distance = pc.wrapping_sub(start);
        let (tag, number) = place(pc, ENTRIES);
        // The address can be recovered from its entry.
        let is_kept = extended(tag) == tag;
        if !is_kept || found.is_trap || distance >> (u64::BITS - DISTANCE) != 0 {
            return;
        }
        let proof = match found.proof {
            Proof::Proven => PROVEN,
            // Rows of trap code are not kept, see above.
            Proof::Unproven | Proof::IfEntered => UNPROVEN,
            Proof::Unknown => Rules::FREE,
        };
        let word = found.rules.narrow().map(|word| word | proof);
        let Some(rule) = word.and_then(|word| self.rule(word)) else {
            return;
        };
        if let Some(entry) = self.entries.get(number) {
            let word = tag & ((1 << RULE) - 1) | (rule as u64) << RULE | distance << DISTANCE;
            entry.store(word, Ordering::Release);
        }
    }

    /// Returns the number of a rule, and stores the rule if it is new. The number is never 0.
    fn rule(&self, word: u64) -> Option<usize> {
        let first = (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize;
        (first..).take(PROBES).map(|at| at % RULES).find(|at| {
            let (true, Some(place)) = (*at != 0, self.rules.get(*at)) else {
                return false;
            };
            let found = match place.load(Ordering::Relaxed) {
                0 => place.compare_exchange(0, word, Ordering::Relaxed, Ordering::Relaxed),
                other => Err(other),
            };
            found.is_ok() || found == Err(word)
        })
    }
}

impl<const ENTRIES: usize> Default for RuleCache<ENTRIES> {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the address bits in an entry, sign-extended.
#[inline(always)]
const fn extended(entry: u64) -> u64 {
    const ABOVE: u32 = u64::BITS - RULE;
    (entry << ABOVE)
        .cast_signed()
        .wrapping_shr(ABOVE)
        .cast_unsigned()
}

/// Returns the address bits for an entry, extended as by [`extended`], and the number of the entry. Together they determine the address, because
/// the bits that are combined into the number are also in the entry.
#[inline(always)]
const fn place(pc: u64, entries: usize) -> (u64, usize) {
    let tag = pc.cast_signed().wrapping_shr(NUMBER);
    let number = pc.cast_signed() ^ tag ^ tag.wrapping_shr(NUMBER);
    (
        tag.cast_unsigned(),
        number as usize & entries.wrapping_sub(1),
    )
}

#[cfg(test)]
mod tests;
