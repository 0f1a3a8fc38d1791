//! The abstract state: what is known of registers and stack before an instruction, on every path that leads there.

use super::compare::{Bound, Flags, Limit};
use super::memory::{Fact, Slot};
use super::value::{Base, Origin, REGISTERS, Register, Value};
use crate::reason::Reason;

/// Bytes below the stack pointer that interrupts leave alone in user programs: the red zone of the x86-64 ABI. Values there
/// are tracked, but no row may load from there.
const RED_ZONE: i64 = 128;

/// The abstract state before an instruction.
#[derive(Debug, PartialEq, Eq)]
pub struct Machine {
    /// Address of the instruction that runs, which names its results.
    pub at: u64,
    pub(super) stack_pointer: Register,
    registers: [Value; REGISTERS],
    pub(super) slots: Vec<Slot>,
    /// What an interrupt pushed on the stack. Kept apart from `slots`, because a handler that overwrites the address to return
    /// to only changes which address counts as the interrupted one.
    pub(super) interrupted: Vec<Slot>,
    pub(super) facts: Vec<Fact>,
    pub(super) bounds: Vec<Bound>,
    pub(super) flags: Flags,
    /// A Bloom filter over names and bases in use, by [`bit`]: a new name that is not in it needs no search for old uses.
    names: [u64; FILTER],
    /// Why the stack pointer is not known, if it is not.
    pub(super) lost: Option<Reason>,
    /// What has changed since somebody set this to zero: a bit for each register, and [`MEMORY`].
    pub(super) changed: u64,
}

/// The bit of [`Machine::changed`] for memory whose value a row may give: a slot was forgotten, or has now a saved register.
pub(super) const MEMORY: u64 = 1 << 63;

impl Clone for Machine {
    fn clone(&self) -> Self {
        Self {
            slots: self.slots.clone(),
            interrupted: self.interrupted.clone(),
            facts: self.facts.clone(),
            bounds: self.bounds.clone(),
            ..*self
        }
    }

    /// Copies into existing allocations. The derived one would allocate, for every instruction of an image.
    fn clone_from(&mut self, other: &Self) {
        self.at = other.at;
        self.stack_pointer = other.stack_pointer;
        self.registers = other.registers;
        self.slots.clone_from(&other.slots);
        self.interrupted.clone_from(&other.interrupted);
        self.facts.clone_from(&other.facts);
        self.bounds.clone_from(&other.bounds);
        self.flags = other.flags;
        self.names = other.names;
        self.lost = other.lost;
        self.changed = other.changed;
    }
}

/// Words of the Bloom filter: in one word, functions of some hundred instructions would set nearly every bit.
const FILTER: usize = 8;

/// The word and the bit of the Bloom filter for a name or a base.
const fn bit(name: u64) -> (usize, u64) {
    let hash = name.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    (hash as usize >> 6 & (FILTER - 1), 1 << (hash & 63))
}

impl Machine {
    /// The state at a function's entry: each register holds the caller's value, and the stack pointer is the base.
    #[must_use]
    pub fn at_entry(stack_pointer: Register) -> Self {
        let mut registers: [Value; REGISTERS] =
            std::array::from_fn(|number| Value::entry(number as Register));
        registers[usize::from(stack_pointer)] = Value::Stack(Base::ENTRY, 0);
        Self {
            at: 0,
            stack_pointer,
            registers,
            slots: Vec::new(),
            interrupted: Vec::new(),
            facts: Vec::new(),
            bounds: Vec::new(),
            flags: Flags::Unknown,
            names: [0; FILTER],
            lost: None,
            changed: 0,
        }
    }

    /// The value of a register.
    #[must_use]
    pub fn get(&self, register: Register) -> Value {
        self.registers[usize::from(register)]
    }

    /// The stack pointer.
    #[must_use]
    pub fn sp(&self) -> Value {
        self.get(self.stack_pointer)
    }

    /// Gives a register another value.
    pub fn set(&mut self, register: Register, value: Value) {
        if let Flags::Compared(left, right) = &mut self.flags {
            for operand in [left, right] {
                operand.register = operand.register.filter(|of| *of != register);
            }
        }
        self.registers[usize::from(register)] = value;
        self.changed |= 1 << register;
        if register == self.stack_pointer {
            self.stack_pointer_changed(value);
        }
    }

    /// Forgets memory below the red zone, which an interrupt may overwrite at any time.
    fn stack_pointer_changed(&mut self, value: Value) {
        match value {
            Value::Stack(base, sp) => {
                self.lost = None;
                self.changed |= MEMORY;
                let end = sp.wrapping_sub(RED_ZONE);
                self.slots.retain(|slot| match slot.base == base {
                    true => slot.offset >= end,
                    // Other bases were made from the stack pointer after the entry, so their slots lie below it.
                    false => base != Base::ENTRY,
                });
            }
            _ => self.lost = self.lost.or(Some(Reason::StackPointer(self.at))),
        }
    }

    /// A new symbolic value for the result of the instruction that runs: unknown, but equal in all its copies.
    pub fn name(&mut self) -> Value {
        let name = self.at;
        if self.is_in_use(name) {
            self.forget(|value| value.is_named(name));
        }
        Value::Same(Origin::Named(name))
    }

