//! The stack runs out.

use core::hint::black_box;

/// By calls.
#[inline(never)]
pub fn recursion() {
    black_box(descend(black_box(0)));
}

/// Never reaches its end, which a compiler does not know. One for all scenarios: of several that are the same, a compiler
/// may keep one, under any of their names.
#[inline(never)]
pub(super) fn descend(depth: u64) -> u64 {
    if black_box(depth) == u64::MAX {
        return 0;
    }
    black_box(descend(depth + 1)) + 1
}

/// By one function with more variables than the stack has room.
#[inline(never)]
pub fn huge_frame() {
    black_box(huge(black_box(7)));
}

#[inline(never)]
fn huge(index: usize) -> u8 {
    let mut variables = [0_u8; 1024 * 1024];
    black_box(&mut variables);
    variables[index]
}
