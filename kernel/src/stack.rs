//! The stacks: where they lie, which is all that a walk may read, and the pages below them that nobody may touch.

use core::cell::UnsafeCell;
use core::fmt;

use unwind::Range;

use crate::arch::{probe, stacks};
use crate::cpus::{self, MOST};
use crate::task;

/// Bytes of the unmapped pages below each stack. As many as the smallest stack has, so that on AArch64 one bit of the stack
/// pointer tells whether it is in them (`arch/aarch64/vectors.s`), and a frame bigger than a page does not jump over.
pub const GUARD: usize = 32 * 1024;

/// A stack, with guard pages below, which [`page_table`](crate::page_table) leaves unmapped.
#[repr(C, align(65536))]
#[derive(Debug)]
pub struct Stack<const SIZE: usize> {
    guard: UnsafeCell<[u8; GUARD]>,
    words: UnsafeCell<[u8; SIZE]>,
}

// SAFETY: no reference to the words is ever made; code reaches them through its stack pointer, and [`read_u64`] reads
// them by volatile loads.
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
    pub fn extent(&self, name: &'static str, cpu: usize) -> Extent {
        self.owned(Owner::Cpu(name, cpu))
    }

    /// Where it lies, as the stack of the task with this number.
    pub fn task_extent(&self, task: usize) -> Extent {
        self.owned(Owner::Task(task))
    }

    fn owned(&self, owner: Owner) -> Extent {
        let words = self.words.get() as u64;
        Extent {
            owner,
            guard: Range::new(self.guard.get() as u64, words),
            words: Range::new(words, words + SIZE as u64),
        }
    }
}

/// Whose a stack is.
#[derive(Clone, Copy, Debug)]
enum Owner {
    /// One of this name of a processor's.
    Cpu(&'static str, usize),
    /// A task's.
    Task(usize),
}

/// Where a stack lies.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    owner: Owner,
    guard: Range,
    words: Range,
}

impl Extent {
    /// Where a stack pointer can be: also in the guard pages, when the stack has overflowed.
    fn range(&self) -> Range {
        Range::new(self.guard.start, self.words.end)
    }

    /// Whether code that runs on it has this stack pointer.
    #[cfg(target_arch = "x86_64")]
    pub fn holds(&self, sp: u64) -> bool {
        self.range().holds_stack_pointer(sp)
    }

    /// The empty stack pointer.
    pub fn end(&self) -> u64 {
        self.words.end
    }
}

/// The name that reports give it.
impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.owner {
            Owner::Cpu(name, 0) => f.write_str(name),
            Owner::Cpu(name, cpu) => write!(f, "{name} of cpu {cpu}"),
            Owner::Task(task) => write!(f, "task {}", task::get(task).name()),
        }
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

/// The stacks of a processor.
fn of(cpu: usize) -> [Extent; COUNT] {
    let mut all = [BOOT[cpu].extent("boot", cpu); COUNT];
    all[1..].copy_from_slice(&stacks::of(cpu));
    all
}

/// The stacks of all processors and tasks.
fn all() -> impl Iterator<Item = Extent> {
    (0..cpus::started()).flat_map(of).chain(task::stacks())
}

/// The stacks that code on this processor may run on, its own and the tasks': where their pointers can be.
pub fn ranges(cpu: usize) -> [Range; COUNT + task::STARTABLE] {
    let mut ranges = [Range::new(0, 0); _];
    let stacks = of(cpu).into_iter().chain(task::stacks());
    for (range, stack) in ranges.iter_mut().zip(stacks) {
        *range = stack.range();
    }
    ranges
}

/// The guard pages below all stacks, also those that nobody uses yet.
pub fn guards() -> impl Iterator<Item = Range> {
    let all = (0..MOST).flat_map(of).chain(task::stacks());
    all.map(|stack| stack.guard)
}

/// The word at `address`, if it lies in a stack and can be read. Also the memory of a stack can be gone, in a kernel that
/// dies: then the walk ends there, and not the report.
///
/// The fence around reading a stack: whatever address comes out of a damaged frame, nothing else is read.
pub fn read_u64(address: u64) -> Option<u64> {
    let inside = all().any(|stack| stack.words.holds(address, 8));
    if !inside || !address.is_multiple_of(8) {
        return None;
    }
    // SAFETY: inside a static of this kernel, so no device.
    unsafe { probe::read(address) }
}

/// Whether so many bytes from `address` on are words of a stack.
#[cfg(target_arch = "aarch64")]
pub fn has_room(address: u64, bytes: u64) -> bool {
    all().any(|stack| stack.words.holds(address, bytes)) && address.is_multiple_of(16)
}

/// The words from `address` on, if all of them lie in a stack.
pub fn read_words<const COUNT: usize>(address: u64) -> Option<[u64; COUNT]> {
    let mut words = [0; COUNT];
    for (index, word) in words.iter_mut().enumerate() {
        *word = read_u64(address.checked_add(index as u64 * 8)?)?;
    }
    Some(words)
}

/// A stack pointer; as text, the stack that it is in.
#[derive(Clone, Copy, Debug)]
pub struct Place(pub u64);

impl Place {
    /// Whether it is in one, or in the guard pages below.
    pub fn is_in_a_stack(self) -> bool {
        all().any(|stack| stack.range().holds(self.0, 1))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holding = |stack: &Extent| stack.range().holds_stack_pointer(self.0);
        match all().find(holding) {
            Some(stack) if self.0 < stack.words.start => {
                write!(f, "stack {stack} overflowed")
            }
            Some(stack) => write!(f, "stack {stack}"),
            None => f.write_str("no stack"),
        }
    }
}

/// An address that could not be used; as text, what is known about it.
#[derive(Clone, Copy, Debug)]
pub struct Guarded(pub u64);

impl fmt::Display for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match all().find(|stack| stack.guard.holds(self.0, 1)) {
            Some(stack) => write!(f, ", guard page of stack {stack}"),
            None => Ok(()),
        }
    }
}
