//! The stacks of exceptions that must not trust the one at hand. Manual: volume 3, 7.14.5 "Interrupt Stack Table".

use x86_64::VirtAddr;
use x86_64::structures::tss::TaskStateSegment;

use crate::stack::{Exception, Extent, Stack};

/// For an NMI, which comes at any time, also while the stack pointer is being changed.
static NMI: Exception = Stack::new();
/// For a double fault: the processor could not push a frame on the stack at hand.
static DOUBLE_FAULT: Exception = Stack::new();
/// For a machine check: something is broken, perhaps the memory of the stack at hand.
static MACHINE_CHECK: Exception = Stack::new();

/// How many.
pub const COUNT: usize = 3;

/// Indices in the interrupt stack table.
pub const NMI_INDEX: u16 = 0;
pub const DOUBLE_FAULT_INDEX: u16 = 1;
pub const MACHINE_CHECK_INDEX: u16 = 2;

/// All of them, by their index.
pub fn all() -> [Extent; COUNT] {
    [
        NMI.extent("nmi"),
        DOUBLE_FAULT.extent("double fault"),
        MACHINE_CHECK.extent("machine check"),
    ]
}

/// The task state, which is a table of these stacks and no more.
pub fn task_state() -> TaskStateSegment {
    let mut task_state = TaskStateSegment::new();
    for (index, stack) in all().iter().enumerate() {
        task_state.interrupt_stack_table[index] = VirtAddr::new(stack.end());
    }
    task_state
}
