//! Arithmetic on addresses, stack sizes and jump table entries.

use iced_x86::{Mnemonic, OpKind, Register as Iced};

use super::super::compare::Operand;
use super::super::isa::Flow;
use super::super::value::Value;
use super::{Run, number};

impl Run<'_> {
    pub(super) fn sign_extended(&mut self) -> Value {
        let size = self.size(1);
        let value = match self.instruction.op1_kind() {
            OpKind::Memory => {
                let address = self.address(size, true);
                self.machine.load(address, size)
            }
            _ => self.read(1),
        };
        let positive = 1_u64 << (u32::from(size) * 8 - 1);
        match value {
            Value::Table(_) => value,
            Value::Constant(value) => {
                let unused = 64 - 8 * u32::from(size);
                Value::Constant(
                    (value << unused)
                        .cast_signed()
                        .wrapping_shr(unused)
                        .cast_unsigned(),
                )
            }
            value if self.machine.most(value).is_some_and(|most| most < positive) => value,
            _ => self.machine.name(),
        }
    }

    pub(super) fn effective_address(&mut self) -> Value {
        let instruction = self.instruction;
        if instruction.is_ip_rel_memory_operand() {
            return Value::Constant(instruction.memory_displacement64());
        }
        let base = self.value_of(instruction.memory_base());
        let offset = Value::Constant(instruction.memory_displacement64());
        let index = instruction.memory_index();
        let index = match index {
            Iced::None => Value::Constant(0),
            index => match (self.value_of(index), instruction.memory_index_scale()) {
                (Value::Constant(index), scale) => {
                    Value::Constant(index.wrapping_mul(scale.into()))
                }
                (index, 1) => index,
                _ => Value::Unknown,
            },
        };
        let sum = self.tables.sum(base, offset, 0);
        let sum = self.tables.sum(sum, index, 0);
        match (sum, base) {
            (Value::Unknown, Value::Stack(..)) => self.machine.new_base(),
            (Value::Unknown, _) => self.machine.name(),
            (sum, _) => sum,
        }
    }

    pub(super) fn arithmetic(&mut self) -> Flow {
        let instruction = self.instruction;
        let mnemonic = instruction.mnemonic();
        let size = self.size(0);
        let register = |index| match instruction.op_kind(index) {
            OpKind::Register => number(instruction.op_register(index)).filter(|_| size == 8),
            _ => None,
        };
        let (left, right) = (self.read(0), self.read(1));
        let same = instruction.op0_kind() == OpKind::Register
            && instruction.op1_kind() == OpKind::Register
            && instruction.op0_register() == instruction.op1_register();
        if mnemonic == Mnemonic::Cmp {
            let operand = |index, value| Operand {
                register: register(index),
                value,
            };
            self.machine.compare(operand(0, left), operand(1, right));
            return Flow::Next;
        }
        let is_stack = matches!(left, Value::Stack(..)) && size == 8;
        let value = match (mnemonic, right) {
            (Mnemonic::Xor | Mnemonic::Sub, _) if same => Value::Constant(0),
            (Mnemonic::Add, _) => self.tables.sum(left, right, 0),
            (Mnemonic::Sub, _) => left.minus(right),
            (Mnemonic::And, Value::Constant(mask))
                if !is_stack && mask <= i64::MAX.cast_unsigned() =>
            {
                self.machine.name_at_most(mask)
            }
            _ => Value::Unknown,
        };
        // The result has as many bits as the operand.
        let value = value.low(size.saturating_mul(8));
        let value = match value {
            // An allocation of unknown size (alloca), or an alignment.
            Value::Unknown if is_stack && mnemonic != Mnemonic::Xor => self.machine.new_base(),
            Value::Unknown => self.machine.name(),
            known => known,
        };
        self.write(0, value);
        let at = self.machine.at;
        match mnemonic {
            // An operand with this instruction's name, from the last run, is not comparable: the result took the name.
            Mnemonic::Sub if !left.is_named(at) && !right.is_named(at) => {
                let operand = |value| Operand {
                    register: None,
                    value,
                };
                self.machine.compare(operand(left), operand(right));
            }
            _ => self.machine.forget_flags(),
        }
        Flow::Next
    }
}
