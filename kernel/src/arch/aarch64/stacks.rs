//! The stacks of exceptions.

use postmortem::aarch64::OVERFLOW_STACK;

use crate::percpu::MOST;
use crate::stack::{Exception, Stack};

/// For every exception: SP_EL1. Everything else runs on SP_EL0.
pub static EXCEPTION: [Exception; MOST] = [const { Stack::new() }; MOST];
// vectors.rs tells by a shift whether an address is in them.
const _: () = assert!(size_of_val(&EXCEPTION).is_power_of_two());

/// For an exception that finds the exceptions' stack full.
pub static OVERFLOW: [Stack<OVERFLOW_STACK>; MOST] = [const { Stack::new() }; MOST];

/// How many a processor has.
pub const COUNT: usize = 2;

/// That of a processor with this index, less than [`COUNT`].
pub fn of(cpu: usize, index: usize) -> postmortem::Stack {
    match index {
        0 => EXCEPTION[cpu].extent("exception", cpu),
        _ => OVERFLOW[cpu].extent("overflow", cpu),
    }
}

/// The empty stack pointer of the stack for exceptions that find the others full.
pub fn overflow(cpu: usize) -> u64 {
    OVERFLOW[cpu].extent("overflow", cpu).end()
}
