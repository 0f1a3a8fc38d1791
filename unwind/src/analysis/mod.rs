//! An analysis of a function's code, for functions without a row: how its instructions move the stack pointer, and where they save the return
//! address and the caller's frame pointer.
//!
//! The result is usually right, but can be wrong. Code does not show whether a call returns, where a jump through a register leads, and whether
//! a function is entered at its first instruction only. So frames that the analysis finds are marked, and no list with such a frame is
//! complete.

mod follow;
mod new_stack;
mod state;
mod targets;

use crate::code::Code;
use crate::memory::Range;
use crate::registers::{Machine, RegisterSet};
use crate::rules::Rules;

/// Returns the rules before the instruction at `pc`, from the code of the function with these addresses; `None` if they are not known. If the
/// code has no caller on its stack, these are the rules of a function without a caller.
pub(crate) fn rules<R: RegisterSet>(code: &Code<'_>, function: Range, pc: u64) -> Option<Rules> {
    let size = function.end.checked_sub(function.start)?;
    let bytes = code.from(function.start, size)?;
    let has_link = R::MACHINE != Machine::X86_64;
    let state = follow::state_at::<R>(bytes, function.start, pc, has_link);
    if let Some(rules) = state.and_then(|state| state.rules()) {
        return Some(rules);
    }
    new_stack::is_new::<R>(bytes, function.start, pc).then_some(Rules::NO_CALLER)
}
