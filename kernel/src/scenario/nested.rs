//! An exception while another one is handled.

use core::hint::black_box;

use super::overflow::descend;
use crate::bad;
use crate::breakpoint;

/// The handler of a breakpoint reads through a null pointer.
#[inline(never)]
pub fn exception_in_handler() {
    breakpoint::handle_with(|| {
        black_box(handler(black_box(0)));
    });
    bad::breakpoint();
    black_box(());
}

#[inline(never)]
fn handler(address: u64) -> u64 {
    // SAFETY: nothing is mapped at the null pointer that this is.
    black_box(unsafe { bad::read(address) })
}

/// The handler of a breakpoint panics.
#[inline(never)]
pub fn panic_in_handler() {
    breakpoint::handle_with(|| {
        black_box(index(black_box(&[1, 2, 3]), black_box(3)));
    });
    bad::breakpoint();
    black_box(());
}

#[inline(never)]
fn index(values: &[u8], index: usize) -> u8 {
    black_box(values[index])
}

/// The handler of a breakpoint sets a wrong stack pointer, and fails. On AArch64 that is SP_EL1; its bit 15 is set, as it is in
/// the stacks for exceptions, so that the trap code has to notice that it is in none of them.
#[inline(never)]
pub fn stray_stack_pointer() {
    breakpoint::handle_with(lose_stack_pointer);
    bad::breakpoint();
    black_box(());
}

#[inline(never)]
fn lose_stack_pointer() {
    // SAFETY: the function fails, and nothing returns from it.
    unsafe { bad::bad_stack_pointer(black_box(0x4343_c340)) };
    black_box(());
}

/// The handler of a breakpoint overflows the stack that it runs on, so that there is no room for the exception's frame.
#[inline(never)]
pub fn no_stack_for_handler() {
    breakpoint::handle_with(|| {
        black_box(descend(black_box(0)));
    });
    bad::breakpoint();
    black_box(());
}
