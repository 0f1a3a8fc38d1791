//! The type of all stacks: statics with guard pages below; and the boot stacks.

use postmortem::GuardedStack;

use crate::percpu::MAX_CPUS;

/// Bytes of guard pages below each stack. As many as the smallest stack has, so that on AArch64 one bit of an address tells
/// whether it is in them (`arch/aarch64/vectors.rs`), and so that a large frame does not skip them.
pub const GUARD: usize = 32 * 1024;

/// A stack, with guard pages below, which the page tables leave unmapped.
#[repr(align(65536))]
#[derive(Debug)]
pub struct Stack<const SIZE: usize>(GuardedStack<GUARD, SIZE>);

impl<const SIZE: usize> Stack<SIZE> {
    /// The initial stack pointer, in bytes from the address of the static.
    pub const END: usize = GuardedStack::<GUARD, SIZE>::END;

    /// An empty stack.
    pub const fn new() -> Self {
        Self(GuardedStack::new())
    }

    /// Pushes a value on the empty stack, and returns its address: the stack pointer.
    ///
    /// # Safety
    /// The stack is not in use.
    pub unsafe fn put<T>(&self, value: T) -> u64 {
        let place = self.0.of_task(0).end() as usize - size_of::<T>();
        assert!(place.is_multiple_of(align_of::<T>()) && size_of::<T>() <= SIZE);
        // SAFETY: aligned and inside the stack, as just checked, and the caller says that the stack is not in use.
        unsafe { (place as *mut T).write(value) };
        place as u64
    }

    /// Its ranges, as a CPU's stack with this name.
    pub fn extent(&self, name: &'static str, cpu: usize) -> postmortem::Stack {
        self.0.of_cpu(name, cpu)
    }

    /// Its ranges, as the stack of the task with this number.
    pub fn task_extent(&self, task: usize) -> postmortem::Stack {
        self.0.of_task(task)
    }
}

/// The type of [`BOOT`].
pub type Boot = Stack<{ 128 * 1024 }>;
/// The type of the stacks for exceptions.
pub type Exception = Stack<{ 32 * 1024 }>;

/// The stack of each CPU from the kernel's entry on.
pub static BOOT: [Boot; MAX_CPUS] = [const { Stack::new() }; MAX_CPUS];
