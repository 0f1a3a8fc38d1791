//! Breakpoints where the rules for unwinders contradict the code: `bad/*/lies.s` has the functions.

use core::hint::black_box;

use crate::bad;
use crate::console::println;

/// Calls each of them. That they return proves that the code is right, and so what a report must say.
#[inline(never)]
pub fn run() {
    let mut returned = 0;
    for lie in black_box(bad::LIES) {
        call(*lie);
        returned += 1;
    }
    println!("all {returned} returned");
}

#[inline(never)]
fn call(lie: unsafe extern "C" fn()) {
    // SAFETY: they change nothing.
    unsafe { lie() };
    black_box(());
}
