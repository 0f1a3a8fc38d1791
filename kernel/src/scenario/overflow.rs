//! Stack overflows.

use core::hint::black_box;

use postmortem::capture;
use unwind::RegisterSet as _;

use crate::platform::POSTMORTEM;

/// Overflows the stack by a recursion.
#[inline(never)]
pub fn recursion() {
    black_box(descend(black_box(0)));
}

/// A recursion without an end that a compiler can see. All scenarios share it, because a compiler may merge identical functions
/// under any of their names.
#[inline(never)]
pub(super) fn descend(depth: u64) -> u64 {
    if black_box(depth) == u64::MAX {
        return 0;
    }
    black_box(descend(depth + 1)) + 1
}

/// Panics where the stack has no room for the report.
#[inline(never)]
pub fn nearly() {
    let stack = POSTMORTEM.stacks().find(capture().sp());
    let end = stack.map_or(0, |stack| stack.words.start);
    black_box(fill(black_box(end)));
}

/// Recurses until little of the stack is left.
#[inline(never)]
fn fill(end: u64) -> u64 {
    /// Bytes: enough for a panic, and for the first line of its report.
    const LEFT: u64 = if cfg!(debug_assertions) {
        5 << 10
    } else {
        3 << 10
    };
    if capture().sp() - end < LEFT {
        panic!("the stack is nearly full");
    }
    black_box(fill(end)) + 1
}

/// Overflows the stack by one function whose variables are larger than the stack.
#[cfg(not(target_arch = "arm"))]
#[inline(never)]
pub fn huge_frame() {
    black_box(huge(black_box(7)));
}

#[cfg(not(target_arch = "arm"))]
#[inline(never)]
fn huge(index: usize) -> u8 {
    let mut variables = [0_u8; 1024 * 1024];
    black_box(&mut variables);
    variables[index]
}
