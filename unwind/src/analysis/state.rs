//! The state of a frame before an instruction, as far as it is known.

use crate::code::{Change, Effect, Place};
use crate::row::{Base, Rule};
use crate::rules::Rules;

/// The value of a register, or the address at which a register is saved: the distance in bytes from the canonical frame address, or one of the
/// constants. A number instead of an enum, so that a list of states is small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value(i32);

impl Value {
    /// An unknown value; for a slot: not saved.
    const UNKNOWN: Self = Self(i32::MIN);
    /// The value that the register had at the call: the caller's.
    const OWN: Self = Self(i32::MAX);

    /// Creates an address; unknown if it is too far away.
    fn address(offset: i64) -> Self {
        match i32::try_from(offset) {
            Ok(offset) if offset != i32::MIN && offset != i32::MAX => Self(offset),
            _ => Self::UNKNOWN,
        }
    }

    /// Returns the address, if this is an address.
    fn offset(self) -> Option<i64> {
        match self {
            Self::UNKNOWN | Self::OWN => None,
            Self(offset) => Some(offset.into()),
        }
    }

    /// Returns the address plus `bytes`.
    fn moved(self, bytes: i64) -> Self {
        match self.offset() {
            _ if bytes == 0 => self,
            Some(offset) => Self::address(offset.saturating_add(bytes)),
            None => Self::UNKNOWN,
        }
    }

    fn merge(&mut self, other: Self) {
        if *self != other {
            *self = Self::UNKNOWN;
        }
    }
}

/// The registers of a frame, and the slots in which the caller's values are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    stack_pointer: Value,
    frame_pointer: Value,
    /// The link register; unknown on architectures without a link register.
    link: Value,
    frame_pointer_slot: Value,
    link_slot: Value,
}

impl State {
    /// Returns the state at a function's first instruction: the return address is in the link register, or was pushed.
    pub(super) const fn at_call(has_link: bool) -> Self {
        let (stack_pointer, link, link_slot) = match has_link {
            true => (Value(0), Value::OWN, Value::UNKNOWN),
            false => (Value(-8), Value::UNKNOWN, Value(-8)),
        };
        Self {
            stack_pointer,
            frame_pointer: Value::OWN,
            link,
            frame_pointer_slot: Value::UNKNOWN,
            link_slot,
        }
    }

    /// Checks whether nothing was pushed, or everything was popped.
    pub(super) fn is_at_call(&self, has_link: bool) -> bool {
        let start = Self::at_call(has_link);
        self.stack_pointer == start.stack_pointer && self.frame_pointer == Value::OWN
    }

    /// Keeps only the values that both states have in common.
    pub(super) fn merge(&mut self, other: &Self) {
        self.stack_pointer.merge(other.stack_pointer);
        self.frame_pointer.merge(other.frame_pointer);
        self.link.merge(other.link);
        self.frame_pointer_slot.merge(other.frame_pointer_slot);
        self.link_slot.merge(other.link_slot);
    }

    /// Applies the effect of an instruction.
    pub(super) fn apply(&mut self, effect: &Effect) {
        self.stack_pointer = self.stack_pointer.moved(effect.before);
        if let Some(place) = effect.saves_frame_pointer
            && self.frame_pointer == Value::OWN
        {
            self.frame_pointer_slot = self.at(place);
        }
        if let Some(place) = effect.saves_link
            && self.link == Value::OWN
        {
            self.link_slot = self.at(place);
        }
        let before = *self;
        let after = |change, value, slot| before.after(change, value, slot);
        self.frame_pointer = after(
            effect.frame_pointer,
            self.frame_pointer,
            self.frame_pointer_slot,
        );
        self.link = after(effect.link, self.link, self.link_slot);
        let stack_pointer = after(effect.stack_pointer, self.stack_pointer, Value::UNKNOWN);
        self.stack_pointer = stack_pointer.moved(effect.after);
        // Words below the stack pointer may be overwritten at any time.
        if let Some(lowest) = self.stack_pointer.offset() {
            for slot in [&mut self.frame_pointer_slot, &mut self.link_slot] {
                if slot.offset().is_some_and(|offset| offset < lowest) {
                    *slot = Value::UNKNOWN;
                }
            }
        }
    }

    /// Returns the address of a place.
    fn at(&self, place: Place) -> Value {
        let base = match place.by_frame_pointer {
            true => self.frame_pointer,
            false => self.stack_pointer,
        };
        // The caller's value of a register is not a known address.
        match base.offset() {
            Some(_) => base.moved(place.offset),
            None => Value::UNKNOWN,
        }
    }

    /// Returns the value of a register after a change. `value` is its value before, and `slot` the slot in which its caller's value is saved.
    fn after(&self, change: Change, value: Value, slot: Value) -> Value {
        match change {
            Change::Kept => value,
            Change::Lost | Change::Replaced => Value::UNKNOWN,
            Change::Address(place) => self.at(place),
            Change::Loaded(place) => match self.at(place) {
                from if from == slot && from != Value::UNKNOWN => Value::OWN,
                _ => Value::UNKNOWN,
            },
        }
    }

    /// Returns the rules of a row, if they are known.
    pub(super) fn rules(&self) -> Option<Rules> {
        let is_record = self.frame_pointer == self.frame_pointer_slot;
        // The address of a frame record is preferred, because compilers keep it while the stack pointer moves, also in ways that the analysis
        // does not follow.
        let cfa = match (self.stack_pointer.offset(), self.frame_pointer.offset()) {
            (Some(offset), None) => above(Base::StackPointer, offset),
            (Some(offset), _) if !is_record => above(Base::StackPointer, offset),
            (_, Some(offset)) => above(Base::FramePointer, offset),
            _ => return None,
        };
        let saved = |offset| Rule::Saved {
            base: Base::Cfa,
            offset,
        };
        let return_address = match self.link_slot.offset() {
            Some(offset) => saved(offset),
            None if self.link == Value::OWN => Rule::Same,
            None => return None,
        };
        let frame_pointer = match self.frame_pointer_slot.offset() {
            Some(offset) => saved(offset),
            None if self.frame_pointer == Value::OWN => Rule::Same,
            // Overwritten and not saved. No register has this number, so the caller's frame pointer is unknown.
            None => Rule::Value {
                base: Base::Register(u32::MAX),
                offset: 0,
            },
        };
        // The analysis does not follow signing of the return address, so a walk must ignore the bits of a signature.
        Some(Rules::new(cfa, return_address, frame_pointer).with_signed(true))
    }
}

/// Returns the rule for the canonical frame address, from a register whose distance from it is `offset` bytes.
fn above(base: Base, offset: i64) -> Rule {
    Rule::Value {
        base,
        offset: offset.wrapping_neg(),
    }
}
