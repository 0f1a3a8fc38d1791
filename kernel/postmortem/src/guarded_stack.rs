//! A stack as a static, with guard pages below.

use core::cell::UnsafeCell;

use unwind::Range;

use crate::stack::{Owner, Stack};

/// A stack of `WORDS` bytes, with `GUARD` bytes below it that the kernel leaves unmapped. Use it as a static; it is aligned to a page.
///
/// `GUARD` should be a multiple of the size of a page, so that whole pages can be left unmapped.
///
/// ```
/// static BOOT: postmortem::GuardedStack<4096, 65536> = postmortem::GuardedStack::new();
///
/// // For `Platform::stack`. Leave the pages of `stack.guard` unmapped.
/// let stack = BOOT.of_cpu("boot", 0);
/// assert_eq!(stack.end() - stack.guard.start, 4096 + 65536);
/// ```
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct GuardedStack<const GUARD: usize, const WORDS: usize> {
    guard: UnsafeCell<[u8; GUARD]>,
    words: UnsafeCell<[u8; WORDS]>,
}

// SAFETY: no reference to the words is ever created: code accesses them through its stack pointer, and reports read them by
// volatile loads.
unsafe impl<const GUARD: usize, const WORDS: usize> Sync for GuardedStack<GUARD, WORDS> {}

impl<const GUARD: usize, const WORDS: usize> Default for GuardedStack<GUARD, WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const GUARD: usize, const WORDS: usize> GuardedStack<GUARD, WORDS> {
    /// The offset of the initial stack pointer from the address of the static, in bytes.
    pub const END: usize = GUARD.saturating_add(WORDS);

    /// Creates an empty stack. Does not compile unless `GUARD` and `WORDS` are multiples of 16.
    #[must_use]
    pub const fn new() -> Self {
        const {
            assert!(
                WORDS.is_multiple_of(16),
                "the stack size is not a multiple of 16 bytes"
            )
        };
        const {
            assert!(
                GUARD.is_multiple_of(16),
                "the stack size is not a multiple of 16 bytes"
            )
        };
        Self {
            guard: UnsafeCell::new([0; GUARD]),
            words: UnsafeCell::new([0; WORDS]),
        }
    }

    /// Returns the address ranges, as a stack with this name that only the CPU with number `cpu` uses.
    pub fn of_cpu(&self, name: &'static str, cpu: usize) -> Stack {
        self.of(Owner::Cpu(name, cpu))
    }

    /// Returns the address ranges, as the stack of the task with number `task`.
    pub fn of_task(&self, task: usize) -> Stack {
        self.of(Owner::Task(task))
    }

    fn of(&self, owner: Owner) -> Stack {
        let words = self.words.get() as u64;
        Stack {
            owner,
            guard: Range::new(self.guard.get() as u64, words),
            words: Range::new(words, words.wrapping_add(WORDS as u64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guard_lies_below_the_words_and_a_page_begins_with_it() {
        static STACKS: [GuardedStack<4096, 8192>; 2] = [const { GuardedStack::new() }; 2];
        let [one, two] = [STACKS[0].of_cpu("boot", 3), STACKS[1].of_task(7)];
        assert_eq!(
            [one.owner, two.owner],
            [Owner::Cpu("boot", 3), Owner::Task(7)]
        );
        for stack in [one, two] {
            assert!(stack.guard.start.is_multiple_of(4096));
            assert_eq!(stack.guard.end - stack.guard.start, 4096);
            assert_eq!(stack.guard.end, stack.words.start);
            assert_eq!(stack.end() - stack.words.start, 8192);
        }
        assert_eq!(one.end(), two.guard.start);
        assert_eq!(
            one.end(),
            &raw const STACKS[0] as u64 + GuardedStack::<4096, 8192>::END as u64
        );
    }
}
