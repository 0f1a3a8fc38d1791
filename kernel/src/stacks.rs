//! The list of all stacks of the kernel: those of CPUs, then those of tasks.

use unwind::Range;

use crate::arch::stacks;
use crate::cpus::{self, MAX_CPUS};
use crate::stack::BOOT;
use crate::task;

/// How many stacks a CPU has.
const COUNT: usize = 1 + stacks::COUNT;

/// The stack of a CPU with this index, less than [`COUNT`].
fn of_cpu(cpu: usize, index: usize) -> postmortem::Stack {
    match index.checked_sub(1) {
        None => BOOT[cpu].extent("boot", cpu),
        Some(index) => stacks::get(cpu, index),
    }
}

/// The stack with this index in the list of all stacks: those of started CPUs, then those of tasks.
pub fn get(index: usize) -> Option<postmortem::Stack> {
    let (cpu, in_cpu) = (index / COUNT, index % COUNT);
    match cpu < cpus::started() {
        true => Some(of_cpu(cpu, in_cpu)),
        false => task::stack(index - cpus::started() * COUNT),
    }
}

/// The guard pages of all stacks, including those not in use yet.
pub fn guards() -> impl Iterator<Item = Range> {
    let cpus = (0..MAX_CPUS).flat_map(|cpu| (0..COUNT).map(move |index| of_cpu(cpu, index)));
    let tasks = (0..).map_while(task::stack);
    cpus.chain(tasks).map(|stack| stack.guard)
}
