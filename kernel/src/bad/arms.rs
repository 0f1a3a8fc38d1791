//! What is the same in both of Arm's instruction sets.

use core::arch::asm;

/// Executes an undefined instruction.
#[inline(always)]
pub fn undefined() {
    // SAFETY: raises an exception, whose handler does not return.
    unsafe { asm!("udf #0", options(nomem, nostack)) };
}

/// Loops in one instruction, until a handler changes the saved program counter.
#[inline(always)]
pub fn stay() {
    // SAFETY: a jump to itself changes nothing.
    unsafe { asm!("b .", options(nomem, nostack)) };
}

/// Divides. The CPU raises no exception for a zero divisor, so Rust checks it, and panics.
#[inline(always)]
pub fn divide(dividend: u64, divisor: u64) -> u64 {
    dividend / divisor
}
