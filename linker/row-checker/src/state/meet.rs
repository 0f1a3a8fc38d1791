//! What remains of states where ways meet, and where control comes to trap code.

use super::{Kind, StackBegin, State};
use crate::instruction::Register;
use crate::value::{Cause, Value, Why};

impl State {
    /// Says of trap code's interrupted stack pointer what it is by its name, and no longer by its distance. Places may then count from
    /// anywhere.
    pub(super) fn switch(&mut self, stack_pointer: Register) {
        if self.kind == Kind::SwitchedTrap {
            return;
        }
        self.kind = Kind::SwitchedTrap;
        for register in 0..self.registers.len() as Register {
            if register != stack_pointer && self.get(register) == Value::Cfa(0) {
                self.set(register, Value::Entry(stack_pointer));
            }
        }
        for (_, value) in &mut self.slots {
            if *value == Value::Cfa(0) {
                *value = Value::Entry(stack_pointer);
            }
        }
    }

    /// Moves what all places count from, by a number of bytes.
    fn count_from(&mut self, bytes: i32, cause: Cause) {
        let moved = |value: Value| match value {
            Value::Cfa(_) => value.plus(bytes, cause),
            other => other,
        };
        for value in &mut self.registers {
            *value = moved(*value);
        }
        for (at, value) in &mut self.slots {
            (*at, *value) = (at.saturating_add(bytes), moved(*value));
        }
    }

    /// Whether a register or a word of the stack has a value.
    fn has(&self, value: Value) -> bool {
        let slots = self.slots.iter().map(|(_, value)| value);
        self.registers.iter().chain(slots).any(|own| *own == value)
    }

    /// Two states of trap code, of which one names the interrupted stack pointer, made comparable.
    fn aligned_with(&mut self, other: &Self, stack_pointer: Register, cause: Cause) -> Self {
        let mut other = other.clone();
        self.switch(stack_pointer);
        other.switch(stack_pointer);
        self.counted(other, stack_pointer, cause)
    }

    /// Another state, in which the stack pointer has the same distance from what places count from as in this one.
    fn counted(&self, mut other: Self, stack_pointer: Register, cause: Cause) -> Self {
        if let (Value::Cfa(own), Value::Cfa(its)) =
            (self.get(stack_pointer), other.get(stack_pointer))
            && let Some(bytes) = own.checked_sub(its)
        {
            other.count_from(bytes, cause);
        }
        other
    }

    /// What is known where trap code starts, by what its author declares, which this state is, if control comes there with another one: what
    /// is known to be otherwise is not believed.
    #[must_use]
    pub fn unless_contradicted(&self, other: &Self, stack_pointer: Register, number: u32) -> Self {
        let cause = Cause::new(Why::Ways, number);
        if !other.kind.is_trap() {
            return match other.kind != Kind::Outermost && other.get(stack_pointer).is_known() {
                true => Self::unknown(Kind::Mixed, cause),
                false => self.clone(),
            };
        }
        let mut declared = self.clone();
        let mut other = other.clone();
        let is_switched = other.kind == Kind::SwitchedTrap;
        if declared.kind == Kind::Trap && is_switched && !other.has(Value::Entry(stack_pointer)) {
            // Nothing is known of where the interrupted stack pointer is.
            other = declared.counted(other, stack_pointer, cause);
        } else if declared.kind == Kind::SwitchedTrap || is_switched {
            other = declared.aligned_with(&other, stack_pointer, cause);
        }
        for (own, value) in declared.registers.iter_mut().zip(other.registers) {
            if value.is_known() && *own != value {
                *own = Value::Unknown(cause);
            }
        }
        for (at, own) in &mut declared.slots {
            if let Ok(index) = other.slots.binary_search_by_key(at, |slot| slot.0)
                && other.slots[index].1.is_known()
                && *own != other.slots[index].1
            {
                *own = Value::Unknown(cause);
            }
        }
        declared
    }

    /// Keeps what is known on this way and on another one, which meet at an instruction. Returns whether less is known now.
    pub fn meet(&mut self, other: &Self, stack_pointer: Register, number: u32) -> bool {
        let mut changed = false;
        if self.kind.is_trap()
            && other.kind.is_trap()
            && (self.kind != other.kind || self.kind == Kind::SwitchedTrap)
        {
            changed = self.kind != Kind::SwitchedTrap;
            let other = self.aligned_with(other, stack_pointer, Cause::new(Why::Ways, number));
            return self.meet_values(&other, number) || changed;
        }
        if self.kind != other.kind {
            // No row holds here. What the ways with a caller say is kept, for the ways out.
            if self.kind == Kind::Outermost {
                *self = other.clone();
                self.kind = Kind::Mixed;
                return true;
            }
            changed = self.kind != Kind::Mixed;
            self.kind = Kind::Mixed;
            if other.kind == Kind::Outermost {
                return changed;
            }
        }
        self.meet_values(other, number) || changed
    }

    fn meet_values(&mut self, other: &Self, number: u32) -> bool {
        let mut changed = false;
        let ways = Value::Unknown(Cause::new(Why::Ways, number));
        let mut meet = |own: &mut Value, value: Value| {
            if own.is_known() && *own != value {
                *own = if value.is_known() { ways } else { value };
                changed = true;
            }
        };
        for (own, value) in self.registers.iter_mut().zip(&other.registers) {
            meet(own, *value);
        }
        let mut others = other.slots.iter().peekable();
        for (at, own) in &mut self.slots {
            while others.next_if(|slot| slot.0 < *at).is_some() {}
            let found = others.peek().filter(|slot| slot.0 == *at);
            meet(own, found.map_or(ways, |slot| slot.1));
        }
        if self.begin != other.begin && self.begin != StackBegin::Unknown {
            self.begin = StackBegin::Unknown;
            changed = true;
        }
        if self.compared != other.compared && self.compared.is_some() {
            self.compared = None;
            changed = true;
        }
        changed
    }
}
