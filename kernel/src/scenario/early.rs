//! Errors before the kernel is up.

use alloc::boxed::Box;
use core::hint::black_box;

use crate::bad;

/// How far the kernel has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Exceptions have their vectors. The page tables are those of the boot code, nothing was written to the console yet.
    Vectors,
    /// The page tables are the kernel's own. There is no heap.
    Tables,
}

/// The scenarios that do not wait until the kernel is up.
const EARLY: [(&str, Stage, fn()); 3] = [
    ("early-panic", Stage::Vectors, panic),
    ("early-exception", Stage::Vectors, exception),
    ("no-heap", Stage::Tables, allocation),
];

/// Runs the scenario with this name, if this is its time.
pub fn run(name: Option<&str>, now: Stage) {
    for (early, stage, run) in EARLY {
        if name == Some(early) && now == stage {
            run();
        }
    }
}

/// Before the console, the page tables and the heap are set up.
#[inline(never)]
pub fn panic() {
    panic!("nothing is set up yet");
}

/// At the same time. A null pointer would be none: the boot tables map the lowest addresses.
#[inline(never)]
pub fn exception() {
    bad::undefined();
    black_box(());
}

/// Takes memory from a heap that has none.
#[inline(never)]
pub fn allocation() {
    black_box(Box::new(black_box([0xaa_u8; 100])));
}
