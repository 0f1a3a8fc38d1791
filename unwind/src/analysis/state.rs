//! What is known of a frame before an instruction.

use crate::code::{Change, Effect, Place};
use crate::row::{Base, Rule};
use crate::rules::Rules;

/// The value of a register, or where one is saved: an address as bytes from the canonical frame address, or one of the constants. One
/// number instead of an enum, so that a list of states is small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value(i32);

impl Value {
    /// Any value; or saved nowhere.
    const UNKNOWN: Self = Self(i32::MIN);
    /// That which it had at the call: the caller's.
    const OWN: Self = Self(i32::MAX);

    /// An address, if it is near enough.
    fn address(offset: i64) -> Self {
        match i32::try_from(offset) {
            Ok(offset) if offset != i32::MIN && offset != i32::MAX => Self(offset),
            _ => Self::UNKNOWN,
        }
    }

    /// The address, if it is one.
    fn offset(self) -> Option<i64> {
        match self {
            Self::UNKNOWN | Self::OWN => None,
            Self(offset) => Some(offset.into()),
        }
    }

    /// An address further on by so many bytes.
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

/// The registers of a frame, and where their own values are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    stack_pointer: Value,
    frame_pointer: Value,
    /// Of architectures without a link register: unknown.
    link: Value,
    frame_pointer_slot: Value,
    link_slot: Value,
}

impl State {
    /// At a function's first instruction: a call has left the return address in the link register, or has pushed it.
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

    /// Whether nothing was pushed, or all of it popped.
    pub(super) fn is_at_call(&self, has_link: bool) -> bool {
        let start = Self::at_call(has_link);
        self.stack_pointer == start.stack_pointer && self.frame_pointer == Value::OWN
    }

    /// What holds whichever way control came.
    pub(super) fn merge(&mut self, other: &Self) {
        self.stack_pointer.merge(other.stack_pointer);
        self.frame_pointer.merge(other.frame_pointer);
        self.link.merge(other.link);
        self.frame_pointer_slot.merge(other.frame_pointer_slot);
        self.link_slot.merge(other.link_slot);
    }

    /// After an instruction.
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
        // What is below the stack pointer may be overwritten at any time.
        if let Some(lowest) = self.stack_pointer.offset() {
            for slot in [&mut self.frame_pointer_slot, &mut self.link_slot] {
                if slot.offset().is_some_and(|offset| offset < lowest) {
                    *slot = Value::UNKNOWN;
                }
            }
        }
    }

    /// Where a place is.
    fn at(&self, place: Place) -> Value {
        let base = match place.by_frame_pointer {
            true => self.frame_pointer,
            false => self.stack_pointer,
        };
        // A register's own value is no address.
        match base.offset() {
            Some(_) => base.moved(place.offset),
            None => Value::UNKNOWN,
        }
    }

    /// The value of a register after a change, which had this one, and whose own is saved in `slot`.
    fn after(&self, change: Change, value: Value, slot: Value) -> Value {
        match change {
            Change::Kept => value,
            Change::Lost => Value::UNKNOWN,
            Change::Address(place) => self.at(place),
            Change::Loaded(place) => match self.at(place) {
                from if from == slot && from != Value::UNKNOWN => Value::OWN,
                _ => Value::UNKNOWN,
            },
        }
    }

    /// The rules of a row, if they are known.
    pub(super) fn rules(&self) -> Option<Rules> {
        let is_record = self.frame_pointer == self.frame_pointer_slot;
        // The address of a frame record is preferred, as compilers keep it while the stack pointer moves, also in ways that are not
        // followed.
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
            // Overwritten, and not saved. No register has this number, so that the caller's frame pointer is not known.
            None => Rule::Value {
                base: Base::Register(u32::MAX),
                offset: 0,
            },
        };
        // It is not followed whether the code has signed the return address, so the bits of a signature do not count.
        Some(Rules::new(cfa, return_address, frame_pointer).with_signed(true))
    }
}

/// The canonical frame address, by a register that is so many bytes from it.
fn above(base: Base, offset: i64) -> Rule {
    Rule::Value {
        base,
        offset: offset.wrapping_neg(),
    }
}
