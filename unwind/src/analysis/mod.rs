//! Rules read out of a function's code, where no table has a row: how far its instructions have moved the stack pointer, and where
//! they have saved the return address and the caller's frame pointer.
//!
//! It is a guess that is mostly right. That a call returns, where a jump through a register leads, that nobody enters a function but
//! at its first instruction: code does not say that, and tables do. So what is found by it is marked, and no list with it is complete.

mod follow;
mod state;
mod targets;

use crate::code::Code;
use crate::memory::Range;
use crate::registers::{Machine, RegisterSet};
use crate::rules::Rules;

/// The rules before the instruction that holds `pc`, by the code of the function that has these addresses; `None` if they are not known.
pub(crate) fn rules<R: RegisterSet>(code: &Code<'_>, function: Range, pc: u64) -> Option<Rules> {
    let size = function.end.checked_sub(function.start)?;
    let bytes = code.from(function.start, size)?;
    let has_link = R::MACHINE != Machine::X86_64;
    follow::state_at::<R>(bytes, function.start, pc, has_link)?.rules()
}
