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
            Value::Cfa(_) | Value::CfaAnd(..) => value.plus(bytes, cause),
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
        // A value that is in a different place, or that was overwritten, is not in the declared place.
        let is_wrong = |own: Value, value: Option<Value>| match value {
            Some(Value::Unknown(cause)) if cause.why().may_be_right() => other.has(own),
            Some(Value::Unknown(_)) => true,
            Some(value) => own != value,
            None => own.is_known() && other.has(own),
        };
        for (own, value) in declared.registers.iter_mut().zip(other.registers) {
            if is_wrong(*own, Some(value)) {
                *own = Value::Unknown(cause);
            }
        }
        for (at, own) in &mut declared.slots {
            let found = other.slots.binary_search_by_key(at, |slot| slot.0);
            if is_wrong(*own, found.ok().map(|index| other.slots[index].1)) {
                *own = Value::Unknown(cause);
            }
        }
        declared
    }

    /// Keeps what is known on this way and on another one, which meet at an instruction. Returns whether less is known now.
    pub fn meet(&mut self, other: &Self, stack_pointer: Register, number: u32) -> bool {
        let is_opened = self.opened.is_none() && other.opened.is_some();
        self.opened = self.opened.or(other.opened);
        self.meet_kinds(other, stack_pointer, number) || is_opened
    }

    fn meet_kinds(&mut self, other: &Self, stack_pointer: Register, number: u32) -> bool {
        let mut changed = false;
        if self.kind.is_trap()
            && other.kind.is_trap()
            && (self.kind != other.kind || self.kind == Kind::SwitchedTrap)
        {
            changed = self.kind != Kind::SwitchedTrap;
            let other = self.aligned_with(other, stack_pointer, Cause::new(Why::Ways, number));
            return self.meet_values(&other, stack_pointer, number) || changed;
        }
        if self.kind != other.kind {
            // No row holds here. What the ways with a caller say is kept, for the ways out.
            match (self.kind, other.kind) {
                (Kind::Open, Kind::Outermost) => return false,
                (Kind::Outermost, Kind::Open) => {
                    *self = other.clone();
                    return true;
                }
                (Kind::Outermost | Kind::Open, _) => {
                    let own = std::mem::replace(self, other.clone());
                    self.kind = Kind::Mixed;
                    self.opened = own.opened;
                    if own.kind == Kind::Open {
                        self.meet_values(&own, stack_pointer, number);
                    }
                    return true;
                }
                _ => {}
            }
            changed = self.kind != Kind::Mixed;
            self.kind = Kind::Mixed;
            if other.kind == Kind::Outermost {
                return changed;
            }
        }
        self.meet_values(other, stack_pointer, number) || changed
    }

    fn meet_values(&mut self, other: &Self, stack_pointer: Register, number: u32) -> bool {
        let mut changed = false;
        let ways = Value::Unknown(Cause::new(Why::Ways, number));
        // On a path from an unknown entry, only those values are known that the path itself has set or lost.
        let is_open = other.kind == Kind::Open && self.kind != Kind::Open;
        // `is_right` returns whether the calling convention requires a value at an exit.
        let meet = |own: &mut Value, value: Value, is_right: &dyn Fn(Value) -> bool| -> bool {
            let met = match (*own, value) {
                (_, Value::Unknown(cause)) if is_open && cause.why().may_be_right() => {
                    return false;
                }
                (Value::Unknown(cause), _) if !cause.why().may_be_right() => return false,
                (Value::Unknown(_), Value::Unknown(cause)) if cause.why().may_be_right() => {
                    return false;
                }
                (Value::Unknown(_), Value::Unknown(_)) => value,
                (Value::Unknown(_), value) if is_right(value) => return false,
                (own, value) if own == value => return false,
                (own, Value::Unknown(cause)) if !cause.why().may_be_right() || is_right(own) => {
                    value
                }
                _ => ways,
            };
            *own = met;
            true
        };
        // At a return, a loaded stack pointer is assumed to be right. It is not if another path has not loaded the stack pointer.
        let (own, its) = (self.get(stack_pointer), other.get(stack_pointer));
        let is_loaded =
            |value: Value| matches!(value, Value::Unknown(cause) if cause.why().is_load());
        let is_lost = |value: Value| match value {
            Value::Unknown(cause) => !cause.why().may_be_right() && !cause.why().is_load(),
            _ => true,
        };
        if is_loaded(own) && is_lost(its) || is_lost(own) && own.is_known() && is_loaded(its) {
            self.set(stack_pointer, ways);
            changed = true;
        }
        let registers = self.registers.iter_mut().zip(&other.registers);
        for (register, (own, value)) in registers.enumerate() {
            changed |= meet(
                own,
                *value,
                &|value| matches!(value, Value::Entry(entry) if usize::from(entry) == register),
            );
        }
        let mut others = other.slots.iter().peekable();
        for (at, own) in &mut self.slots {
            while others.next_if(|slot| slot.0 < *at).is_some() {}
            let found = others.peek().filter(|slot| slot.0 == *at);
            let value = match found {
                Some(slot) => slot.1,
                None if is_open => continue,
                None => ways,
            };
            changed |= meet(own, value, &|value| matches!(value, Value::Entry(_)));
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
