//! What an instruction makes of a state.

use super::{Kind, StackBegin, State};
use crate::architecture::Convention;
use crate::instruction::{Effect, Operand, REGISTERS, Register, SystemCalls};
use crate::value::{Cause, RETURN, SIGNED_RETURN, Value, Why};

impl State {
    /// Applies an instruction's effects. `code` tells the number of the instruction at an address; `number` is that of this one.
    pub fn apply(
        &mut self,
        effects: &[Effect],
        convention: &Convention,
        red_zone: i32,
        number: u32,
        code: &impl Fn(u64) -> Option<u32>,
    ) {
        if self.compared.is_some() {
            let is_store = |effect: &Effect| matches!(effect, Effect::Store { .. });
            let only_stores = !effects.is_empty() && effects.iter().all(is_store);
            if !(only_stores && convention.stores_keep_flags) {
                self.compared = None;
            }
        }
        let was_known = self.get(convention.stack_pointer).is_known();
        // Every effect reads the state before the first one. Most instructions have at most two effects, which need no allocation.
        let read = |state: &Self, effect| state.read(effect, convention, number, code);
        match effects {
            [] => {}
            [one] => {
                let values = read(self, one);
                self.change(one, values, convention, number);
            }
            [one, two] => {
                let values = (read(self, one), read(self, two));
                self.change(one, values.0, convention, number);
                self.change(two, values.1, convention, number);
            }
            _ => {
                let values: Vec<_> = effects.iter().map(|effect| read(self, effect)).collect();
                for (effect, values) in effects.iter().zip(values) {
                    self.change(effect, values, convention, number);
                }
            }
        }
        let stack_pointer = convention.stack_pointer;
        if self.kind == Kind::Outermost {
            self.begin = self.begin_after(effects, was_known, stack_pointer, number);
        }
        // Trap code, or code without a caller, changes to another stack: all places count from there now.
        let is_trap = self.kind.is_trap();
        let is_left = match self.get(stack_pointer) {
            Value::Cfa(_) => false,
            value => is_trap && !value.is_known() || self.kind == Kind::Outermost,
        };
        if is_left {
            if is_trap {
                self.switch(stack_pointer);
            }
            self.leave_stack(Cause::new(Why::Written, number));
            self.set(stack_pointer, Value::Cfa(0));
        }
        // What lies below the stack pointer is anybody's.
        match self.get(stack_pointer) {
            Value::Cfa(top) => {
                let low = top.saturating_sub(red_zone);
                if self.slots.first().is_some_and(|slot| slot.0 < low) {
                    self.slots.retain(|slot| slot.0 >= low);
                }
            }
            // The added register is unknown, so each word may be below the stack pointer.
            Value::CfaAnd(..) => self.slots.clear(),
            _ => {}
        }
    }

    /// Where the stack of code without a caller begins, after the effects of an instruction. `was_known`: the stack pointer was known before.
    fn begin_after(
        &self,
        effects: &[Effect],
        was_known: bool,
        stack_pointer: Register,
        number: u32,
    ) -> StackBegin {
        let is_set = |effect: &Effect| matches!(effect, Effect::Set(to, _) if *to == stack_pointer);
        match self.begin {
            _ if effects.iter().any(is_set) => match self.get(stack_pointer) {
                Value::Cfa(_) => self.begin,
                _ => StackBegin::Loaded(number),
            },
            begin if was_known => begin,
            StackBegin::Entry => StackBegin::Entered,
            // The stack pointer was lost on the way here.
            _ => StackBegin::Unknown,
        }
    }

    /// Applies one effect, with the address and the value that it has read.
    fn change(
        &mut self,
        effect: &Effect,
        (place, value): (Value, Value),
        convention: &Convention,
        number: u32,
    ) {
        match *effect {
            Effect::Set(to, _) => self.set(to, value),
            Effect::Store { size, .. } => {
                let cause = Cause::new(Why::Stored, number);
                self.store(place, size, value, convention.word, cause);
            }
            Effect::SystemCall(calls) => self.call_system(calls, value, convention, number),
            Effect::ComparesStackPointer(other) => self.compared = Some(other),
        }
    }

    /// A system call with this number. One that is not known may be any.
    fn call_system(
        &mut self,
        calls: &SystemCalls,
        called: Value,
        convention: &Convention,
        number: u32,
    ) {
        let may_be = |numbers: &[i32]| match called {
            Value::Number(called) => numbers.contains(&called),
            _ => true,
        };
        let is_elsewhere = may_be(calls.on_other_stack);
        if is_elsewhere && self.kind != Kind::Outermost {
            self.kind = Kind::Mixed;
        }
        if let Value::Cfa(top) = self.get(convention.stack_pointer)
            && (is_elsewhere || may_be(calls.on_used_stack))
        {
            self.forget_below(top, Cause::new(Why::CalleeMay, number));
        }
    }

