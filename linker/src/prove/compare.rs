//! What comparisons tell: the flags, which way of a branch is taken, and how large a value can be.

use super::machine::Machine;
use super::value::{Register, Value};

/// How large something can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The largest number.
    pub most: u64,
    /// The code has compared it with that, or it is a constant; otherwise its type or a mask says so.
    pub is_told: bool,
}

/// An upper bound of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The value.
    pub value: Value,
    /// How large it can be.
    pub limit: Limit,
}

impl Limit {
    /// That of a type, or of a mask.
    pub(super) const fn of_type(most: u64) -> Self {
        Self {
            most,
            is_told: false,
        }
    }

    /// That of a comparison, or of a constant.
    pub(super) const fn told(most: u64) -> Self {
        Self {
            most,
            is_told: true,
        }
    }

    /// What holds if both do.
    fn and(self, other: Self) -> Self {
        match self.most == other.most {
            true => Self {
                is_told: self.is_told || other.is_told,
                ..self
            },
            false if self.most < other.most => self,
            false => other,
        }
    }

    /// What holds if one of them does.
    pub(super) fn or(self, other: Self) -> Self {
        match self.most == other.most {
            true => Self {
                is_told: self.is_told && other.is_told,
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
    /// The register that it stands in, if it still does.
    pub register: Option<Register>,
    /// What was compared.
    pub value: Value,
}

/// What the flags tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flags {
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

/// What follows when a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// The register holds this value.
    Holds(Register, Value),
    /// The value is at most so much.
    AtMost(Bound),
}

impl Machine {
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

    /// What follows when a condition holds that was asked of the flags, if anything does.
    #[must_use]
    pub fn consequence(&self, condition: Condition) -> Option<Consequence> {
        let Flags::Compared(left, right) = self.flags else {
            return None;
        };
        if condition == Condition::Equal {
            // What is on the stack is known better than what is equal to it.
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
            limit: Limit::told(most),
        }))
    }

    /// Adds what follows.
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

    /// A condition holds that was asked of the flags.
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
            Value::Constant(value) => Some(Limit::told(value)),
            Value::Low(origin, bits) => {
                // What bounds the whole bounds its low bits, if it is no larger than they can be.
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
