//! The fields of an instruction word.

use super::{Register, SP};
use crate::instruction::Operand;

/// The number that names the zero register, or the stack pointer in some fields.
pub(super) const ZERO: Register = SP;

/// An instruction word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word(pub u32);

impl Word {
    /// Returns `count` bits from bit `low` on.
    pub fn bits(self, low: u32, count: u32) -> u32 {
        self.0 >> low & (u32::MAX >> (32 - count))
    }

    /// Returns whether a bit is set.
    pub fn bit(self, number: u32) -> bool {
        self.bits(number, 1) == 1
    }

    /// Returns `count` bits from bit `low` on, as a signed number.
    pub fn signed(self, low: u32, count: u32) -> i32 {
        (self.bits(low, count) << (32 - count)).cast_signed() >> (32 - count)
    }

    /// Returns whether the bits of a mask have this value.
    pub fn is(self, mask: u32, value: u32) -> bool {
        self.0 & mask == value
    }

    /// Returns the register that the field at bit `low` names.
    pub fn register(self, low: u32) -> Register {
        self.bits(low, 5) as Register
    }

    /// Returns the register of the first field, `Rd` or `Rt`.
    pub fn rd(self) -> Register {
        self.register(0)
    }

    /// Returns the register of the second field, `Rn`.
    pub fn rn(self) -> Register {
        self.register(5)
    }

    /// Returns the register of the field `Rt2`.
    pub fn rt2(self) -> Register {
        self.register(10)
    }

    /// Returns the register of the field `Rm` or `Rs`.
    pub fn rm(self) -> Register {
        self.register(16)
    }

    /// Returns whether the instruction computes with 64 bits, where bit 31 tells.
    pub fn is_64(self) -> bool {
        self.bit(31)
    }
}

/// Returns the result of arithmetic on registers whose numbers do not name the stack pointer.
pub(super) fn computed(registers: &[Register]) -> Operand {
    let registers = registers.iter().filter(|register| **register != ZERO);
    Operand::Computed(registers.fold(0, |all, register| all | 1 << register))
}

/// Returns the result of arithmetic on a register, whose number may name the stack pointer, and on one whose number does not.
pub(super) fn computed_from_sp(left: Register, right: Register) -> Operand {
    let right = if right == ZERO { left } else { right };
    Operand::Computed(1 << left | 1 << right)
}

/// Returns the value of a register, if its number does not name the stack pointer.
pub(super) fn read(register: Register) -> Operand {
    match register {
        ZERO => Operand::Number(0),
        _ => Operand::Sum(register, 0),
    }
}
