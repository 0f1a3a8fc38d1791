//! Instructions that raise an exception by themselves.

use core::hint::black_box;

use crate::bad;
use crate::console::println;

/// Executes an undefined instruction.
#[inline(never)]
pub fn undefined() {
    bad::undefined();
    black_box(());
}

/// Divides by zero.
#[inline(never)]
pub fn divide() {
    black_box(bad::divide(black_box(1), black_box(0)));
}

/// Executes a breakpoint, and goes on.
#[inline(never)]
pub fn breakpoint() {
    let kept = black_box(0x5eed_u64);
    bad::breakpoint();
    println!(
        "continued after the breakpoint with the value {kept:#x}",
        kept = black_box(kept)
    );
}
