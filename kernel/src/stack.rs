//! The stacks, as statics with guard pages below.

use core::cell::UnsafeCell;

use postmortem::Owner;
use unwind::Range;

use crate::percpu::MOST;

/// Bytes of the unmapped pages below each stack. As many as the smallest stack has, so that on AArch64 one bit of the stack
/// pointer tells whether it is in them (`arch/aarch64/vectors.rs`), and a frame bigger than a page does not jump over.
pub const GUARD: usize = 32 * 1024;

/// A stack, with guard pages below, which the page tables leave unmapped.
#[repr(C, align(65536))]
#[derive(Debug)]
pub struct Stack<const SIZE: usize> {
    guard: UnsafeCell<[u8; GUARD]>,
    words: UnsafeCell<[u8; SIZE]>,
}

// SAFETY: no reference to the words is ever made; code reaches them through its stack pointer, and reports read them by
// volatile loads.
unsafe impl<const SIZE: usize> Sync for Stack<SIZE> {}

impl<const SIZE: usize> Stack<SIZE> {
    /// Where the stack begins, counted in bytes from the address of the static: its empty stack pointer.
    pub const END: usize = GUARD + SIZE;

    /// An empty stack.
    pub const fn new() -> Self {
        Self {
            guard: UnsafeCell::new([0; _]),
            words: UnsafeCell::new([0; SIZE]),
        }
    }

    /// Puts a value at the end of an empty stack, and gives the stack pointer that points to it, an address.
    ///
    /// # Safety
    /// Nobody runs on it.
    pub unsafe fn put<T>(&self, value: T) -> u64 {
        let place = self.words.get() as usize + SIZE - size_of::<T>();
        assert!(place.is_multiple_of(align_of::<T>()) && size_of::<T>() <= SIZE);
        // SAFETY: aligned, inside the words, and nobody uses them.
        unsafe { (place as *mut T).write(value) };
        place as u64
    }

    /// Where it lies, under this name, as a stack of this processor.
    pub fn extent(&self, name: &'static str, cpu: usize) -> postmortem::Stack {
        self.owned(Owner::Cpu(name, cpu))
    }

    /// Where it lies, as the stack of the task with this number.
    pub fn task_extent(&self, task: usize) -> postmortem::Stack {
        self.owned(Owner::Task(task))
    }

    fn owned(&self, owner: Owner) -> postmortem::Stack {
        let words = self.words.get() as u64;
        postmortem::Stack {
            owner,
            guard: Range::new(self.guard.get() as u64, words),
            words: Range::new(words, words + SIZE as u64),
        }
    }
}

/// The type of [`BOOT`].
pub type Boot = Stack<{ 128 * 1024 }>;
/// The type of the stacks for exceptions.
pub type Exception = Stack<{ 32 * 1024 }>;

/// The stack that each processor runs on from the kernel's entry on.
pub static BOOT: [Boot; MOST] = [const { Stack::new() }; MOST];
