//! Instructions that compute one register from others. Manual: C4.1, "Data Processing -- Immediate" and "Data Processing --
//! Register".

use super::super::compare::Operand;
use super::super::isa::Flow;
use super::super::value::{Register, Value};
use super::{Run, SP};

impl Run<'_> {
    pub(super) fn add_immediate(&mut self) -> Flow {
        let shift = if self.bit(22) { 12 } else { 0 };
        let immediate = Value::Constant(u64::from(self.bits(10, 12)) << shift);
        let (to, left) = (self.number(0), self.number(5));
        self.add(to, left, true, immediate, 0)
    }

    pub(super) fn add_shifted(&mut self) -> Flow {
        let width = self.width();
        let right = self.read(self.number(16), width);
        let amount = self.bits(10, 6) as u8;
        let right = match self.bits(22, 2) {
            _ if amount == 0 => right,
            // Shifted to the right.
            1 | 2 => Value::Unknown,
            _ => right,
        };
        let (to, left) = (self.number(0), self.number(5));
        self.add(to, left, false, right, amount)
    }

    pub(super) fn add_extended(&mut self) -> Flow {
        let (bits, signed) = self.extension();
        let right = self.read(self.number(16), self.width());
        let right = self.extend(right, bits, signed);
        let (to, left) = (self.number(0), self.number(5));
        self.add(to, left, true, right, self.bits(10, 3) as u8)
    }

    /// How the second source is extended: from how many bits, and whether with their sign.
    pub(super) fn extension(&self) -> (u8, bool) {
        let option = self.bits(13, 3);
        (8 << (option & 3), option & 4 != 0)
    }

    /// All forms of addition and subtraction; the second value is shifted left first. `is_sp`: number 31 is the stack pointer as
    /// a source, and as the destination if no flags are set.
    fn add(&mut self, to: Register, from: Register, is_sp: bool, right: Value, shift: u8) -> Flow {
        let width = self.width();
        let (subtracts, sets_flags) = (self.bit(30), self.bit(29));
        let compares = subtracts && sets_flags;
        // The compared value becomes symbolic, so that its bound holds for all copies.
        if compares {
            self.machine.named(from);
        }
        let left = match is_sp {
            true => self.read_or_sp(from, width),
            false => self.read(from, width),
        };
        let full = width == 64;
        let shifted = match right {
            _ if shift == 0 => right,
            Value::Constant(value) => Value::Constant(value << shift),
            _ => Value::Unknown,
        };
        let value = match (subtracts, left, shifted) {
            (true, Value::Same(_) | Value::Low(..), _) if left == shifted => Value::Constant(0),
            (true, ..) => left.minus(shifted),
            (false, ..) => self.tables.sum(left, right, shift),
        };
        let goes_nowhere = to == SP && (sets_flags || !is_sp);
        if !goes_nowhere {
            let value = match value {
                Value::Unknown => match (full, left, right) {
                    // An allocation of unknown size (alloca).
                    (true, Value::Stack(..), _) => self.machine.new_base(),
                    (true, _, Value::Stack(..)) if !subtracts => self.machine.new_base(),
                    _ => self.machine.name(),
                },
                known => known,
            };
            self.write_or_sp(to, width, value);
        }
        if compares {
            // A source that has the name of this instruction, from the last run, is not the source any more: the result took it.
            let at = self.machine.at;
            let known = |value: Value| match value.is_named(at) && !goes_nowhere {
                true => Value::Unknown,
                false => value,
            };
            // A register is noted only if it still holds the compared value: not if it was shifted or overwritten by the result,
            // and not if the field is part of an immediate.
            let operand = |register: Register, value: Value| Operand {
                register: Some(register)
                    .filter(|of| value != Value::Unknown && self.machine.get(*of) == value),
                value,
            };
            let (left, right) = (
                operand(from, known(left)),
                operand(self.number(16), known(shifted)),
            );
            self.machine.compare(left, right);
        } else if sets_flags {
            self.machine.forget_flags();
        }
        Flow::Next
    }

    pub(super) fn logical_immediate(&mut self) -> Flow {
        let mask = self.mask().unwrap_or(u64::MAX);
        let (to, from, width) = (self.number(0), self.number(5), self.width());
        let left = self.read(from, width);
        let value = match (self.bits(29, 2), left) {
            (0 | 3, Value::Constant(value)) => Value::Constant(value & mask),
            (1, Value::Constant(value)) => Value::Constant(value | mask),
            (2, Value::Constant(value)) => Value::Constant(value ^ mask),
            (0 | 3, _) if mask <= i64::MAX.cast_unsigned() => self.machine.name_at_most(mask),
            // Aligns the stack pointer.
            (0, Value::Stack(..)) => self.machine.new_base(),
            _ => self.machine.name(),
        };
        match self.bits(29, 2) {
            3 => {
                self.write(to, width, value);
                self.machine.forget_flags();
                Flow::Next
            }
            _ => self.write_or_sp(to, width, value),
        }
    }

    /// The immediate of a logical instruction, if it is valid. Manual: `DecodeBitMasks` in J1.1.
    pub(super) fn mask(&self) -> Option<u64> {
        let (n, rotation, ones) = (self.bits(22, 1), self.bits(16, 6), self.bits(10, 6));
        let size = 1_u32 << (n << 6 | (!ones & 0x3f)).checked_ilog2()?;
        let (ones, rotation) = (ones & (size - 1), rotation & (size - 1));
        if ones == size - 1 || self.width() < 64 && size == 64 {
            return None;
        }
        let element = u64::MAX >> (63 - ones);
        let all = u64::MAX >> (64 - size);
        let rotated = match rotation {
            0 => element,
            _ => (element >> rotation | element << (size - rotation)) & all,
        };
        let mut mask = rotated;
        let mut filled = size;
        while filled < 64 {
            mask |= mask << filled;
            filled *= 2;
        }
        Some(match self.width() {
            64 => mask,
            _ => mask & u64::from(u32::MAX),
        })
    }

    pub(super) fn logical_shifted(&mut self) -> Flow {
        let (to, from, other) = (self.number(0), self.number(5), self.number(16));
        let width = self.width();
        let (amount, negates) = (self.bits(10, 6), self.bit(21));
        let operation = self.bits(29, 2);
        let value = match (operation, from) {
            // A copy.
            (1, SP) if amount == 0 && !negates => self.read_named(other, width),
            (1, _) if amount == 0 && !negates && other == SP => self.read_named(from, width),
            _ => {
                let (left, right) = (self.read(from, width), self.read(other, width));
                match (operation, left, right) {
                    (1, Value::Constant(left), Value::Constant(right)) if amount == 0 => {
                        Value::Constant(left | if negates { !right } else { right })
                    }
                    // A register with itself.
                    (2, ..) if from == other && amount == 0 => match negates {
                        true => Value::Constant(u64::MAX),
                        false => Value::Constant(0),
                    },
                    // Aligns a stack address to the mask in a register.
                    (0, Value::Stack(..), _) => self.machine.new_base(),
                    _ => self.machine.name(),
                }
            }
        };
        self.write(to, width, value);
        if operation == 3 {
            self.machine.forget_flags();
        }
        Flow::Next
    }

    pub(super) fn move_wide(&mut self) -> Flow {
        let (to, width) = (self.number(0), self.width());
        let shift = self.bits(21, 2) * 16;
        let part = u64::from(self.bits(5, 16)) << shift;
        let value = match self.bits(29, 2) {
            0 => Value::Constant(!part),
            2 => Value::Constant(part),
            _ => match self.read(to, width) {
                Value::Constant(value) => Value::Constant(value & !(0xffff << shift) | part),
                _ => self.machine.name(),
            },
        };
        self.write(to, width, value)
    }

    pub(super) fn bitfield(&mut self) -> Flow {
        let (to, from, width) = (self.number(0), self.number(5), self.width());
        let (first, last) = (self.bits(16, 6) as u8, self.bits(10, 6) as u8);
        let operation = self.bits(29, 2);
        let value = match operation {
            // The lowest bits: an extension.
            0 | 2 if first == 0 => {
                let value = self.read_named(from, 64);
                self.extend(value, last + 1, operation == 0)
            }
            2 if last >= first => {
                let mask = u64::MAX >> (63 - (last - first));
                match self.read(from, width) {
                    Value::Constant(value) => Value::Constant(value >> first & mask),
                    _ => self.machine.name_at_most(mask),
                }
            }
            // A shift to the left.
            2 if last + 1 == first => {
                let value = self.read(from, width);
                let shift = width - first;
                match (value, self.width()) {
                    (Value::Constant(value), _) => Value::Constant(value << shift),
                    (Value::Table(_), 64) => self.tables.sum(Value::Constant(0), value, shift),
                    _ => self.machine.name(),
                }
            }
            _ => self.machine.name(),
        };
        self.write(to, width, value)
    }

    /// `csel`, and `csinc`, `csinv`, `csneg`, which change the second value.
    pub(super) fn select(&mut self) -> Flow {
        let (to, width) = (self.number(0), self.width());
        let one = self.read(self.number(5), width);
        let other = self.read(self.number(16), width);
        let is_plain = !self.bit(30) && !self.bit(10);
        let value = match one == other && one != Value::Unknown && is_plain {
            true => one,
            false => self.machine.name(),
        };
        self.write(to, width, value)
    }

    pub(super) fn pc_relative(&mut self) -> Flow {
        let offset = self.signed(5, 19) << 2 | i64::from(self.bits(29, 2));
        let value = match self.bit(31) {
            true => (self.machine.at & !0xfff).wrapping_add_signed(offset << 12),
            false => self.machine.at.wrapping_add_signed(offset),
        };
        self.write(self.number(0), 64, Value::Constant(value))
    }
}
