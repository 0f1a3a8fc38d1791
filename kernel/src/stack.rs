//! The stacks: where they lie, which is all that a walk may read, and the pages below them that nobody may touch.

use core::cell::UnsafeCell;

use unwind::Range;

use crate::page_table::PAGE;

/// A stack, with a guard page below, which [`page_table`](crate::page_table) leaves unmapped.
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct Stack<const SIZE: usize> {
    guard: UnsafeCell<[u8; PAGE as usize]>,
    words: UnsafeCell<[u8; SIZE]>,
}

// SAFETY: no reference to the words is ever made; code reaches them through its stack pointer, and [`read_u64`] reads
// them by volatile loads.
unsafe impl<const SIZE: usize> Sync for Stack<SIZE> {}

impl<const SIZE: usize> Stack<SIZE> {
    /// Where the stack begins, counted in bytes from the address of the static: its empty stack pointer.
    pub const END: usize = size_of::<Self>();

    const fn new() -> Self {
        Self {
            guard: UnsafeCell::new([0; _]),
            words: UnsafeCell::new([0; SIZE]),
        }
    }

    /// The stack's words.
    fn words(&self) -> Range {
        let start = self.words.get() as u64;
        Range::new(start, start + SIZE as u64)
    }

    /// Where a stack pointer can be: also in the guard page, when the stack has overflowed.
    pub fn range(&self) -> Range {
        Range::new(self.guard(), self.words().end)
    }

    fn guard(&self) -> u64 {
        self.guard.get() as u64
    }
}

/// The type of [`BOOT`].
pub type Boot = Stack<{ 128 * 1024 }>;
/// The type of [`TRAP`].
pub type Trap = Stack<{ 32 * 1024 }>;

/// The stack from the kernel's entry on.
pub static BOOT: Boot = Stack::new();

/// The stack for what must not run on the one it interrupted: on x86-64 a double fault, on AArch64 every exception.
pub static TRAP: Trap = Stack::new();

/// All stacks: where their pointers can be.
pub fn ranges() -> [Range; 2] {
    [BOOT.range(), TRAP.range()]
}

/// Whether the page at this address is a guard page.
pub fn is_guard(page: u64) -> bool {
    [BOOT.guard(), TRAP.guard()].contains(&page)
}

/// The word at `address`, if it lies in a stack.
///
/// The fence around reading a stack: whatever address comes out of a damaged frame, nothing else is read.
pub fn read_u64(address: u64) -> Option<u64> {
    let words = [BOOT.words(), TRAP.words()];
    let inside = words.iter().any(|range| range.holds(address, 8));
    if !inside || !address.is_multiple_of(8) {
        return None;
    }
    // SAFETY: aligned, and inside a static of this module, whose words are mapped for good. Volatile, because the
    // compiler knows of no write to them.
    Some(unsafe { core::ptr::read_volatile(address as *const u64) })
}
