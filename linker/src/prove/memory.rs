//! The abstract state of memory: slots of the stack, and values that were loaded from elsewhere.

use super::compare::{Bound, Limit};
use super::machine::{MEMORY, Machine};
use super::value::{Address, Base, Origin, Value};

/// The largest number of slots that are tracked: frames of generated code with thousands of spills would take too long.
const MAX_SLOTS: usize = 96;

/// A slot of the stack with a known value.
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

/// Memory outside the stack, addressed from a symbolic value, that still holds what was loaded from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) origin: Origin,
    offset: i64,
    size: u8,
    pub(super) value: Value,
}

/// Whether a value on the stack is a register's value at the entry, or a stack address by which such values are found.
pub(super) const fn is_saved(value: Value) -> bool {
    matches!(
        value,
        Value::Same(Origin::Entry(_)) | Value::Signed(_) | Value::Stack(..)
    )
}

impl Machine {
    /// Adds a word of `size` bytes that an interrupt pushed on the stack.
    pub(super) fn interrupted(&mut self, base: Base, offset: i64, size: u8, value: Value) {
        self.changed |= MEMORY;
        self.interrupted.push(Slot {
            base,
            offset,
            size,
            value,
        });
    }

    /// All slots, first those that an interrupt pushed.
    pub(super) fn known(&self) -> impl Iterator<Item = &Slot> {
        self.interrupted.iter().chain(&self.slots)
    }

    /// The value of `size` bytes of the stack. Unlike [`Machine::load`], it names no unknown value.
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

    /// Loads `size` bytes, at most 8, zero-extended. An unknown value gets a name, so that a second load is equal to it.
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
                        // In a loop over a linked list (`p = p->next`), the new value takes the name that the address had.
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
            self.bounds.push(Bound {
                value,
                limit: Limit::of_type(most),
            });
        }
        value
    }

    /// As [`Machine::load`], but an unknown value stays so, for instructions that load several: there is one name for all.
    #[must_use]
    pub fn load_known(&self, address: Address, size: u8) -> Value {
        match address {
            Address::Stack(base, offset) => self.peek(base, offset, size),
            _ => Value::Unknown,
        }
    }

    /// Stores `size` bytes. An address that is not derived from the stack pointer is assumed not to alias a slot where a
    /// register is saved.
    pub fn store(&mut self, address: Address, size: u8, value: Value) {
        match address {
            Address::Stack(base, offset) => {
                self.keep_slots(|slot| !slot.overlaps(base, offset, size));
                if value != Value::Unknown && size <= 8 {
                    self.remember(base, offset, size, value);
                }
            }
            _ => self.forget_variables(),
        }
    }

    /// Forgets all memory except slots with saved registers: an unknown store may have changed any variable.
    pub(super) fn forget_variables(&mut self) {
        self.facts.clear();
        self.keep_slots(|slot| is_saved(slot.value));
    }

    fn keep_slots(&mut self, keep: impl Fn(&Slot) -> bool) {
        let before = self.slots.len();
        self.slots.retain(keep);
        if self.slots.len() != before {
            self.changed |= MEMORY;
        }
    }

    fn remember(&mut self, base: Base, offset: i64, size: u8, value: Value) {
        if self.slots.len() >= MAX_SLOTS {
            if !is_saved(value) {
                return;
            }
            if let Some(other) = self.slots.iter().position(|slot| !is_saved(slot.value)) {
                self.slots.swap_remove(other);
            }
        }
        if is_saved(value) {
            self.changed |= MEMORY;
        }
        self.slots.push(Slot {
            base,
            offset,
            size,
            value,
        });
    }
}
