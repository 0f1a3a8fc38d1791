//! Recognizes code without a caller on its stack, such as boot code, which sets the stack pointer to another stack and never returns.

use crate::code::{Change, Flow};
use crate::registers::RegisterSet;

/// The maximum number of instructions that are read.
const INSTRUCTIONS: u32 = 1 << 10;

/// Checks whether the function whose `code` is at `start` replaces the stack pointer before `pc`, and contains no instruction that leaves the
/// function but calls. Code that switches between tasks replaces the stack pointer, too, but returns.
pub(super) fn is_new<R: RegisterSet>(code: &[u8], start: u64, pc: u64) -> bool {
    let (mut rest, mut at) = (code, start);
    let size = code.len() as u64;
    let (mut is_replaced, mut furthest) = (false, start);
    for _ in 0..INSTRUCTIONS {
        let Some(effect) = R::effect(rest, at) else {
            return is_replaced && rest.is_empty();
        };
        is_replaced |= at < pc && effect.stack_pointer == Change::Replaced;
        let next = at.wrapping_add(effect.length as u64);
        let target = match effect.flow {
            Flow::Next | Flow::Call => next,
            Flow::Never => at,
            Flow::Branch(to) | Flow::Jump(to) if to.wrapping_sub(start) < size => to,
            _ => return false,
        };
        furthest = furthest.max(target);
        // What follows are constants, if no jump leads there.
        let is_end = matches!(effect.flow, Flow::Jump(_) | Flow::Never);
        if is_end && next > furthest.max(pc) {
            return is_replaced;
        }
        let Some(after) = rest.get(effect.length..) else {
            return false;
        };
        (rest, at) = (after, next);
    }
    false
}
