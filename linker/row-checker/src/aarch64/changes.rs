//! The effects of an instruction, while the decoder collects them.

use super::word::ZERO;
use super::{Register, SP};
use crate::instruction::{Effect, Instruction, Operand, Size};

/// Effects of one instruction.
#[derive(Debug, Default)]
pub(super) struct Changes(Vec<Effect>);

impl Changes {
    /// Returns the change of one register, if its number does not name the stack pointer.
    pub fn one(register: Register, value: Operand) -> Self {
        Self::default().set(register, value)
    }

    /// Sets a register. A write of the zero register has no effect.
    pub fn set(self, register: Register, value: Operand) -> Self {
        match register {
            ZERO => self,
            _ => self.with(Effect::Set(register, value)),
        }
    }

    /// Sets a register, which may be the stack pointer. An unknown value moves the stack pointer.
    pub fn set_or_sp(self, register: Register, value: Operand) -> Self {
        match (register, value) {
            (SP, Operand::Unknown | Operand::Computed(_)) => {
                self.with(Effect::Set(SP, Operand::Moved))
            }
            _ => self.with(Effect::Set(register, value)),
        }
    }

    /// Sets registers to unknown values, except the zero register.
    pub fn forget(self, registers: impl IntoIterator<Item = Register>) -> Self {
        let set = |all: Self, register| all.set(register, Operand::Unknown);
        registers.into_iter().fold(self, set)
    }

    /// Stores at most `count` bytes.
    pub fn store(self, base: Register, offset: i32, count: u32, value: Operand) -> Self {
        let size = Size::Bytes(count);
        self.with(Effect::Store {
            base,
            offset,
            size,
            value,
        })
    }

    /// Stores at an unknown distance from a register, or an unknown number of bytes.
    pub fn store_anywhere(self, base: Register) -> Self {
        let (size, value) = (Size::Anywhere, Operand::Unknown);
        self.with(Effect::Store {
            base,
            offset: 0,
            size,
            value,
        })
    }

    /// Adds an effect.
    pub fn with(mut self, effect: Effect) -> Self {
        self.0.push(effect);
        self
    }

    /// Returns the instruction that has these effects, after which control continues.
    pub fn instruction(self) -> Instruction {
        Instruction {
            effects: self.0,
            ..Instruction::nothing(4)
        }
    }
}
