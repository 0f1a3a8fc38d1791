//! A deep recursion, of which the report lists every frame.

use core::hint::black_box;

/// The depth of the recursion, unless the command line has another number.
const DEPTH: u32 = 200;

/// Starts the recursion.
pub fn run() {
    let depth = super::ARGUMENT.get().copied().unwrap_or(DEPTH);
    black_box(descend(black_box(depth.max(1))));
}

/// `black_box` uses the result of the call, so that a compiler does not turn the recursion into a loop.
#[inline(never)]
fn descend(calls: u32) -> u32 {
    if calls == 1 {
        panic!("at the bottom");
    }
    black_box(descend(calls - 1)) + 1
}
