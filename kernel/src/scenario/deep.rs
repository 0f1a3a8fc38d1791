//! A long way down: all of it is listed.

use core::hint::black_box;

/// Calls of [`descend`] on the stack at the panic, unless the command line has another number.
const DEPTH: u32 = 200;

/// Goes down.
pub fn run() {
    let depth = super::ARGUMENT.get().copied().unwrap_or(DEPTH);
    black_box(descend(black_box(depth.max(1))));
}

/// `black_box` after the call makes sure that there is something left to do, so that no compiler makes a loop of it.
#[inline(never)]
fn descend(calls: u32) -> u32 {
    if calls == 1 {
        panic!("at the bottom");
    }
    black_box(descend(calls - 1)) + 1
}
