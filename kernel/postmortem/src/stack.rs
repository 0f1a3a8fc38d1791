//! A stack: its range, its owner, and the guard pages below it.

use unwind::Range;

/// A function that reads the word at an address; `None` if it must not or cannot be read.
pub type ReadWord<'a> = &'a dyn Fn(u64) -> Option<u64>;

/// The words from `address` on, each of so many bytes, if all of them can be read.
pub(crate) fn read_words<const COUNT: usize>(
    read: ReadWord<'_>,
    address: u64,
    bytes: usize,
) -> Option<[u64; COUNT]> {
    let mut words = [0; COUNT];
    for (word, offset) in words.iter_mut().zip((0..).step_by(bytes)) {
        *word = read(address.checked_add(offset)?)?;
    }
    Some(words)
}

/// The owner of a stack, and so its name in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Only this CPU runs on it: "irq", or "irq of cpu 1".
    Cpu(&'static str, usize),
    /// The task with this number runs on it, on any CPU: "task NAME".
    Task(usize),
}

/// A stack: its ranges of addresses and its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Its owner.
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

    /// The range of its stack pointer, which includes the guard pages, for after an overflow.
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

    /// How likely a walk needs it that begins on this CPU with this stack pointer; `None` if the CPU never runs on it. `task` returns the
    /// number of the task that runs on the CPU, and is called only if some CPU has the number `cpu`.
    pub(crate) fn rank(&self, cpu: usize, sp: u64, task: impl Fn() -> usize) -> Option<Rank> {
        match self.owner {
            Owner::Cpu(_, its) if its != cpu => None,
            _ if self.holds(sp) => Some(Rank::Start),
            Owner::Cpu(..) => Some(Rank::Cpu),
            Owner::Task(its) if cpu != NO_CPU && its == task() => Some(Rank::Cpu),
            Owner::Task(_) => Some(Rank::Others),
        }
    }
}

/// The number that no CPU has: a walk for it uses the stacks of tasks only.
pub(crate) const NO_CPU: usize = usize::MAX;

/// How likely a walk needs a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// Its stack pointer is in the stack.
    Start,
    /// Its CPU owns the stack, or runs the task that does.
    Cpu,
    /// Another task does.
    Others,
}
