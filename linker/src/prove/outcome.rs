//! How a function is entered, and the results about it as a whole.

use unwind::sframe::Row;

use super::addresses::Addresses;
use super::world::Effect;
use crate::reason::Reason;

/// How code is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// By a call.
    Call,
    /// As an interrupt handler of x86-64, with so many bytes on top of the interrupt frame: an error code, and the return address if stubs call
    /// the handler.
    Interrupt(u8),
    /// As its first row says: trap code.
    Declared(Row),
}

/// The results about a function, or one of its blocks, beside its rows.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Functions that it calls directly, except `enters`.
    pub calls: Addresses,
    /// Trap code that it calls as a stub: this code returns to what the CPU has interrupted at the entry of the stub.
    pub enters: Addresses,
    /// Callees whose return was followed.
    pub relies_on: Addresses,
    /// Functions that it jumps to with the stack as at its own entry.
    pub tail_calls: Addresses,
    /// Functions that it jumps to with another stack.
    pub intrudes: Addresses,
    /// Entries that control runs into with another stack: after a call that may return, or after any other instruction.
    pub runs_into: Addresses,
    /// Callees whose return was not followed: they never return, or that is not known and the row after the call contradicts
    /// the state there.
    pub stops_at: Addresses,
    /// It may return to the caller, perhaps by a tail call.
    pub returns: bool,
    /// It has a return instruction that leads back to the caller, or a tail call of a function that has one.
    pub has_return: bool,
    /// Where a call of it differs from what the calling convention says.
    pub effect: Option<Effect>,
    /// Address of an interrupt return, and bytes from the entry's stack pointer to the interrupt frame that it pops.
    pub interrupt_return: Option<(u64, i64)>,
    /// Addresses of the jump tables that it reads.
    pub tables: Addresses,
    /// The length of one of them was guessed from where the next one starts.
    pub guesses: bool,
    /// Why all results about the function are void.
    pub problem: Option<Reason>,
}

impl Outcome {
    /// Makes all results void. The first reason stays.
    pub(super) fn fail(&mut self, reason: Reason) {
        self.problem = self.problem.or(Some(reason));
    }

    /// Adds the results about another block, except its effect, which follows from the join of all exits.
    pub(super) fn add(&mut self, other: &Self) {
        self.calls.extend(&other.calls);
        self.enters.extend(&other.enters);
        self.relies_on.extend(&other.relies_on);
        self.tail_calls.extend(&other.tail_calls);
        self.intrudes.extend(&other.intrudes);
        self.runs_into.extend(&other.runs_into);
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
