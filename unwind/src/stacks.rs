//! Stacks with known ranges, and the proof that a walk ends.

use crate::memory::{Memory, Range, sealed};

/// Declared stacks: a walk reads words only inside these ranges.
///
/// A walk enters each range at most once, and inside a range it only moves to higher addresses, by at least one word. So every walk ends,
/// after at most as many steps as the ranges have words. (Linux for arm64 has the same rule, "consume once".) Stacks may follow each other
/// in any order.
///
/// A range that ends at `u64::MAX` is memory with stacks whose bases are unknown: a walk in it ends with
/// [`End::Outermost`](crate::End) at best, as over [`Undeclared`](crate::Undeclared).
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::{CODE, TABLE};
/// use unwind::{Code, End, Range, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
///
/// // Two stacks. `read` returns the word at an address inside of them.
/// let stacks = [Range::new(0x4000, 0x5000), Range::new(0x8000, 0x8010)];
/// let read = |address| Some(if address == 0x8008 { 0x1005 } else { 0 });
/// let code = [Code::new(&CODE, 0x1000)];
/// let unwinder = Unwinder::new(Tables::new(&TABLE, 0x2000)).code(&code);
/// let mut frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0), Stacks::new(&stacks, read));
/// assert_eq!(frames.by_ref().count(), 2);
/// // The entry function's stack pointer is 0x8010, at which the second stack begins.
/// assert_eq!(frames.end(), Some(End::Complete));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Stacks<'a, R> {
    ranges: &'a [Range],
    /// Bit `n`: the walk may not enter range `n` again, because it has left it.
    left: u64,
    /// The rest of the range that the walk is in, above its stack pointer, and its bit; no range and no bit before it is in one.
    rest: Range,
    bit: u64,
    read: R,
}

/// The maximum number of ranges that [`Stacks`] uses. Ranges after these are ignored: a walk that reaches such a stack ends there.
pub const MAX_STACKS: usize = 64;

impl<'a, R: Fn(u64) -> Option<u64>> Stacks<'a, R> {
    /// Creates the memory of a walk from the stacks in `ranges`, at most [`MAX_STACKS`]. A walk calls `read` only for aligned words inside
    /// these ranges: see [`Memory`].
    #[must_use]
    pub const fn new(ranges: &'a [Range], read: R) -> Self {
        Self {
            ranges,
            left: 0,
            rest: Range::new(0, 0),
            bit: 0,
            read,
        }
    }

    /// Returns the first range that `fits`, with its bit, among the rest of the current range and the ranges that were never entered.
    fn find(&self, fits: impl Fn(&Range) -> bool) -> Option<(Range, u64)> {
        // After the last bit there is none.
        let mut bit = 1_u64;
        for range in self.ranges {
            let open = match self.bit == bit {
                true => self.rest,
                false => *range,
            };
            if bit & !self.left != 0 && fits(&open) {
                return Some((open, bit));
            }
            bit = bit.wrapping_add(bit);
        }
        None
    }

    /// Returns the word at `address`, outside of the current range.
    #[inline(never)]
    fn word_elsewhere(&self, address: u64, size: u64) -> Option<u64> {
        self.find(|range| range.holds(address, size))
            .and_then(|_| (self.read)(address))
    }

    /// Makes the part above `sp` of a range that may be entered the current one. If `sp` is the end of one range and the start
    /// of another, the former: a caller's stack pointer is right above words that were just read.
    fn go_to(&mut self, sp: u64) -> bool {
        let emptied = self.find(|range| range.start < sp && range.holds_stack_pointer(sp));
        let entered = emptied.or_else(|| self.find(|range| range.holds_stack_pointer(sp)));
        let Some((range, bit)) = entered else {
            return false;
        };
        if self.bit != bit {
            self.left |= self.bit;
        }
        self.rest = Range::new(sp, range.end);
        self.bit = bit;
        true
    }
}

impl<R: Fn(u64) -> Option<u64>> Memory for Stacks<'_, R> {}

impl<R: Fn(u64) -> Option<u64>> sealed::Words for Stacks<'_, R> {
    // Not inlined: ten copies of it take 1 KiB on x86-64 at opt-level 3.
    #[inline(never)]
    fn word(&self, address: u64, size: u64) -> Option<u64> {
        match self.rest.holds(address, size) {
            true => (self.read)(address),
            false => self.word_elsewhere(address, size),
        }
    }

    #[inline(always)]
    fn frame(&self, _: u64, to: u64, top: u64, size: u64) -> Option<Range> {
        // The rest begins at the walk's stack pointer, and its start is at most its end. At least one word of progress: a call or an
        // interruption has stored at least that much.
        let (up, frame) = (
            to.wrapping_sub(self.rest.start),
            top.wrapping_sub(self.rest.start),
        );
        let fits =
            up >= size && up <= frame && frame <= self.rest.end.wrapping_sub(self.rest.start);
        fits.then_some(Range::new(self.rest.start, top))
    }

    #[inline(always)]
    fn word_of(&self, frame: &Range, address: u64, size: u64) -> Option<u64> {
        // The compiler proves that this never fails for a frame from `Self::frame`.
        let last = frame.end.wrapping_sub(frame.start).checked_sub(size)?;
        match address.wrapping_sub(frame.start) <= last {
            true => (self.read)(address),
            false => None,
        }
    }

    #[inline(always)]
    fn leave(&mut self, _: &Range, to: u64, _: u64) -> bool {
        self.rest.start = to;
        true
    }

    #[inline(never)]
    fn advance(&mut self, from: u64, to: u64, size: u64) -> bool {
        if self.bit == 0 || !self.rest.holds_stack_pointer(to) {
            return self.go_to(to);
        }
        let frame = self.frame(from, to, to, size);
        frame.is_some_and(|frame| self.leave(&frame, to, size))
    }

    fn enter(&mut self, sp: u64) -> bool {
        self.go_to(sp)
    }

    fn is_on_stack(&self, sp: u64) -> bool {
        self.bit != 0 && self.rest.holds_stack_pointer(sp)
    }

    fn is_base(&self, sp: u64) -> Option<bool> {
        let is_known = self.bit == 0 || self.rest.end != u64::MAX;
        is_known.then_some(self.bit != 0 && self.rest.end == sp)
    }
}

