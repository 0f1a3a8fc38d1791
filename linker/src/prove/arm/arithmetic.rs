//! Instructions that compute one register from others. Values have 32 bits.

use arm_instructions::{PC, Source};

use super::super::compare::Operand;
use super::super::isa::Flow;
use super::super::value::{Register, Value};
use super::{Run, SP};

/// A number of 32 bits.
const fn number(value: u64) -> Value {
    Value::Constant(value & 0xffff_ffff)
}

/// A number of 32 bits as a distance.
const fn distance(value: u64) -> i64 {
    (value as u32).cast_signed() as i64
}

/// The sum of two values, if that is known.
pub(super) fn sum(one: Value, other: Value) -> Value {
    match (one, other) {
        (Value::Constant(one), Value::Constant(other)) => number(one.wrapping_add(other)),
        (Value::Stack(base, offset), Value::Constant(more))
        | (Value::Constant(more), Value::Stack(base, offset)) => {
            Value::Stack(base, offset.wrapping_add(distance(more)))
        }
        (value, Value::Constant(0)) | (Value::Constant(0), value) => value,
        _ => Value::Unknown,
    }
}

/// The difference of two values, if that is known.
fn difference(one: Value, other: Value) -> Value {
    match (one, other) {
        (Value::Same(_) | Value::Low(..), _) if one == other => Value::Constant(0),
        (_, Value::Constant(less)) => sum(one, number(less.wrapping_neg())),
        (Value::Stack(one, from), Value::Stack(other, to)) if one == other => {
            number(from.wrapping_sub(to).cast_unsigned())
        }
        _ => Value::Unknown,
    }
}

impl Run<'_> {
    /// The value of a second source.
    pub(super) fn source(&mut self, source: Source) -> Value {
        match source {
            Source::Constant(value) => Value::Constant(value.into()),
            Source::Register(register, 0) => self.read(register),
            Source::Register(register, shift) => match self.read(register) {
                Value::Constant(value) => number(value << shift),
                value @ Value::Table(_) => self.tables.sum(Value::Constant(0), value, shift),
                _ => Value::Unknown,
            },
            Source::Other => Value::Unknown,
        }
    }

    /// Notes what is compared. `result` is where an instruction has put the difference.
    fn compared(
        &mut self,
        left: (Register, Value),
        right: (Source, Value),
        result: Option<Register>,
    ) {
        let of_right = match right.0 {
            Source::Register(register, 0) => Some(register),
            _ => None,
        };
        let at = self.machine.at;
        let operand = |register: Option<Register>, value: Value| {
            // A source that has the name of this instruction, from the last run, is not the source any more: the result took it.
            let value = match value.is_named(at) && result.is_some() {
                true => Value::Unknown,
                false => value,
            };
            let holds = |of: &Register| {
                *of != PC && value != Value::Unknown && self.machine.get(*of) == value
            };
            Operand {
                register: register.filter(holds),
                value,
            }
        };
        let operands = (operand(Some(left.0), left.1), operand(of_right, right.1));
        self.machine.compare(operands.0, operands.1);
    }

    pub(super) fn compare(&mut self, left: Register, right: Source) -> Flow {
        let value = self.read_named(left);
        let other = self.source(right);
        self.compared((left, value), (right, other), None);
        Flow::Next
    }

    pub(super) fn add(
        &mut self,
        to: Register,
        left: Register,
        right: Source,
        subtracts: bool,
        flags: bool,
    ) -> Option<Flow> {
        // The compared value becomes symbolic, so that its bound holds for all copies.
        let compares = subtracts && flags;
        let one = match (left, right) {
            // An address near the instruction.
            (PC, Source::Constant(_)) => Value::Constant(self.pc & !3),
            _ if compares => self.read_named(left),
            _ => self.read(left),
        };
        let other = self.source(right);
        let known = match (subtracts, right) {
            (true, _) => difference(one, other),
            (false, Source::Register(register, shift)) if shift != 0 => {
                let unshifted = self.read(register);
                match self.tables.sum(one, unshifted, shift) {
                    table @ Value::Table(_) => table,
                    _ => sum(one, other),
                }
            }
            (false, _) => match self.tables.sum(one, other, 0) {
                table @ Value::Table(_) => table,
                _ => sum(one, other),
            },
        };
        if to == PC {
            return Some(Flow::Jump(known));
        }
        let value = match (known, one, other) {
            // An allocation of unknown size (alloca).
            (Value::Unknown, Value::Stack(..), _) => self.machine.new_base(),
            (Value::Unknown, _, Value::Stack(..)) if !subtracts => self.machine.new_base(),
            (Value::Unknown, ..) => self.machine.name(),
            _ => known,
        };
        let flow = self.write(to, value);
        if compares {
            self.compared((left, one), (right, other), Some(to));
        } else if flags {
            self.machine.forget_flags();
        }
        flow
    }

    pub(super) fn and(
        &mut self,
        to: Register,
        left: Register,
        right: Source,
        clears: bool,
        flags: bool,
    ) -> Option<Flow> {
        let (one, other) = (self.read(left), self.source(right));
        let mask = match (right, clears) {
            (Source::Constant(mask), false) => Some(u64::from(mask)),
            (Source::Constant(mask), true) => Some(u64::from(!mask)),
            _ => None,
        };
        let value = match (one, other, mask) {
            (Value::Constant(value), _, Some(mask)) => Value::Constant(value & mask),
            // Aligns a stack address.
            (Value::Stack(..), ..) => self.machine.new_base(),
            (_, _, Some(mask)) if mask <= i32::MAX.cast_unsigned().into() => {
                self.machine.name_at_most(mask)
            }
            _ => self.machine.name(),
        };
        if flags {
            self.machine.forget_flags();
        }
        self.write(to, value)
    }

    pub(super) fn copy(
        &mut self,
        to: Register,
        from: Source,
        inverts: bool,
        flags: bool,
    ) -> Option<Flow> {
        let value = match from {
            Source::Register(register, 0) if !inverts => self.read_named(register),
            _ => match (self.source(from), inverts) {
                (Value::Constant(value), true) => number(!value),
                (Value::Unknown, _) | (_, true) => self.machine.name(),
                (value, false) => value,
            },
        };
        if flags {
            self.machine.forget_flags();
        }
        self.write(to, value)
    }

    pub(super) fn top(&mut self, to: Register, half: u16) -> Option<Flow> {
        let value = match self.read(to) {
            Value::Constant(value) => Value::Constant(value & 0xffff | u64::from(half) << 16),
            _ => self.machine.name(),
        };
        self.write(to, value)
    }

    pub(super) fn low(&mut self, to: Register, from: Register, bits: u8) -> Option<Flow> {
        let value = match self.read_named(from) {
            Value::Table(number) => {
                (self.tables.extended(number, bits, false)).unwrap_or(Value::Unknown)
            }
            value => value.low(bits),
        };
        self.write(to, value)
    }

    pub(super) fn unknown(&mut self, to: u16, flags: bool) -> Option<Flow> {
        if to >> PC != 0 {
            return None;
        }
        for register in 0..PC {
            if to >> register & 1 != 0 {
                // The stack pointer is not computed so but from another one.
                let value = match register == SP {
                    true => Value::Unknown,
                    false if to.count_ones() == 1 => self.machine.name(),
                    false => Value::Unknown,
                };
                self.machine.set(register, value);
            }
        }
        if flags {
            self.machine.forget_flags();
        }
        Some(Flow::Next)
    }
}
