//! The stacks of exceptions that must not trust the one at hand. Manual: volume 3, 7.14.5 "Interrupt Stack Table".

use x86_64::VirtAddr;
use x86_64::structures::tss::TaskStateSegment;

use crate::percpu::MOST;
use crate::stack::{Exception, Stack};

/// For an NMI, which comes at any time, also while the stack pointer is being changed.
pub static NMI: [Exception; MOST] = [const { Stack::new() }; MOST];
/// For a double fault: the processor could not push a frame on the stack at hand.
static DOUBLE_FAULT: [Exception; MOST] = [const { Stack::new() }; MOST];
/// For a machine check: something is broken, perhaps the memory of the stack at hand.
static MACHINE_CHECK: [Exception; MOST] = [const { Stack::new() }; MOST];

/// For interrupts: their handlers need no room on the stack of each task.
pub static INTERRUPT: [Exception; MOST] = [const { Stack::new() }; MOST];

/// How many a processor has.
pub const COUNT: usize = 4;

/// How many of them are in the interrupt stack table. That of interrupts is not: an interrupt of a handler would begin at its
/// end again, and a task that is interrupted could not be left for another one.
const IN_TABLE: usize = 3;

/// Indices in the interrupt stack table.
pub const NMI_INDEX: u16 = 0;
pub const DOUBLE_FAULT_INDEX: u16 = 1;
pub const MACHINE_CHECK_INDEX: u16 = 2;

/// That of a processor with this index, less than [`COUNT`].
pub fn of(cpu: usize, index: usize) -> postmortem::Stack {
    match index {
        0 => NMI[cpu].extent("nmi", cpu),
        1 => DOUBLE_FAULT[cpu].extent("double fault", cpu),
        2 => MACHINE_CHECK[cpu].extent("machine check", cpu),
        _ => interrupt(cpu),
    }
}

/// That of a processor's interrupts.
pub fn interrupt(cpu: usize) -> postmortem::Stack {
    INTERRUPT[cpu].extent("irq", cpu)
}

/// The empty stack pointer of the stack for exceptions that find the others full: the processor itself goes to that of
/// double faults.
pub fn overflow(cpu: usize) -> u64 {
    DOUBLE_FAULT[cpu].extent("double fault", cpu).end()
}

/// The task state of a processor, which is a table of stacks and no more.
pub fn task_state(cpu: usize) -> TaskStateSegment {
    let mut task_state = TaskStateSegment::new();
    for index in 0..IN_TABLE {
        task_state.interrupt_stack_table[index] = VirtAddr::new(of(cpu, index).end());
    }
    task_state
}
