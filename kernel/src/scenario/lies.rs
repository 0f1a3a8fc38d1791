//! Breakpoints where the unwind rules contradict the code, in the functions of `bad/*/lies.s`.

use core::hint::black_box;

use crate::bad;
use crate::console::println;

/// Calls each of them. That they return shows that their code is right.
#[inline(never)]
pub fn run() {
    let mut returned = 0;
    for lie in black_box(bad::LIES) {
        call(*lie);
        returned += 1;
    }
    println!("all {returned} functions returned");
}

#[inline(never)]
fn call(lie: unsafe extern "C" fn()) {
    // SAFETY: these functions change only their own stack frame, and return.
    unsafe { lie() };
    black_box(());
}