#[cfg(test)]
mod tests {
    use super::sealed::Words;
    use super::*;

    /// Every word holds its own address.
    fn stacks(ranges: &[Range]) -> Stacks<'_, impl Fn(u64) -> Option<u64>> {
        Stacks::new(ranges, Some)
    }

    #[test]
    fn a_word_is_read_only_wholly_inside_a_range() {
        let ranges = [
            Range::new(0x1000, 0x1010),
            Range::new(u64::MAX - 8, u64::MAX),
        ];
        let memory = stacks(&ranges);
        assert_eq!(memory.word(0x1008, 8), Some(0x1008));
        for outside in [0xfff, 0x1009, 0x1010, 0, u64::MAX, u64::MAX - 7] {
            assert_eq!(memory.word(outside, 8), None, "{outside:#x}");
        }
    }

    #[test]
    fn the_walk_only_goes_up_and_enters_a_range_once() {
        let ranges = [Range::new(0x1000, 0x2000), Range::new(0x5000, 0x6000)];
        let mut memory = stacks(&ranges);
        assert!(memory.enter(0x5800));
        assert_eq!(memory.word(0x57f8, 8), None, "below the stack pointer");
        assert!(memory.advance(0x5800, 0x5900, 8));
        assert!(!memory.advance(0x5900, 0x5900, 8), "standing still");
        assert!(!memory.advance(0x5900, 0x5907, 8), "less than a word");
        assert!(!memory.advance(0x5900, 0x5800, 8), "back");
        assert!(memory.advance(0x5900, 0x1800, 8), "the other stack");
        assert!(!memory.advance(0x1800, 0x5a00, 8), "left for good");
        assert_eq!(memory.word(0x5a00, 8), None);
        assert!(memory.advance(0x1800, 0x2000, 8));
        assert_eq!(memory.is_base(0x2000), Some(true));
    }

    #[test]
    fn a_frame_is_of_the_current_range() {
        let ranges = [Range::new(0x1000, 0x2000), Range::new(0x5000, 0x6000)];
        let mut memory = stacks(&ranges);
        assert!(memory.enter(0x1800));
        let frame = |to, top| memory.frame(0x1800, to, top, 8);
        for (to, top) in [
            (0x1800, 0x1800),
            (0x1807, 0x1807),
            (0x17f8, 0x1808),
            (0x1810, 0x1808),
            (0x2008, 0x2008),
            (0x1808, 0x2001),
            (0x5800, 0x5800),
            (0, u64::MAX),
        ] {
            assert_eq!(frame(to, top), None, "{to:#x} {top:#x}");
        }
        assert_eq!(frame(0x2000, 0x2000), Some(Range::new(0x1800, 0x2000)));
        let frame = frame(0x1808, 0x1810).expect("two words");
        assert_eq!(memory.word_of(&frame, 0x1800, 8), Some(0x1800));
        assert_eq!(memory.word_of(&frame, 0x1808, 8), Some(0x1808));
        for outside in [0x17f8, 0x1809, 0x1810, 0, u64::MAX] {
            assert_eq!(memory.word_of(&frame, outside, 8), None, "{outside:#x}");
        }
        let less_than_a_word = Range::new(0x1800, 0x1804);
        assert_eq!(memory.word_of(&less_than_a_word, 0x1800, 8), None);
        assert!(memory.leave(&frame, 0x1808, 8));
        assert_eq!(memory.word(0x1800, 8), None, "below the stack pointer");
        assert_eq!(memory.word(0x1808, 8), Some(0x1808));
    }

    #[test]
    fn the_rest_of_all_memory_has_no_known_base() {
        let ranges = [Range::new(0x1000, 0x2000), Range::new(0, u64::MAX)];
        let mut memory = stacks(&ranges);
        assert_eq!(memory.is_base(0x2000), Some(false), "on no stack");
        assert!(memory.enter(0x1800));
        assert_eq!(memory.is_base(0x2000), Some(true));
        assert!(memory.advance(0x1800, 0x5000, 8));
        assert_eq!(memory.is_base(0x5000), None);
    }

    #[test]
    fn on_a_border_the_emptied_stack_is_meant() {
        let ranges = [Range::new(0x2000, 0x3000), Range::new(0x1000, 0x2000)];
        let mut memory = stacks(&ranges);
        assert!(memory.enter(0x2000));
        assert_eq!(memory.is_base(0x2000), Some(true));
    }

    #[test]
    fn more_ranges_than_bits_are_not_entered() {
        let ranges: [Range; 65] = core::array::from_fn(|index| {
            let start = (index as u64 + 1) * 0x1000;
            Range::new(start, start + 0x800)
        });
        assert!(stacks(&ranges).enter(64 * 0x1000 + 8));
        assert!(!stacks(&ranges).enter(65 * 0x1000 + 8));
    }
}
