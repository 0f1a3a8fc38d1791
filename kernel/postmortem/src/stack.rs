//! A stack, with a range, an owner, and guard pages below.

use unwind::Range;

/// A function that reads the word at an address. It returns `None` if the word must not or cannot be read.
pub type ReadWord<'a> = &'a dyn Fn(u64) -> Option<u64>;

/// Reads `COUNT` words of `bytes` bytes each, starting at `address`, if all of them can be read.
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

/// The owner of a stack, which names the stack in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A stack on which only the CPU with this number runs, with a name: "irq" on CPU 0, "irq of cpu 1" on CPU 1.
    Cpu(&'static str, usize),
    /// A stack on which the task with this number runs, on any CPU: "task NAME".
    Task(usize),
}

/// A stack, with address ranges and an owner.
///
/// ```
/// use postmortem::{Range, Stack};
///
/// let stack = Stack::new("boot", 0, Range::new(0x20_1000, 0x21_0000)).with_guard(0x1000);
/// assert_eq!(stack.end(), 0x21_0000);
/// // A stack pointer in the guard page: the stack has overflowed.
/// assert!(stack.holds(0x20_0ff8));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// The owner.
    pub owner: Owner,
    /// The unmapped pages below the words; an empty range if there are none.
    pub guard: Range,
    /// The addresses of the words. The end is the stack pointer of the empty stack.
    pub words: Range,
}

impl Stack {
    /// Creates a stack without guard pages on which only the CPU with number `cpu` runs. `words` are the addresses of its words.
    #[must_use]
    pub const fn new(name: &'static str, cpu: usize, words: Range) -> Self {
        Self {
            owner: Owner::Cpu(name, cpu),
            guard: Range::new(words.start, words.start),
            words,
        }
    }

    /// Returns the stack with `bytes` bytes of guard pages directly below its words.
    #[must_use]
    pub const fn with_guard(mut self, bytes: u64) -> Self {
        self.guard = Range::new(self.words.start.saturating_sub(bytes), self.words.start);
        self
    }

    /// Returns the range of stack pointers, which includes the guard pages, because a stack may have overflowed.
    #[must_use]
    pub const fn range(&self) -> Range {
        Range::new(self.guard.start, self.words.end)
    }

    /// Returns whether code with this stack pointer runs on this stack.
    #[must_use]
    pub const fn holds(&self, sp: u64) -> bool {
        self.range().holds_stack_pointer(sp)
    }

    /// Returns the stack pointer of the empty stack.
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
