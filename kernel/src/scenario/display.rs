//! Values whose `Display` panics or faults.

use core::fmt;
use core::hint::black_box;

use crate::bad;
use crate::console::println;

/// Panics when it is shown.
struct Panics;

impl fmt::Display for Panics {
    #[inline(never)]
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("cannot be shown")
    }
}

/// Reads through a null pointer when it is shown.
struct Faults;

impl fmt::Display for Faults {
    #[inline(never)]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: nothing is mapped at this address, so the read faults.
        let word = unsafe { bad::read(black_box(0)) };
        word.fmt(f)
    }
}

/// A panic whose message panics.
#[inline(never)]
pub fn panic_in_panic() {
    panic!("the formatting of this value panics: {Panics}");
}

/// A panic whose message raises an exception.
#[inline(never)]
pub fn fault_in_panic() {
    panic!("the formatting of this value raises an exception: {Faults}");
}

/// A panic while the CPU holds the console's lock.
#[inline(never)]
pub fn panic_in_print() {
    println!("the formatting of this value panics: {Panics}");
}
