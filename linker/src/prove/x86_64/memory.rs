//! Operands (registers, memory, immediates), push and pop.

use iced_x86::{OpKind, Register as Iced};

use super::super::compare::Limit;
use super::super::isa::Flow;
use super::super::value::{Address, Value};
use super::{RSP, Run, number};

impl Run<'_> {
    /// Bytes of an operand.
    pub(super) fn size(&self, index: u32) -> u8 {
        match self.instruction.op_kind(index) {
            OpKind::Register => self.instruction.op_register(index).size() as u8,
            OpKind::Memory => self.instruction.memory_size().size().min(255) as u8,
            _ => 8,
        }
    }

    /// An operand's value, zero-extended.
    pub(super) fn read(&mut self, index: u32) -> Value {
        let instruction = self.instruction;
        match instruction.op_kind(index) {
            OpKind::Register => {
                let register = instruction.op_register(index);
                match number(register) {
                    Some(_) if matches!(register, Iced::AH | Iced::BH | Iced::CH | Iced::DH) => {
                        Value::Unknown
                    }
                    Some(number) => self.machine.named(number).low(register.size() as u8 * 8),
                    None => Value::Unknown,
                }
            }
            OpKind::Memory => {
                let size = self.size(index);
                let address = self.address(size, false);
                self.machine.load(address, size)
            }
            _ => {
                let value = Value::Constant(instruction.immediate(index));
                match self.size(0) {
                    size @ 1..8 => value.low(size * 8),
                    _ => value,
                }
            }
        }
    }

    /// Sets an operand.
    pub(super) fn write(&mut self, index: u32, value: Value) -> Flow {
        match self.instruction.op_kind(index) {
            OpKind::Register => {
                let register = self.instruction.op_register(index);
                if let Some(number) = number(register) {
                    let value = match register.size() {
                        8 => value,
                        4 => value.low(32),
                        // Writes of 8 and 16 bits keep the others.
                        _ => Value::Unknown,
                    };
                    self.machine.set(number, value);
                }
            }
            OpKind::Memory => {
                let size = self.size(index);
                let address = self.address(size, false);
                self.machine.store(address, size, value);
            }
            _ => {}
        }
        Flow::Next
    }

    /// The address of the memory operand of `size` bytes; `signed` if a load sign-extends it.
    pub(super) fn address(&mut self, size: u8, signed: bool) -> Address {
        let instruction = self.instruction;
        let offset = instruction.memory_displacement64().cast_signed();
        if instruction.is_ip_rel_memory_operand() {
            return Address::At(instruction.memory_displacement64());
        }
        if !matches!(
            instruction.segment_prefix(),
            Iced::None | Iced::DS | Iced::CS | Iced::SS | Iced::ES
        ) {
            return Address::Unknown;
        }
        let base = self.value_of(instruction.memory_base());
        let (index, scale) = (instruction.memory_index(), instruction.memory_index_scale());
        if index == Iced::None {
            return Address::of(base, offset);
        }
        let index = self.value_of(index);
        match (base, index) {
            (Value::Constant(table), Value::Constant(index))
                if scale == u32::from(size) && size > 1 =>
            {
                let entry = table
                    .wrapping_add_signed(offset)
                    .wrapping_add(index.wrapping_mul(scale.into()));
                match self
                    .tables
                    .read(entry, size, signed, Some(Limit::compared(0)))
                {
                    Value::Table(number) => Address::Table(number),
                    _ => Address::Unknown,
                }
            }
            (_, Value::Constant(index)) => {
                let more = index.wrapping_mul(scale.into()).cast_signed();
                Address::of(base, offset.wrapping_add(more))
            }
            (Value::Constant(table), index) if scale == u32::from(size) && size > 1 => {
                let limit = self.machine.limit(index);
                let table = table.wrapping_add_signed(offset);
                match self.tables.read(table, size, signed, limit) {
                    Value::Table(number) => Address::Table(number),
                    _ => Address::Unknown,
                }
            }
            _ => Address::Unknown,
        }
    }

    /// The value of a register of an address; zero if there is none.
    pub(super) fn value_of(&mut self, register: Iced) -> Value {
        match number(register) {
            Some(number) => self.machine.named(number).low(register.size() as u8 * 8),
            None => Value::Constant(0),
        }
    }

    pub(super) fn push(&mut self, value: Value, increment: i32) -> Flow {
        self.move_stack_pointer(increment.into());
        let size = increment.unsigned_abs() as u8;
        let address = Address::of(self.machine.sp(), 0);
        self.machine.store(address, size, value);
        Flow::Next
    }

    pub(super) fn pop(&mut self, increment: i32) -> Value {
        let address = Address::of(self.machine.sp(), 0);
        let value = self.machine.load(address, increment.unsigned_abs() as u8);
        self.move_stack_pointer(increment.into());
        value
    }

    pub(super) fn move_stack_pointer(&mut self, by: i64) {
        let moved = self.machine.sp().plus(Value::Constant(by.cast_unsigned()));
        self.machine.set(RSP, moved);
    }
}
