//! Stack overflows.

use core::hint::black_box;

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
