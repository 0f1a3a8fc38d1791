//! The stacks, as statics with guard pages below.

use postmortem::GuardedStack;

use crate::percpu::MOST;

/// Bytes of the unmapped pages below each stack. As many as the smallest stack has, so that on AArch64 one bit of the stack
/// pointer tells whether it is in them (`arch/aarch64/vectors.rs`), and a frame bigger than a page does not jump over.
pub const GUARD: usize = 32 * 1024;

/// A stack, with guard pages below, which the page tables leave unmapped.
#[repr(align(65536))]
#[derive(Debug)]
pub struct Stack<const SIZE: usize>(GuardedStack<GUARD, SIZE>);

impl<const SIZE: usize> Stack<SIZE> {
    /// Where the stack begins, counted in bytes from the address of the static: its empty stack pointer.
    pub const END: usize = GuardedStack::<GUARD, SIZE>::END;

    /// An empty stack.
    pub const fn new() -> Self {
        Self(GuardedStack::new())
    }

    /// Puts a value at the end of an empty stack, and gives the stack pointer that points to it, an address.
    ///
    /// # Safety
    /// Nobody runs on it.
    pub unsafe fn put<T>(&self, value: T) -> u64 {
        let place = self.0.of_task(0).end() as usize - size_of::<T>();
        assert!(place.is_multiple_of(align_of::<T>()) && size_of::<T>() <= SIZE);
        // SAFETY: aligned, inside the words, and nobody uses them.
        unsafe { (place as *mut T).write(value) };
        place as u64
    }

    /// Where it lies, under this name, as a stack of this processor.
    pub fn extent(&self, name: &'static str, cpu: usize) -> postmortem::Stack {
        self.0.of_cpu(name, cpu)
    }

    /// Where it lies, as the stack of the task with this number.
    pub fn task_extent(&self, task: usize) -> postmortem::Stack {
        self.0.of_task(task)
    }
}

/// The type of [`BOOT`].
pub type Boot = Stack<{ 128 * 1024 }>;
/// The type of the stacks for exceptions.
pub type Exception = Stack<{ 32 * 1024 }>;

/// The stack that each processor runs on from the kernel's entry on.
pub static BOOT: [Boot; MOST] = [const { Stack::new() }; MOST];
