//! The stacks of exceptions.

use crate::cpus::MOST;
use crate::stack::{Exception, Extent, Stack};

/// For every exception: SP_EL1. Everything else runs on SP_EL0.
pub static EXCEPTION: [Exception; MOST] = [const { Stack::new() }; MOST];
// vectors.s tells by a shift whether an address is in them.
const _: () = assert!(size_of_val(&EXCEPTION).is_power_of_two());

/// For an exception that finds the exceptions' stack full.
static OVERFLOW: [Exception; MOST] = [const { Stack::new() }; MOST];

/// How many a processor has.
pub const COUNT: usize = 2;

/// Those of a processor.
pub fn of(cpu: usize) -> [Extent; COUNT] {
    [
        EXCEPTION[cpu].extent("exception", cpu),
        OVERFLOW[cpu].extent("overflow", cpu),
    ]
}

/// The empty stack pointer of the stack for exceptions that find the others full.
pub fn overflow(cpu: usize) -> u64 {
    OVERFLOW[cpu].extent("overflow", cpu).end()
}
