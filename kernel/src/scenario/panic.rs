//! A panic by an index out of bounds, below functions with different kinds of names: plain, generic, a method of a trait
//! object, a closure.
//!
//! `inline(never)` keeps a frame for each function in a release build, and `black_box` uses the result of each call, so that
//! none becomes a tail call.

use core::hint::black_box;

/// Starts the calls that lead to the panic.
pub fn run() {
    black_box(first(black_box(&[10, 20, 30])));
}

#[inline(never)]
fn first(values: &[u8; 3]) -> u8 {
    black_box(second(values))
}

/// A generic function.
#[inline(never)]
fn second<T: AsRef<[u8]>>(values: &T) -> u8 {
    let step: &dyn Step = black_box(&Walker);
    black_box(step.third(values.as_ref()))
}

/// The next function is called through a trait object, which prevents inlining.
trait Step {
    fn third(&self, values: &[u8]) -> u8;
}

struct Walker;

impl Step for Walker {
    #[inline(never)]
    fn third(&self, values: &[u8]) -> u8 {
        black_box(fourth(values))
    }
}

#[inline(never)]
fn fourth(values: &[u8]) -> u8 {
    // A closure has no attributes; a call through a pointer is not inlined either.
    let closure: &dyn Fn(usize) -> u8 = &|index| black_box(fifth(values, index));
    black_box(black_box(closure)(7))
}

#[inline(never)]
fn fifth(values: &[u8], index: usize) -> u8 {
    values[index]
}
