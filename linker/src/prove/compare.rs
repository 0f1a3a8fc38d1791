//! What follows from comparisons: the flags, which edges of a branch are possible, and upper bounds of values.

use super::machine::Machine;
use super::value::{Register, Value};

/// An upper bound, and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The largest number.
    pub most: u64,
    /// It comes from a comparison or a constant; otherwise from the width of a type, or from a mask.
    pub is_compared: bool,
}

/// An upper bound of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The value.
    pub value: Value,
    /// How large the value can be.
    pub limit: Limit,
}

impl Limit {
    /// The bound from a type, or from a mask.
    pub(super) const fn of_type(most: u64) -> Self {
        Self {
            most,
            is_compared: false,
        }
    }

    /// The bound from a comparison, or from a constant.
    pub(super) const fn compared(most: u64) -> Self {
        Self {
            most,
            is_compared: true,
        }
    }

    /// The meet: the bound if both hold.
    fn and(self, other: Self) -> Self {
        match self.most == other.most {
            true => Self {
                is_compared: self.is_compared || other.is_compared,
                ..self
            },
            false if self.most < other.most => self,
            false => other,
        }
    }

    /// The join: the bound if one of them holds.
    pub(super) fn or(self, other: Self) -> Self {
        match self.most == other.most {
            true => Self {
                is_compared: self.is_compared && other.is_compared,
                ..self
            },
            false if self.most > other.most => self,
            false => other,
        }
    }
}

/// One side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The register that holds the value, if one still does.
    pub register: Option<Register>,
    /// What was compared.
    pub value: Value,
}

/// The abstract state of the flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flags {
    Unknown,
    Compared(Operand, Operand),
}

/// The condition of a branch after a comparison of two unsigned numbers.
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

/// What follows when a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// The register holds this value.
    Holds(Register, Value),
    /// The value has this upper bound.
    AtMost(Bound),
}

impl Machine {
    /// Makes the flags unknown.
    pub fn forget_flags(&mut self) {
        self.flags = Flags::Unknown;
    }

    /// Sets the flags from a comparison.
    pub fn compare(&mut self, left: Operand, right: Operand) {
        self.flags = Flags::Compared(left, right);
    }

    /// Whether a condition of the flags can hold. It is known to be false only if both sides are constants, or one is the stack
    /// pointer.
    #[must_use]
    pub fn may(&self, condition: Condition) -> bool {
        let Flags::Compared(left, right) = self.flags else {
            return true;
        };
        let (left, right) = match (left.value, right.value) {
            (Value::Constant(left), Value::Constant(right)) => (left, right),
            // Stack probes, loops that touch each page of a large frame, end when the stack pointer reaches a limit. Other stack
            // addresses are not compared: a variable that holds one may have been overwritten.
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

    /// What follows if a condition of the flags holds.
    #[must_use]
    pub fn consequence(&self, condition: Condition) -> Option<Consequence> {
        let Flags::Compared(left, right) = self.flags else {
            return None;
        };
        if condition == Condition::Equal {
            // A stack address is more precise than the value that is equal to it.
            let (from, to) = match (left.value, right.value) {
                (Value::Stack(..), Value::Stack(..)) => return None,
                (Value::Stack(..), _) => (left, right),
                (_, Value::Stack(..)) => (right, left),
                _ => return None,
            };
            return to
                .register
                .map(|register| Consequence::Holds(register, from.value));
        }
        let Value::Constant(right) = right.value else {
            return None;
        };
        let most = match condition {
            Condition::BelowOrEqual => right,
            Condition::Below => right.checked_sub(1)?,
            _ => return None,
        };
        let value = left.value;
        matches!(value, Value::Same(_) | Value::Low(..)).then_some(Consequence::AtMost(Bound {
            value,
            limit: Limit::compared(most),
        }))
    }

    /// Adds a consequence to the state.
    pub fn apply(&mut self, consequence: Consequence) {
        match consequence {
            Consequence::Holds(register, value) => self.set(register, value),
            Consequence::AtMost(new) => {
                let known = self
                    .bounds
                    .iter_mut()
                    .find(|bound| bound.value == new.value);
                match known {
                    Some(bound) => bound.limit = bound.limit.and(new.limit),
                    None => self.bounds.push(new),
                }
            }
        }
    }

    /// Restricts the state to one in which a condition of the flags holds.
    pub fn assume(&mut self, condition: Condition) {
        if let Some(consequence) = self.consequence(condition) {
            self.apply(consequence);
        }
    }

    /// The largest number that a value can be, if that is known.
    #[must_use]
    pub fn most(&self, value: Value) -> Option<u64> {
        self.limit(value).map(|limit| limit.most)
    }

    /// How large a value can be, if that is known.
    #[must_use]
    pub fn limit(&self, value: Value) -> Option<Limit> {
        let bound = |of: Value| {
            let found = self.bounds.iter().filter(|bound| bound.value == of);
            found.map(|bound| bound.limit).reduce(Limit::and)
        };
        match value {
            Value::Constant(value) => Some(Limit::compared(value)),
            Value::Low(origin, bits) => {
                // A bound of the whole value bounds its low bits, unless truncation may change the value.
                let largest = (1_u64 << bits) - 1;
                let whole = [8, 16, 32]
                    .into_iter()
                    .filter(|other| *other > bits)
                    .map(|other| Value::Low(origin, other))
                    .chain([Value::Same(origin)])
                    .filter_map(bound)
                    .filter(|limit| limit.most <= largest);
                let own = bound(value).into_iter();
                whole
                    .chain(own)
                    .chain([Limit::of_type(largest)])
                    .reduce(Limit::and)
            }
            Value::Same(_) => bound(value),
            _ => None,
        }
    }
}
