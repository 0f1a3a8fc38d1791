//! What is known of registers and stack before an instruction, for every way that leads there.

use super::reason::Reason;
use super::value::{Address, Base, Origin, REGISTERS, Register, Value};

/// Bytes below the stack pointer that a program may count on: the red zone of the x86-64 ABI. What lies there is
/// remembered, but never a place from which a row takes anything.
const RED_ZONE: i64 = 128;

/// More places than this are not remembered: frames of generated code with thousands of spills cost more than they tell.
const MOST_SLOTS: usize = 96;

/// A place on the stack of which something is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) base: Base,
    /// Bytes from the base.
    pub(super) offset: i64,
    /// Bytes.
    pub(super) size: u8,
    pub(super) value: Value,
}

impl Slot {
    fn overlaps(&self, base: Base, offset: i64, size: u8) -> bool {
        self.base == base
            && self.offset < offset.wrapping_add(size.into())
            && offset < self.offset.wrapping_add(self.size.into())
    }
}

/// Another place in memory: what was read there is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fact {
    origin: Origin,
    offset: i64,
    size: u8,
    value: Value,
}

/// An upper bound: the value is at most so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bound {
    value: Value,
    most: u64,
}

/// One side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The register that it stands in, if it still does.
    pub register: Option<Register>,
    /// What was compared.
    pub value: Value,
}

/// What the flags tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flags {
    Unknown,
    Compared(Operand, Operand),
}

/// What a conditional jump asks of a comparison of two unsigned numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// They are equal.
    Equal,
    /// They are not.
    NotEqual,
    /// The first one is larger.
    Above,
    /// The first one is larger, or they are equal.
    AboveOrEqual,
    /// The first one is smaller.
    Below,
    /// The first one is smaller, or they are equal.
    BelowOrEqual,
    /// Something else.
    Other,
}

impl Condition {
    /// The condition that holds when this one does not.
    #[must_use]
    pub const fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Above => Self::BelowOrEqual,
            Self::AboveOrEqual => Self::Below,
            Self::Below => Self::AboveOrEqual,
            Self::BelowOrEqual => Self::Above,
            Self::Other => Self::Other,
        }
    }
}

/// What is known before an instruction.
#[derive(Debug, PartialEq, Eq)]
pub struct Machine {
    /// Address of the instruction that runs: it names what it makes.
    pub at: u64,
    pub(super) stack_pointer: Register,
    registers: [Value; REGISTERS],
    pub(super) slots: Vec<Slot>,
    /// What an interruption left on the stack: a handler may change where it is to go on, and that is then where it was.
    interrupted: Vec<Slot>,
    facts: Vec<Fact>,
    bounds: Vec<Bound>,
    flags: Flags,
    /// A bit for each name and base in use, by [`bit`]: so that most need not be looked for.
    names: u64,
    /// Why the stack pointer is not known, if it is not.
    pub(super) lost: Option<Reason>,
}

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

    /// Copies into the memory that is there. The derived one would ask for new memory, for every instruction of an image.
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
    }
}

/// Whether a value on the stack is what a register held at the entry, or leads to where such values are.
const fn is_saved(value: Value) -> bool {
    matches!(
        value,
        Value::Same(Origin::Entry(_)) | Value::Signed(_) | Value::Stack(..)
    )
}

/// The bit that stands for a name or a base.
const fn bit(name: u64) -> u64 {
    1 << (name.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58)
}

