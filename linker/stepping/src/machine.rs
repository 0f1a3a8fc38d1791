//! The interface to a program that is stepped, whoever runs its instructions.

use anyhow::Result;
use unwind::sframe::Row;

use crate::modules::{Library, Modules};

/// DWARF register numbers that rows can use as a base: all general registers of each architecture.
pub const REGISTERS: usize = 33;

/// Registers of a stopped program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Program counter, without the mark of Thumb code.
    pub pc: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Frame pointer.
    pub fp: u64,
    /// General registers by DWARF number.
    pub registers: [u64; REGISTERS],
}

/// Memory of a stopped program.
pub trait Memory {
    /// Reads the word at an address; `None` if the address is not mapped.
    fn word(&self, address: u64) -> Option<u64>;
}

/// A program that is stopped before an instruction.
pub trait Machine: Memory {
    /// Registers at the current instruction.
    fn state(&self) -> State;

    /// Reads bytes; returns their count, which is less than asked for at the end of a mapping.
    fn read(&self, address: u64, bytes: &mut [u8]) -> usize;

    /// Decodes the current instruction; `None` if the bytes are no instruction.
    fn decode(&self) -> Option<Decoded>;

    /// Executes the current instruction.
    ///
    /// # Errors
    /// Returns an error if the program cannot be stepped.
    fn step(&mut self, instruction: Option<Decoded>) -> Result<Step>;

    /// Runs the program, without single steps, until it is at this address with at least this stack pointer. `None`: the machine cannot.
    ///
    /// # Errors
    /// Returns an error if the program cannot be run.
    fn run_to(&mut self, pc: u64, sp: u64) -> Result<Option<Step>> {
        let _ = (pc, sp);
        Ok(None)
    }

    /// The loaded images.
    ///
    /// # Errors
    /// Returns an error if the map of the memory cannot be read.
    fn modules(&mut self, library: &Library) -> Result<Modules>;

    /// The change of the memory's map by a system call that was just executed with these registers.
    fn mapped(&self, before: &State) -> Mapped;

    /// Whether the call instruction stores the return address on the stack.
    fn pushes(&self) -> bool;

    /// A return address as rows give it, without marks of Thumb code and of authentication.
    fn strip(&self, address: u64, row: &Row) -> u64 {
        let _ = row;
        address
    }
}

/// The change of the memory's map by a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapped {
    /// None.
    Same,
    /// There may be new images.
    More,
    /// These addresses were unmapped.
    Less(u64, u64),
    /// Another program runs.
    Other,
}

/// Effect of an instruction on the call stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A call.
    Calls,
    /// A return, near, far or from an interrupt.
    Returns,
    /// A jump to an address from a register or memory; perhaps a return, where there is a link register.
    JumpsByPointer,
    /// A jump to a fixed address.
    Jumps,
    /// A system call.
    System,
    /// A breakpoint.
    Breakpoint,
    /// The stack pointer gets a value that is not computed from the stack pointer.
    LoadsStackPointer,
    /// None of these.
    Other,
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Effect on the call stack.
    pub kind: Kind,
    /// Bytes.
    pub length: u8,
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The instruction was executed.
    Executed,
    /// No instruction was executed: the program entered the handler of this signal.
    Handler(i32),
    /// The program has ended, as the text says.
    Ended(String),
}
