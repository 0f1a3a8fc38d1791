//! Scenarios that fail before the kernel is up.

use alloc::boxed::Box;
use core::hint::black_box;

use portable::scenarios::{self, SCENARIOS, Stage};

use crate::bad;

/// Runs the scenario with this name, if it belongs to this stage.
pub fn run(name: Option<&str>, now: Stage) {
    if let Some(number) = name.and_then(scenarios::number)
        && SCENARIOS[number].stage == now
        && let Some(run) = super::RUN[number]
    {
        run();
        // Prevents a tail call: a report of what it calls has this function, too.
        core::hint::black_box(());
    }
}

/// Panics before the console, the page tables and the heap are set up.
#[inline(never)]
pub fn panic() {
    panic!("panic before the console, the page tables and the heap are set up");
}

/// Faults at the same time. Not by a null pointer, because the boot tables map the lowest addresses.
#[inline(never)]
pub fn exception() {
    bad::undefined();
    // With the very code of `instructions::undefined` the compiler would make them one function, with one name.
    black_box(Stage::Vectors);
}

/// Allocates before the heap has memory.
#[inline(never)]
pub fn allocation() {
    black_box(Box::new(black_box([0xaa_u8; 100])));
}
