//! An analysis of a function's code, for functions without a row: how its instructions move the stack pointer, and where they save the return
//! address and the caller's frame pointer.
//!
//! The result is usually right, but can be wrong. Code does not show whether a call returns, where a jump through a register leads, and whether
//! a function is entered at its first instruction only. So frames that the analysis finds are marked, and no list with such a frame is
//! complete.

mod follow;
mod state;
mod targets;

use crate::code::Code;
use crate::memory::Range;
use crate::registers::{Machine, RegisterSet};
use crate::rules::Rules;

/// Returns the rules before the instruction at `pc`, from the code of the function with these addresses; `None` if they are not known.
pub(crate) fn rules<R: RegisterSet>(code: &Code<'_>, function: Range, pc: u64) -> Option<Rules> {
    let size = function.end.checked_sub(function.start)?;
    let bytes = code.from(function.start, size)?;
    let has_link = R::MACHINE != Machine::X86_64;
    follow::state_at::<R>(bytes, function.start, pc, has_link)?.rules()
}