    /// The address and the value of an effect.
    fn read(
        &self,
        effect: &Effect,
        convention: &Convention,
        number: u32,
        code: &impl Fn(u64) -> Option<u32>,
    ) -> (Value, Value) {
        let written = Value::Unknown(Cause::new(Why::Written, number));
        let operand = |operand| self.value(operand, convention, number, code);
        match *effect {
            Effect::Set(_, value) => (written, operand(value)),
            Effect::Store {
                base,
                offset,
                value,
                ..
            } => {
                let cause = Cause::new(Why::Written, number);
                (self.get(base).plus(offset, cause), operand(value))
            }
            Effect::SystemCall(calls) => (written, self.get(calls.number)),
            Effect::ComparesStackPointer(_) => (written, written),
        }
    }

    /// Why the result of arithmetic on registers (a bit for each) is unknown. An address of the stack or of the caller that is moved by an
    /// unknown number was not loaded; nor was one that differs between paths.
    fn computed(&self, from: u64, convention: &Convention, number: u32) -> Cause {
        let is_stack = |register: Register| match self.get(register) {
            Value::Unknown(cause) if matches!(cause.why(), Why::Moved | Why::Ways) => true,
            Value::Cfa(_) | Value::CfaAnd(..) | Value::Entry(RETURN | SIGNED_RETURN) => true,
            _ => register == convention.stack_pointer,
        };
        let mut registers = (0..REGISTERS as Register).filter(|register| from >> register & 1 == 1);
        let why = match registers.any(is_stack) {
            true => Why::Moved,
            false => Why::Written,
        };
        Cause::new(why, number)
    }

    fn value(
        &self,
        operand: Operand,
        convention: &Convention,
        number: u32,
        code: &impl Fn(u64) -> Option<u32>,
    ) -> Value {
        let written = Cause::new(Why::Written, number);
        let computed =
            |register: Register| Value::Unknown(self.computed(1 << register, convention, number));
        match operand {
            Operand::Sum(register, bytes) => self.get(register).plus(bytes, written),
            Operand::Registers {
                left,
                right,
                shift,
                subtracts,
            } => {
                let lost = self.computed(1 << left | 1 << right, convention, number);
                if shift == 0
                    && let Some(sum) = self.get(left).with(self.get(right), subtracts)
                {
                    return sum;
                }
                let count = match self.get(right) {
                    Value::Number(count) => i64::from(count) << shift.min(31),
                    _ => i64::MAX,
                };
                let count = i32::try_from(if subtracts { -count } else { count });
                count.map_or(Value::Unknown(lost), |count| {
                    self.get(left).plus(count, lost)
                })
            }
            Operand::Number(count) => Value::Number(count),
            Operand::Inserted { register, bits, at } => match self.get(register) {
                Value::Number(number) => {
                    let (mask, bits) = (0xffff_u64 << at, u64::from(bits) << at);
                    let number = i64::from(number).cast_unsigned() & !mask | bits;
                    i32::try_from(number.cast_signed())
                        .map_or(Value::Unknown(written), Value::Number)
                }
                _ => computed(register),
            },
            Operand::LowByte(register, byte) => match self.get(register) {
                Value::Number(number) => Value::Number(number & !0xff | i32::from(byte)),
                _ => computed(register),
            },
            Operand::Address(address) => code(address).map_or(Value::Unknown(written), Value::Code),
            Operand::Load(base, offset) => {
                let address = self.get(base).plus(offset, written);
                // If the stack pointer was loaded, it points to another stack, on which a switch of stacks continues. If it was moved by an
                // unknown number, it points into the same stack, and the word there is not the caller's.
                let is_stack = match self.get(base) {
                    Value::Unknown(cause) if base == convention.stack_pointer => {
                        !matches!(cause.why(), Why::Moved | Why::Ways)
                    }
                    Value::Unknown(cause) => {
                        base == convention.frame_pointer && cause.why().may_be_right()
                    }
                    _ => false,
                };
                let why = match (address, is_stack) {
                    (Value::Cfa(_), _) => Why::NothingStored,
                    (_, true) => Why::NotFollowed,
                    (_, false) => Why::Written,
                };
                self.load(address, Cause::new(why, number))
            }
            Operand::Signed(register) => match self.get(register) {
                Value::Entry(RETURN) => Value::Entry(SIGNED_RETURN),
                _ => computed(register),
            },
            Operand::Authenticated(register) => match self.get(register) {
                Value::Entry(SIGNED_RETURN) => Value::Entry(RETURN),
                _ => computed(register),
            },
            Operand::Computed(from) => Value::Unknown(self.computed(from, convention, number)),
            Operand::Moved => Value::Unknown(Cause::new(Why::Moved, number)),
            Operand::Word | Operand::Unknown => Value::Unknown(written),
        }
    }
}
