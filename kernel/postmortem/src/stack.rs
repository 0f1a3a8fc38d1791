//! The stacks: where they lie, which is all that a walk may read, and the guard pages below them.

use core::fmt;

use unwind::Range;

use crate::platform::Platform;
use crate::probe;

/// Whose a stack is, and what reports call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Only this CPU runs on it: "irq", or "irq of cpu 1".
    Cpu(&'static str, usize),
    /// The task with this number runs on it, on any CPU: "task NAME".
    Task(usize),
}

/// Where a stack lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Whose it is.
    pub owner: Owner,
    /// The unmapped pages below its words; an empty range if there are none.
    pub guard: Range,
    /// Its words. The last one ends at the stack pointer of an empty stack.
    pub words: Range,
}

impl Stack {
    /// A stack without guard pages: its words are `words`, and only this CPU runs on it.
    #[must_use]
    pub const fn new(name: &'static str, cpu: usize, words: Range) -> Self {
        Self {
            owner: Owner::Cpu(name, cpu),
            guard: Range::new(words.start, words.start),
            words,
        }
    }

    /// The same stack with so many bytes of guard pages right below its words.
    #[must_use]
    pub const fn with_guard(mut self, bytes: u64) -> Self {
        self.guard = Range::new(self.words.start.saturating_sub(bytes), self.words.start);
        self
    }

    /// Where its stack pointer can be: also in the guard pages, after an overflow.
    #[must_use]
    pub const fn range(&self) -> Range {
        Range::new(self.guard.start, self.words.end)
    }

    /// Whether code that runs on it has this stack pointer.
    #[must_use]
    pub const fn holds(&self, sp: u64) -> bool {
        self.range().holds_stack_pointer(sp)
    }

    /// The stack pointer of the empty stack.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.words.end
    }

    /// Whether code on this CPU may run on it.
    pub(crate) fn is_used_by(&self, cpu: usize) -> bool {
        match self.owner {
            Owner::Cpu(_, its) => its == cpu,
            Owner::Task(_) => true,
        }
    }
}

/// All stacks of a kernel, and how they are read.
#[derive(Clone, Copy)]
pub struct Stacks<'a>(pub(crate) &'a dyn Platform);

impl<'a> Stacks<'a> {
    /// Those of this kernel.
    #[must_use]
    pub const fn of(platform: &'a dyn Platform) -> Self {
        Self(platform)
    }

    /// All of them.
    pub fn iter(self) -> impl Iterator<Item = Stack> + 'a {
        (0..).map_while(move |index| self.0.stack(index))
    }

    /// The word at `address`, if that is aligned, lies in the words of a stack and can be read. Memory of a stack may be gone,
    /// in a kernel that dies; then the read faults, and the answer is `None`.
    ///
    /// The fence around reading stacks: whatever address comes out of a damaged frame, nothing else is read.
    #[must_use]
    pub fn read_u64(self, address: u64) -> Option<u64> {
        if !address.is_multiple_of(8) || !self.holds_words(address, 8) {
            return None;
        }
        // SAFETY: aligned, and no device: `Platform` promises that of the words of a stack.
        unsafe { probe::read(address) }
    }

    /// The words from `address` on, if all of them can be read.
    #[must_use]
    pub fn read_words<const COUNT: usize>(self, address: u64) -> Option<[u64; COUNT]> {
        let mut words = [0; COUNT];
        for (word, offset) in words.iter_mut().zip((0..).step_by(8)) {
            *word = self.read_u64(address.checked_add(offset)?)?;
        }
        Some(words)
    }

    /// Whether so many bytes from `address` on are words of one stack.
    #[must_use]
    pub fn holds_words(self, address: u64, bytes: u64) -> bool {
        self.iter().any(|stack| stack.words.holds(address, bytes))
    }

    /// The stack that an address belongs to, guard pages included.
    #[must_use]
    pub fn find(self, address: u64) -> Option<Stack> {
        self.iter().find(|stack| stack.range().holds(address, 1))
    }

    /// The stack that this stack pointer is in, as text: "stack boot", "stack irq overflowed", "no stack".
    #[must_use]
    pub const fn place(self, sp: u64) -> Place<'a> {
        Place { stacks: self, sp }
    }

    /// What is known of an address that could not be used, as text to append: ", guard page of stack boot", or nothing.
    #[must_use]
    pub const fn guard(self, address: u64) -> Guard<'a> {
        Guard {
            stacks: self,
            address,
        }
    }
}

impl fmt::Debug for Stacks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The name of a stack, as text.
struct Name<'a>(&'a dyn Platform, Owner);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Owner::Cpu(name, 0) => f.write_str(name),
            Owner::Cpu(name, cpu) => write!(f, "{name} of cpu {cpu}"),
            Owner::Task(task) => write!(f, "task {}", TaskName(self.0, task)),
        }
    }
}

/// The name of the task with this number, as text; its number if it has no name.
pub(crate) struct TaskName<'a>(pub &'a dyn Platform, pub usize);

impl fmt::Display for TaskName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.task(self.1) {
            Some(task) => task.name.fmt(f),
            None => self.1.fmt(f),
        }
    }
}

/// A stack pointer; as text, the stack that it is in.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    stacks: Stacks<'a>,
    sp: u64,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(stack) = self.stacks.iter().find(|stack| stack.holds(self.sp)) else {
            return f.write_str("no stack");
        };
        write!(f, "stack {}", Name(self.stacks.0, stack.owner))?;
        match self.sp < stack.words.start {
            true => f.write_str(" overflowed"),
            false => Ok(()),
        }
    }
}

/// An address that could not be used; as text, whose guard page it is in.
#[derive(Clone, Copy, Debug)]
pub struct Guard<'a> {
    stacks: Stacks<'a>,
    address: u64,
}

impl fmt::Display for Guard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut stacks = self.stacks.iter();
        match stacks.find(|stack| stack.guard.holds(self.address, 1)) {
            Some(stack) => {
                let name = Name(self.stacks.0, stack.owner);
                write!(f, ", guard page of stack {name}")
            }
            None => Ok(()),
        }
    }
}
