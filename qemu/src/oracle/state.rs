//! What an instruction does with the flow of control: by the registers and by the bytes of code, never by a table.

use super::{aarch64, x86_64};
use crate::hardware::Arch;
use crate::stub::{Registers, State};

/// What an instruction does with the flow of control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Goes on behind it.
    Next,
    /// Goes on behind it, and says that it goes round in a loop until another CPU has done something.
    Spins,
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

/// At a vector, what the exception has interrupted: where that goes on, its stack pointer, and the word in memory that has
/// the former, if one has.
pub fn interrupted(
    state: &State,
    word: &dyn Fn(u64) -> Option<u64>,
) -> Option<(u64, u64, Option<u64>)> {
    match &state.registers {
        Registers::X86(_) => x86_64::interrupted(state.sp, word),
        Registers::Arm(registers) => aarch64::interrupted(registers),
        // It is followed in another way.
        Registers::Arm32(_) => None,
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