impl Machine {
    /// At a function's entry: every register holds what its caller had there, and the stack pointer is the base.
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
            names: 0,
            lost: None,
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
        if register == self.stack_pointer {
            self.stack_pointer_changed(value);
        }
    }

    /// What lies below the stack pointer belongs to nobody: an interrupt may overwrite it.
    fn stack_pointer_changed(&mut self, value: Value) {
        match value {
            Value::Stack(base, sp) => {
                self.lost = None;
                let end = sp.wrapping_sub(RED_ZONE);
                self.slots.retain(|slot| match slot.base == base {
                    true => slot.offset >= end,
                    // Everything else lies below the entry's part of the frame.
                    false => base != Base::ENTRY,
                });
            }
            _ => self.lost = self.lost.or(Some(Reason::StackPointer(self.at))),
        }
    }

    /// A value about which nothing is known, but that it is one: the copies of it are the same.
    pub fn name(&mut self) -> Value {
        let name = self.at;
        if self.names & bit(name) != 0 {
            self.forget(|value| value.is_named(name));
        }
        self.names |= bit(name);
        Value::Same(Origin::Named(name))
    }

    /// A value that is at most so much.
    pub fn name_at_most(&mut self, most: u64) -> Value {
        let value = self.name();
        self.bounds.push(Bound { value, most });
        value
    }

    /// A stack address about which nothing more is known.
    pub fn new_base(&mut self) -> Value {
        let base = Base(self.at);
        if self.names & bit(base.0) != 0 {
            self.forget(|value| value.is_from(base));
            self.slots.retain(|slot| slot.base != base);
        }
        self.names |= bit(base.0);
        Value::Stack(base, 0)
    }

    /// The value of a register, with a name if it has none, so that what is found out about a copy holds for all.
    pub fn named(&mut self, register: Register) -> Value {
        match self.get(register) {
            Value::Unknown => {
                let value = self.name();
                self.registers[usize::from(register)] = value;
                value
            }
            known => known,
        }
    }

    /// Forgets all values of a kind, wherever they are.
    fn forget(&mut self, which: impl Fn(Value) -> bool) {
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

    /// What an interruption left on the stack, 8 bytes.
    pub(super) fn interrupted(&mut self, base: Base, offset: i64, value: Value) {
        self.interrupted.push(Slot {
            base,
            offset,
            size: 8,
            value,
        });
    }

    /// The places on the stack of which something is known.
    pub(super) fn known(&self) -> impl Iterator<Item = &Slot> {
        self.interrupted.iter().chain(&self.slots)
    }

    /// What lies on the stack, without noting that it was looked at; so many bytes.
    #[must_use]
    pub fn peek(&self, base: Base, offset: i64, size: u8) -> Value {
        let at = |slot: &&Slot| slot.base == base && slot.offset == offset && size <= slot.size;
        self.known().find(at).map_or(Value::Unknown, |slot| {
            if size == slot.size {
                slot.value
            } else {
                slot.value.low(size * 8)
            }
        })
    }

    /// Reads so many bytes, at most 8; the bits above are zero.
    pub fn load(&mut self, address: Address, size: u8) -> Value {
        let value = match address {
            Address::Stack(base, offset) => match self.peek(base, offset, size) {
                Value::Unknown => {
                    let value = self.name();
                    let known = self
                        .slots
                        .iter()
                        .any(|slot| slot.overlaps(base, offset, size));
                    if !known {
                        self.remember(base, offset, size, value);
                    }
                    value
                }
                known => known,
            },
            Address::From(origin, offset) => {
                let same = |fact: &&Fact| (fact.origin, fact.offset) == (origin, offset);
                match self.facts.iter().find(same) {
                    Some(fact) if fact.size >= size => fact.value.low(size * 8),
                    _ => {
                        let value = self.name();
                        // In a list that is walked, the address has had the name that the value has now.
                        if origin != Origin::Named(self.at) {
                            self.facts.push(Fact {
                                origin,
                                offset,
                                size,
                                value,
                            });
                        }
                        value
                    }
                }
            }
            Address::Table(table) => Value::Table(table),
            Address::At(_) | Address::Unknown => self.name(),
        };
        if let (Value::Same(Origin::Named(_)), 1 | 2 | 4) = (value, size) {
            let most = (1 << (8 * u32::from(size))) - 1;
            self.bounds.push(Bound { value, most });
        }
        value
    }

    /// Writes so many bytes. An address that does not count from a stack pointer that is followed here is taken for one
    /// that no register is saved at.
    pub fn store(&mut self, address: Address, size: u8, value: Value) {
        match address {
            Address::Stack(base, offset) => {
                self.slots.retain(|slot| !slot.overlaps(base, offset, size));
                if value != Value::Unknown && size <= 8 {
                    self.remember(base, offset, size, value);
                }
            }
            _ => self.forget_variables(),
        }
    }

    /// Somebody may have written to variables, those on the stack among them; but not to where registers are saved.
    fn forget_variables(&mut self) {
        self.facts.clear();
        self.slots.retain(|slot| is_saved(slot.value));
    }

    fn remember(&mut self, base: Base, offset: i64, size: u8, value: Value) {
        if self.slots.len() >= MOST_SLOTS {
            if !is_saved(value) {
                return;
            }
            if let Some(other) = self.slots.iter().position(|slot| !is_saved(slot.value)) {
                self.slots.swap_remove(other);
            }
        }
        self.slots.push(Slot {
            base,
            offset,
            size,
            value,
        });
    }

    /// A call: what a callee may change is not known any more. `kept` has a bit for each register that it keeps.
    pub fn call(&mut self, kept: u64) {
        for (number, value) in self.registers.iter_mut().enumerate() {
            if kept & 1 << number == 0 {
                *value = Value::Unknown;
            }
        }
        self.forget_variables();
        self.flags = Flags::Unknown;
        if let Value::Stack(base, sp) = self.sp() {
            self.slots
                .retain(|slot| slot.base != base || slot.offset >= sp);
        }
        self.forget_bounds();
    }

    /// Bounds of values that are nowhere any more only cost time.
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

    /// Nothing is known about the flags any more.
    pub fn forget_flags(&mut self) {
        self.flags = Flags::Unknown;
    }

    /// The flags come from a comparison.
    pub fn compare(&mut self, left: Operand, right: Operand) {
        self.flags = Flags::Compared(left, right);
    }

    /// Whether a condition can hold that is asked of the flags. Two numbers answer it; the way that they close may be the only
    /// one on which they are known.
    #[must_use]
    pub fn may(&self, condition: Condition) -> bool {
        let Flags::Compared(left, right) = self.flags else {
            return true;
        };
        let (left, right) = match (left.value, right.value) {
            (Value::Constant(left), Value::Constant(right)) => (left, right),
            // Loops that touch each page of a large frame end where the stack pointer is to be. Of other places on the stack nobody
            // knows: a variable that holds one may have been written to.
            (Value::Stack(one, from), Value::Stack(other, to))
                if one == other
                    && [left.register, right.register].contains(&Some(self.stack_pointer)) =>
            {
                let (left, right) = (from, to);
                return match condition {
                    Condition::Equal => left == right,
                    Condition::NotEqual => left != right,
                    _ => true,
                };
            }
            _ => return true,
        };
        match condition {
            Condition::Equal => left == right,
            Condition::NotEqual => left != right,
            Condition::Above => left > right,
            Condition::AboveOrEqual => left >= right,
            Condition::Below => left < right,
            Condition::BelowOrEqual => left <= right,
            Condition::Other => true,
        }
    }

    /// What follows when a condition holds that was asked of the flags.
    pub fn assume(&mut self, condition: Condition) {
        let Flags::Compared(left, right) = self.flags else {
            return;
        };
        if condition == Condition::Equal {
            // What is on the stack is known better than what is equal to it.
            let (from, to) = match (left.value, right.value) {
                (Value::Stack(..), Value::Stack(..)) => return,
                (Value::Stack(..), _) => (left, right),
                (_, Value::Stack(..)) => (right, left),
                _ => return,
            };
            if let Some(register) = to.register {
                self.set(register, from.value);
            }
            return;
        }
        let Value::Constant(right) = right.value else {
            return;
        };
        let most = match condition {
            Condition::BelowOrEqual => Some(right),
            Condition::Below => right.checked_sub(1),
            _ => None,
        };
        if let (Some(most), Value::Same(_) | Value::Low(..)) = (most, left.value) {
            let known = |bound: &&mut Bound| bound.value == left.value;
            match self.bounds.iter_mut().find(known) {
                Some(bound) => bound.most = bound.most.min(most),
                None => self.bounds.push(Bound {
                    value: left.value,
                    most,
                }),
            }
        }
    }

    /// The largest that a value can be, if that is known.
    #[must_use]
    pub fn most(&self, value: Value) -> Option<u64> {
        let bound = |of: Value| {
            let found = self.bounds.iter().filter(|bound| bound.value == of);
            found.map(|bound| bound.most).min()
        };
        match value {
            Value::Constant(value) => Some(value),
            Value::Low(origin, bits) => {
                // What bounds the whole bounds its low bits, if it is no larger than they can be.
                let largest = (1_u64 << bits) - 1;
                let whole = bound(Value::Same(origin)).filter(|most| *most <= largest);
                let more = [8, 16, 32]
                    .into_iter()
                    .filter(|other| *other > bits)
                    .filter_map(|other| bound(Value::Low(origin, other)))
                    .filter(|most| *most <= largest)
                    .min();
                [whole, more, bound(value)]
                    .into_iter()
                    .flatten()
                    .min()
                    .or(Some(largest))
            }
            Value::Same(_) => bound(value),
            _ => None,
        }
    }

    /// What holds both here and there, where two ways meet at an address. Whether that is less than was known here.
    pub fn join(&mut self, other: &Self, address: u64) -> bool {
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
        self.slots.retain(|slot| other.slots.contains(slot));
        self.facts.retain(|fact| other.facts.contains(fact));
        self.bounds
            .retain_mut(|bound| match other.most(bound.value) {
                Some(most) => {
                    changed |= most > bound.most;
                    bound.most = bound.most.max(most);
                    true
                }
                None => false,
            });
        changed |= before != (self.slots.len(), self.facts.len(), self.bounds.len());
        if self.flags != Flags::Unknown && self.flags != other.flags {
            self.flags = Flags::Unknown;
            changed = true;
        }
        self.names |= other.names;
        changed
    }
}
