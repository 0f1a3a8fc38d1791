//! Branches, calls, returns and exceptions.

use arm_instructions::{LR, Op, Source};

use super::super::compare::Condition;
use super::super::isa::Flow;
use super::super::value::{Register, Value};
use super::{BLOCK, Run, SP};

/// The bit of an address that tells code of T32.
pub(super) const THUMB: u64 = 1;

impl Run<'_> {
    pub(super) fn branch(&mut self, op: Op) -> Flow {
        match op {
            Op::Jump(to) => Flow::Jump(Value::Constant(to.into())),
            Op::JumpIf(to) => Flow::Branch(to.into(), Condition::Other),
            // To the next instruction: how code learns where it is.
            Op::Call(to) if u64::from(to) == self.next => {
                let bit = if self.is_thumb { THUMB } else { 0 };
                self.machine.set(LR, Value::Constant(self.next | bit));
                Flow::Next
            }
            Op::Call(to) => Flow::Call(Value::Constant(to.into())),
            Op::JumpTo(register) => {
                let value = self.read(register);
                self.jump(value, register == LR)
            }
            Op::CallTo(register) => {
                let value = target(self.read(register));
                Flow::Call(value)
            }
            Op::Table { base, index, size } => self.table(base, index, size),
            Op::If(state) => {
                self.machine.set(BLOCK, Value::Constant(state.into()));
                Flow::Next
            }
            Op::InterruptReturn => Flow::InterruptReturn,
            Op::Mode => {
                for register in [SP, LR] {
                    self.machine.set(register, Value::Unknown);
                }
                self.machine.forget_flags();
                Flow::Next
            }
            // Where it is taken in the mode that it is called in, it overwrites the link register.
            Op::Supervisor => {
                for register in [0, 1, 2, 3, 12, LR] {
                    self.machine.set(register, Value::Unknown);
                }
                self.machine.forget_flags();
                Flow::Next
            }
            _ => Flow::Trap,
        }
    }

    /// A jump to a value, which is a return address by what it is, or by where it comes from.
    pub(super) fn jump(&mut self, value: Value, is_return: bool) -> Flow {
        match is_return || value == Value::entry(LR) {
            true => Flow::Return(target(value)),
            false => Flow::Jump(target(value)),
        }
    }

    /// A jump by an entry of a table: from the program counter on, which is behind the instruction, so many times two bytes.
    fn table(&mut self, base: Register, index: Register, size: u8) -> Flow {
        let from = self.pc;
        let Value::Constant(table) = self.read(base) else {
            return Flow::Jump(Value::Unknown);
        };
        let index = self.source(Source::Register(index, 0));
        let limit = self.machine.limit(index);
        let entry = self.tables.read(table, size, false, limit);
        Flow::Jump(self.tables.sum(Value::Constant(from), entry, 1))
    }
}

/// The address that a pointer to code has, without the bit that tells its set.
const fn target(value: Value) -> Value {
    match value {
        Value::Constant(to) => Value::Constant(to & !THUMB),
        other => other,
    }
}
