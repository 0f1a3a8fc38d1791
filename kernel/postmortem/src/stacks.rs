//! All stacks of a kernel: the memory that a walk may read, and names for addresses and stack pointers.

use core::fmt;

use unwind::RegisterSet as _;

use crate::arch::{Registers, TrapFrame};
use crate::kernel_text::KernelText;
use crate::names::Names;
use crate::platform::Platform;
use crate::probe;
use crate::stack::{Owner, Stack};

/// All stacks of a kernel, with access to their words.
///
/// ```no_run
/// # fn example(kernel: &'static dyn postmortem::Platform, sp: u64) {
/// let stacks = postmortem::Stacks::of(kernel);
/// // Such as "stack irq of cpu 1".
/// println!("{}", stacks.place(sp));
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Stacks<'a>(pub(crate) &'a dyn Platform);

impl<'a> Stacks<'a> {
    /// Returns the stacks of this kernel.
    #[must_use]
    pub const fn of(platform: &'a dyn Platform) -> Self {
        Self(platform)
    }

    /// Returns all stacks, in the order of [`Platform::stack`].
    pub fn iter(self) -> impl Iterator<Item = Stack> + 'a {
        (0..).map_while(move |index| self.0.stack(index))
    }

    /// Reads the eight bytes at `address`. Returns `None` unless `address` is a multiple of 8 and the bytes are words of one stack that can
    /// be read. In a dying kernel a stack may be unmapped; then the read faults, and the result is `None`.
    #[must_use]
    pub fn read_u64(self, address: u64) -> Option<u64> {
        if !address.is_multiple_of(8) {
            return None;
        }
        let low = self.read_word(address)?;
        match Registers::WORD {
            8 => Some(low),
            _ => Some(self.read_word(address.wrapping_add(4))? << 32 | low),
        }
    }

    /// Reads the word at `address` like [`Self::read_u64`]: 32 bits on 32-bit ARM, 64 bits elsewhere.
    ///
    /// All reads of stacks use this function, so that no address in a damaged frame makes a report read other memory.
    pub(crate) fn read_word(self, address: u64) -> Option<u64> {
        if !address.is_multiple_of(Registers::WORD) || !self.holds_words(address, Registers::WORD) {
            return None;
        }
        // SAFETY: aligned, as just checked, and not a device: the implementation of `Platform` guarantees it for the words of every stack.
        unsafe { probe::read(address) }
    }

    /// Returns whether the `bytes` bytes at `address` are words of one stack.
    #[must_use]
    pub fn holds_words(self, address: u64, bytes: u64) -> bool {
        self.iter().any(|stack| stack.words.holds(address, bytes))
    }

    /// Returns the stack that contains an address in its words or guard pages.
    #[must_use]
    pub fn find(self, address: u64) -> Option<Stack> {
        self.iter().find(|stack| stack.range().holds(address, 1))
    }

    /// Returns the stack that contains this stack pointer, as text: "stack boot", "stack irq overflowed", "no stack".
    #[must_use]
    pub const fn place(self, sp: u64) -> Place<'a> {
        Place {
            stacks: self,
            sp,
            is_user: false,
        }
    }

    /// The stack that interrupted code was on, or that it was user code, as text.
    pub(crate) const fn place_of(self, frame: &TrapFrame) -> Place<'a> {
        Place {
            stacks: self,
            sp: frame.sp(),
            is_user: frame.is_user(),
        }
    }

    /// Returns the stack whose guard page contains an address, as text to append: ", guard page of stack boot", or nothing.
    #[must_use]
    pub const fn guard(self, address: u64) -> Guard<'a> {
        Guard {
            stacks: self,
            address,
        }
    }
}

impl Names for Stacks<'_> {
    fn interrupt(&self, number: u64) -> Option<&'static str> {
        self.0.interrupt_name(number)
    }

    fn write_place(&self, out: &mut dyn fmt::Write, sp: u64) -> fmt::Result {
        write!(out, "{}", self.place(sp))
    }

    fn write_guard(&self, out: &mut dyn fmt::Write, address: u64) -> fmt::Result {
        write!(out, "{}", self.guard(address))
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
            Some(task) => KernelText(task.name).fmt(f),
            None => self.1.fmt(f),
        }
    }
}

/// A stack pointer. Its text is the stack that contains it.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    stacks: Stacks<'a>,
    sp: u64,
    is_user: bool,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_user {
            return f.write_str("user code");
        }
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

/// An address whose access failed. Its text is the stack whose guard page contains it, or nothing.
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
