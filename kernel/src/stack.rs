//! The stacks, as statics with guard pages below.

use postmortem::GuardedStack;
use unwind::Range;

use crate::arch::stacks;
use crate::cpus::{self, MOST};
use crate::task;

/// Bytes of the unmapped pages below each stack. As many as the smallest stack has, so that on AArch64 one bit of the stack
/// pointer tells whether it is in them (`arch/aarch64/vectors.rs`), and a frame bigger than a page does not jump over.
pub const GUARD: usize = 32 * 1024;

/// A stack, with guard pages below, which [`page_table`](crate::page_table) leaves unmapped.
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

/// How many stacks a processor has.
const COUNT: usize = 1 + stacks::COUNT;

/// The stack of a processor with this index, less than [`COUNT`].
fn of(cpu: usize, index: usize) -> postmortem::Stack {
    match index.checked_sub(1) {
        None => BOOT[cpu].extent("boot", cpu),
        Some(index) => stacks::of(cpu, index),
    }
}

/// The stack with this index, of all that processors have that were started, and then of all tasks.
pub fn get(index: usize) -> Option<postmortem::Stack> {
    let (cpu, in_cpu) = (index / COUNT, index % COUNT);
    match cpu < cpus::started() {
        true => Some(of(cpu, in_cpu)),
        false => task::stack(index - cpus::started() * COUNT),
    }
}

/// The guard pages below all stacks, also those that nobody uses yet.
pub fn guards() -> impl Iterator<Item = Range> {
    let cpus = (0..MOST).flat_map(|cpu| (0..COUNT).map(move |index| of(cpu, index)));
    let tasks = (0..).map_while(task::stack);
    cpus.chain(tasks).map(|stack| stack.guard)
}
