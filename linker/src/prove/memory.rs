//! What is known of memory: places on the stack, and what was read elsewhere.

use super::compare::{Bound, Limit};
use super::machine::Machine;
use super::value::{Address, Base, Origin, Value};

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
pub(super) struct Fact {
    pub(super) origin: Origin,
    offset: i64,
    size: u8,
    pub(super) value: Value,
}

/// Whether a value on the stack is what a register held at the entry, or leads to where such values are.
pub(super) const fn is_saved(value: Value) -> bool {
    matches!(
        value,
        Value::Same(Origin::Entry(_)) | Value::Signed(_) | Value::Stack(..)
    )
}

impl Machine {
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
            self.bounds.push(Bound {
                value,
                limit: Limit::of_type(most),
            });
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
    pub(super) fn forget_variables(&mut self) {
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
}
