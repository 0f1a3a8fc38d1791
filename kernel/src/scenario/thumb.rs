//! ARM and Thumb code that call each other.

use core::hint::black_box;

use crate::bad;
use crate::console::println;

/// What the function that is called last does.
#[derive(Clone, Copy)]
enum Last {
    Panic,
    Undefined,
    Breakpoint,
}

/// A panic.
pub fn run() {
    black_box(arm(black_box(3), Last::Panic));
}

/// An undefined instruction in Thumb code.
pub fn undefined() {
    black_box(arm(black_box(2), Last::Undefined));
}

/// A breakpoint in Thumb code.
pub fn breakpoint() {
    let depth = black_box(arm(black_box(4), Last::Breakpoint));
    println!("continued after the breakpoint, {depth} calls deep");
}

/// In ARM code: calls Thumb code, whose number is one less.
#[inline(never)]
#[instruction_set(arm::a32)]
fn arm(number: u32, last: Last) -> u32 {
    black_box(thumb(black_box(number), last)) + 1
}

/// In Thumb code: calls ARM code again, or does what is to be done last.
#[inline(never)]
#[instruction_set(arm::t32)]
fn thumb(number: u32, last: Last) -> u32 {
    if number > 0 {
        return black_box(arm(black_box(number - 1), last)) + 1;
    }
    match last {
        Last::Panic => panic!("in Thumb code"),
        Last::Undefined => bad::undefined(),
        Last::Breakpoint => bad::breakpoint(),
    }
    black_box(1)
}
