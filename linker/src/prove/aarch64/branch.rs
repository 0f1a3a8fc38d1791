//! Branches, calls, returns and exceptions. Manual: C4.1, "Branches, Exception Generating and System instructions".

use disarm64::InsnOpcode;
use disarm64_defn::{InsnClass, InsnOperandKind};

use super::super::compare::Condition;
use super::super::isa::Flow;
use super::super::value::{Origin, Value};
use super::{LR, Run};

impl Run<'_> {
    pub(super) fn branch(&mut self) -> Flow {
        match self.opcode.definition().class {
            InsnClass::BRANCH_REG => self.branch_to_register(),
            InsnClass::BRANCH_IMM => match self.bit(31) {
                true => Flow::Call(Value::Constant(self.target())),
                false => Flow::Jump(Value::Constant(self.target())),
            },
            // `b.al` and `b.nv`: always taken.
            InsnClass::CONDBRANCH if self.bits(1, 3) == 0b111 => {
                Flow::Jump(Value::Constant(self.target()))
            }
            InsnClass::CONDBRANCH => Flow::Branch(self.target(), self.condition()),
            _ => Flow::Branch(self.target(), Condition::Other),
        }
    }

    /// The address that a branch leads to.
    fn target(&self) -> u64 {
        let mut operands = self.opcode.definition().operands.iter();
        let field = operands.find_map(|operand| match operand.kind {
            InsnOperandKind::ADDR_PCREL26 => Some((0, 26)),
            InsnOperandKind::ADDR_PCREL19 => Some((5, 19)),
            InsnOperandKind::ADDR_PCREL14 => Some((5, 14)),
            InsnOperandKind::ADDR_PCREL9 => Some((5, 9)),
            _ => None,
        });
        let (low, width) = field.expect("every branch to a known place has an offset");
        self.machine
            .at
            .wrapping_add_signed(self.signed(low, width) << 2)
    }

    fn condition(&self) -> Condition {
        match self.bits(0, 4) {
            0 => Condition::Equal,
            1 => Condition::NotEqual,
            2 => Condition::AboveOrEqual,
            3 => Condition::Below,
            8 => Condition::Above,
            9 => Condition::BelowOrEqual,
            _ => Condition::Other,
        }
    }

    fn branch_to_register(&mut self) -> Flow {
        let from = self.number(5);
        // Bit 11: the target has a pointer authentication code.
        let authenticates = self.bit(11);
        match self.bits(21, 4) {
            2 => match authenticates {
                // `retaa` and `retab` have no register field.
                true => Flow::Return(authenticated(self.machine.get(LR))),
                false => Flow::Return(self.read(from, 64)),
            },
            // `eret`, and `drps`, which returns from debug state.
            4 | 5 => Flow::InterruptReturn,
            operation => {
                let to = match authenticates {
                    true => authenticated(self.read(from, 64)),
                    false => self.read(from, 64),
                };
                match operation & 1 {
                    0 => Flow::Jump(to),
                    _ => Flow::Call(to),
                }
            }
        }
    }

    pub(super) fn exception(&mut self) -> Flow {
        const UDF: u32 = 0;
        const CALL: u32 = 0;
        const BREAKPOINT: u32 = 1;
        match self.bits(21, 3) {
            // Compilers emit these for unreachable code: `udf`; `brk #1` (LLVM); `brk #1000` (GCC).
            _ if self.bits(24, 8) == UDF => Flow::Trap,
            BREAKPOINT if matches!(self.bits(5, 16), 1 | 1000) => Flow::Trap,
            // svc, hvc, smc: "SMC Calling Convention", section 2.6, preserves x18 and above.
            CALL => {
                for register in 0..=17 {
                    self.machine.set(register, Value::Unknown);
                }
                self.machine.forget_flags();
                Flow::Next
            }
            // After any other breakpoint a debugger or a handler goes on.
            _ => Flow::Next,
        }
    }
}

/// The pointer that authentication leaves. The code is assumed to be right: otherwise the next use of the pointer faults.
pub(super) fn authenticated(value: Value) -> Value {
    match value {
        Value::Signed(register) => Value::entry(register),
        _ => Value::Unknown,
    }
}

/// A pointer with an authentication code.
pub(super) fn signed(value: Value) -> Value {
    match value {
        Value::Same(Origin::Entry(register)) => Value::Signed(register),
        _ => Value::Unknown,
    }
}
