//! A user program: the kernel is entered from code without its privileges.

use core::hint::black_box;

use crate::arch::user::{user_call, user_loop, user_read};
use crate::{timer, user};

/// The kernel panics in a system call.
#[inline(never)]
pub fn call() {
    user::handle_calls_with(|_| {
        black_box(index(black_box(&[1, 2, 3]), black_box(3)));
    });
    user::run(&raw const user_call);
}

#[inline(never)]
fn index(values: &[u8], index: usize) -> u8 {
    black_box(values[index])
}

/// The program reads through a null pointer.
#[inline(never)]
pub fn read() {
    user::run(&raw const user_read);
}

/// A timer handler panics that has interrupted the program.
#[inline(never)]
pub fn interrupted() {
    timer::handle_with(|frame| {
        if frame.is_user() {
            black_box(index(black_box(&[1, 2, 3]), black_box(3)));
        }
    });
    timer::start();
    user::run(&raw const user_loop);
}
