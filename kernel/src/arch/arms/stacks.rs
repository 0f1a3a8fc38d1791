//! The stacks that exceptions run on.

use crate::arch::OVERFLOW_STACK;
use crate::percpu::MAX_CPUS;
use crate::stack::{Exception, Stack};

/// The stacks of all exceptions, by CPU. Everything else has another stack pointer.
pub static EXCEPTION: [Exception; MAX_CPUS] = [const { Stack::new() }; MAX_CPUS];

/// The stacks, by CPU, of exceptions that find no room on the exception stack.
pub static OVERFLOW: [Stack<OVERFLOW_STACK>; MAX_CPUS] = [const { Stack::new() }; MAX_CPUS];

/// How many of these stacks a CPU has.
pub const COUNT: usize = 2;

/// A CPU's stack with this index, less than [`COUNT`].
pub fn get(cpu: usize, index: usize) -> postmortem::Stack {
    match index {
        0 => EXCEPTION[cpu].extent("exception", cpu),
        _ => OVERFLOW[cpu].extent("overflow", cpu),
    }
}

/// The initial stack pointer of a CPU's overflow stack.
pub fn overflow(cpu: usize) -> u64 {
    OVERFLOW[cpu].extent("overflow", cpu).end()
}