    /// A new symbolic value that is at most `most`.
    pub fn name_at_most(&mut self, most: u64) -> Value {
        let value = self.name();
        self.bounds.push(Bound {
            value,
            limit: Limit::of_type(most),
        });
        value
    }

    /// A new base for a stack address whose distance from the others is unknown.
    pub fn new_base(&mut self) -> Value {
        let base = Base(self.at);
        if self.is_in_use(base.0) {
            self.forget(|value| value.is_from(base));
            self.slots.retain(|slot| slot.base != base);
            self.changed |= MEMORY;
        }
        Value::Stack(base, 0)
    }

    /// Whether a name or a base may be in use; from now on it is.
    fn is_in_use(&mut self, name: u64) -> bool {
        let (word, bit) = bit(name);
        let was = self.names[word] & bit != 0;
        self.names[word] |= bit;
        was
    }

    /// The value of a register. An unknown one becomes a symbolic value, so that a bound of one copy holds for all.
    pub fn named(&mut self, register: Register) -> Value {
        match self.get(register) {
            Value::Unknown => {
                let value = self.name();
                self.registers[usize::from(register)] = value;
                self.changed |= 1 << register;
                value
            }
            known => known,
        }
    }

    /// Forgets all values that `which` selects, in registers, memory, bounds and flags.
    fn forget(&mut self, which: impl Fn(Value) -> bool) {
        self.changed = u64::MAX;
        let stack_pointer = self.sp();
        for value in &mut self.registers {
            if which(*value) {
                *value = Value::Unknown;
            }
        }
        if which(stack_pointer) {
            self.stack_pointer_changed(Value::Unknown);
        }
        self.slots.retain(|slot| !which(slot.value));
        self.facts
            .retain(|fact| !which(fact.value) && !which(Value::Same(fact.origin)));
        self.bounds.retain(|bound| !which(bound.value));
        if let Flags::Compared(left, right) = self.flags
            && (which(left.value) || which(right.value))
        {
            self.flags = Flags::Unknown;
        }
    }

    /// Forgets what a callee may clobber. `kept` has a bit for each callee-saved register.
    pub fn call(&mut self, kept: u64) {
        for (number, value) in self.registers.iter_mut().enumerate() {
            if kept & 1 << number == 0 {
                *value = Value::Unknown;
            }
        }
        self.changed |= !kept;
        self.forget_variables();
        self.flags = Flags::Unknown;
        if let Value::Stack(base, sp) = self.sp() {
            self.slots
                .retain(|slot| slot.base != base || slot.offset >= sp);
        }
        self.changed |= MEMORY;
        self.forget_bounds();
    }

    /// Drops the bounds of values that no register or memory holds any more: they only cost time.
    fn forget_bounds(&mut self) {
        let Self {
            registers,
            slots,
            facts,
            bounds,
            ..
        } = self;
        // The bound of a whole value bounds its low bits, too, and the other way around.
        let is_of = |value: Value, origin: Origin| matches!(value, Value::Same(of) | Value::Low(of, _) if of == origin);
        bounds.retain(|bound| {
            let (Value::Same(origin) | Value::Low(origin, _)) = bound.value else {
                return true;
            };
            registers.iter().any(|value| is_of(*value, origin))
                || slots.iter().any(|slot| is_of(slot.value, origin))
                || facts.iter().any(|fact| is_of(fact.value, origin))
        });
    }

    /// The join of two states where paths meet at an address: keeps what holds in both. Returns whether this state changed.
    pub fn join(&mut self, other: &Self, address: u64) -> bool {
        self.changed = u64::MAX;
        let mut changed = false;
        for (value, other) in self.registers.iter_mut().zip(&other.registers) {
            if *value != *other && *value != Value::Unknown {
                *value = Value::Unknown;
                changed = true;
            }
        }
        if !matches!(self.sp(), Value::Stack(..)) && self.lost.is_none() {
            self.lost = other.lost.or(Some(Reason::Depths(address)));
            changed = true;
        }
        let before = (self.slots.len(), self.facts.len(), self.bounds.len());
        keep_common(&mut self.slots, &other.slots);
        keep_common(&mut self.facts, &other.facts);
        let mut at = 0..;
        self.bounds.retain_mut(|bound| {
            // A bound that both have stays as it is: if another one of the same value is lower there, this one is the higher of the two.
            if at.next().and_then(|index| other.bounds.get(index)) == Some(bound) {
                return true;
            }
            match other.limit(bound.value) {
                Some(limit) => {
                    let either = bound.limit.or(limit);
                    changed |= either != bound.limit;
                    bound.limit = either;
                    true
                }
                None => false,
            }
        });
        changed |= before != (self.slots.len(), self.facts.len(), self.bounds.len());
        if self.flags != Flags::Unknown && self.flags != other.flags {
            self.flags = Flags::Unknown;
            changed = true;
        }
        for (names, other) in self.names.iter_mut().zip(other.names) {
            *names |= other;
        }
        changed
    }
}

/// Keeps what another list has, too. Mostly it has it at the same place, and need not be searched.
fn keep_common<T: PartialEq>(list: &mut Vec<T>, other: &[T]) {
    let mut at = 0..;
    list.retain(|one| {
        let same = at.next().and_then(|index| other.get(index));
        same == Some(one) || other.contains(one)
    });
}
