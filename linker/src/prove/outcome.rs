//! How a function is entered, and what is found out about it as a whole.

use std::collections::BTreeSet;

use unwind::sframe::Row;

use super::reason::Reason;
use super::world::Effect;

/// How code is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// By a call.
    Call,
    /// By the processor, which has pushed so many bytes of error code above where it keeps what was interrupted (x86-64).
    Interrupt(u8),
    /// In a way that only its first row tells.
    Declared(Row),
}

/// What was found out about a function, or a part of it, beside its rows.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Functions that it calls directly.
    pub calls: BTreeSet<u64>,
    /// Those of them behind whose call the code goes on.
    pub relies_on: BTreeSet<u64>,
    /// Functions that it jumps to with the stack as at its own entry.
    pub tail_calls: BTreeSet<u64>,
    /// Functions that it jumps to with another stack.
    pub intrudes: BTreeSet<u64>,
    /// Functions behind whose call the code does not go on: they do not return, or that is not known and call frame
    /// information says that the stack is another one there.
    pub stops_at: BTreeSet<u64>,
    /// A way may lead back to the caller, perhaps by another function.
    pub returns: bool,
    /// It has a return instruction that leads back to the caller, or ends in a call of a function that has one.
    pub has_return: bool,
    /// What the caller finds changed, when that is more than the calling convention allows.
    pub effect: Option<Effect>,
    /// Where an interrupt return is, and bytes from the entry's stack pointer to where it takes what was interrupted.
    pub interrupt_return: Option<(u64, i64)>,
    /// Tables that it reads.
    pub tables: BTreeSet<u64>,
    /// Of one of them nothing but the next one says how long it is.
    pub guesses: bool,
    /// Why nothing that was found holds.
    pub problem: Option<Reason>,
}

impl Outcome {
    /// Nothing that was found holds. The first reason stays.
    pub(super) fn fail(&mut self, reason: Reason) {
        self.problem = self.problem.or(Some(reason));
    }

    /// Adds what was found out about another part of the function. What its exits change is not added up here.
    pub(super) fn add(&mut self, other: &Self) {
        self.calls.extend(&other.calls);
        self.relies_on.extend(&other.relies_on);
        self.tail_calls.extend(&other.tail_calls);
        self.intrudes.extend(&other.intrudes);
        self.stops_at.extend(&other.stops_at);
        self.returns |= other.returns;
        self.has_return |= other.has_return;
        self.guesses |= other.guesses;
        if let Some((at, offset)) = other.interrupt_return {
            let (_, known) = *self.interrupt_return.get_or_insert((at, offset));
            if known != offset {
                self.fail(Reason::Unbalanced(at));
            }
        }
        if let Some(problem) = other.problem {
            self.fail(problem);
        }
    }
}
