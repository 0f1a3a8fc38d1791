//! The registers of the machine between two instructions, and what an instruction does with the flow of control: by the
//! registers and by the bytes of code, never by a table.

use anyhow::Result;

use super::stub::Stub;
use super::{aarch64, x86_64};
use crate::hardware::Arch;

/// Registers between two instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The next instruction.
    pub pc: u64,
    /// The stack pointer in use.
    pub sp: u64,
    /// Whether interrupts are masked.
    pub is_masked: bool,
    /// All that a walk begins with.
    pub registers: Registers,
}

impl State {
    /// At a vector, what the exception has interrupted: where that goes on, its stack pointer, and the word in memory that has
    /// the former, if one has.
    pub fn interrupted(
        &self,
        word: &dyn Fn(u64) -> Option<u64>,
    ) -> Option<(u64, u64, Option<u64>)> {
        match &self.registers {
            Registers::X86(_) => x86_64::interrupted(self.sp, word),
            Registers::Arm(registers) => aarch64::interrupted(registers),
        }
    }
}

/// What a walk begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registers {
    /// Those of x86-64.
    X86(unwind::x86_64::Registers),
    /// Those of AArch64.
    Arm(unwind::aarch64::Registers),
}

/// What an instruction does with the flow of control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Goes on behind it.
    Next,
    /// Goes on behind it, or stays.
    Repeats,
    /// Goes elsewhere, perhaps.
    Jump,
    /// Calls: this address, if the instruction names it.
    Call(Option<u64>),
    /// Returns to where it was called from.
    Return,
    /// A return that is a jump too: to another code segment.
    FarReturn,
    /// Returns from an exception.
    TrapReturn,
    /// Raises an exception that returns behind it.
    Raises,
    /// Waits for an interrupt, which may come at once and then returns behind it.
    Waits,
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// What it does.
    pub flow: Flow,
    /// Its bytes.
    pub length: u64,
}

/// Reads registers.
#[derive(Clone, Debug)]
pub struct Reader {
    arch: Arch,
    questions: Vec<String>,
}

impl Reader {
    /// A reader for a machine of this architecture.
    ///
    /// # Errors
    /// When the stub does not have the registers.
    pub fn new(arch: Arch, stub: &mut Stub) -> Result<Self> {
        let questions = match arch {
            Arch::X86_64 => vec!["g".to_owned()],
            Arch::Aarch64 => aarch64::questions(stub)?,
        };
        Ok(Self { arch, questions })
    }

    /// The registers now.
    ///
    /// # Errors
    /// When the machine is gone.
    pub fn read(&self, stub: &mut Stub) -> Result<State> {
        let questions: Vec<&str> = self.questions.iter().map(|text| &**text).collect();
        let answers = stub.ask_all(&questions)?;
        match self.arch {
            Arch::X86_64 => x86_64::state(&answers),
            Arch::Aarch64 => aarch64::state(&answers),
        }
    }
}

/// The instruction with these first bytes at this address; `None` if they are none.
#[must_use]
pub fn decode(arch: Arch, bytes: &[u8], pc: u64) -> Option<Instruction> {
    match arch {
        Arch::X86_64 => x86_64::decode(bytes, pc),
        Arch::Aarch64 => aarch64::decode(bytes, pc),
    }
}
