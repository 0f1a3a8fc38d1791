//! The stacks of exceptions that cannot rely on the interrupted one, most by the IST. Manual: volume 3, 7.14.5 "Interrupt Stack
//! Table".

use x86_64::VirtAddr;
use x86_64::structures::tss::TaskStateSegment;

use crate::percpu::MAX_CPUS;
use crate::stack::{BOOT, Exception, Stack};

/// For NMIs, which come at any time, also while the stack pointer is being changed.
pub static NMI: [Exception; MAX_CPUS] = [const { Stack::new() }; MAX_CPUS];
/// For double faults: the CPU could not push a frame on the interrupted stack.
pub static DOUBLE_FAULT: [Exception; MAX_CPUS] = [const { Stack::new() }; MAX_CPUS];
/// For machine checks: hardware is broken, perhaps the memory of the interrupted stack.
pub static MACHINE_CHECK: [Exception; MAX_CPUS] = [const { Stack::new() }; MAX_CPUS];

/// For interrupts, so that tasks' stacks need no room for their handlers.
pub static INTERRUPT: [Exception; MAX_CPUS] = [const { Stack::new() }; MAX_CPUS];

/// How many of these stacks a CPU has.
pub const COUNT: usize = 4;

/// How many of them are in the IST. The one for interrupts is not: the CPU would start at its top again when a handler is
/// interrupted, and overwrite that handler's frames.
const IN_TABLE: usize = 3;

/// Indices in the IST.
pub const NMI_INDEX: u16 = 0;
pub const DOUBLE_FAULT_INDEX: u16 = 1;
pub const MACHINE_CHECK_INDEX: u16 = 2;

/// A CPU's stack with this index, less than [`COUNT`].
pub fn get(cpu: usize, index: usize) -> postmortem::Stack {
    match index {
        0 => NMI[cpu].extent("nmi", cpu),
        1 => DOUBLE_FAULT[cpu].extent("double fault", cpu),
        2 => MACHINE_CHECK[cpu].extent("machine check", cpu),
        _ => interrupt(cpu),
    }
}

/// A CPU's stack for interrupts.
pub fn interrupt(cpu: usize) -> postmortem::Stack {
    INTERRUPT[cpu].extent("irq", cpu)
}

/// The initial stack pointer of a CPU's stack for exceptions that find no room elsewhere: the CPU itself switches to that of
/// double faults.
pub fn overflow(cpu: usize) -> u64 {
    DOUBLE_FAULT[cpu].extent("double fault", cpu).end()
}

/// A CPU's task state segment (TSS): the IST, and the stack for what comes from user code, which has given up all that was on it.
pub fn task_state(cpu: usize) -> TaskStateSegment {
    let mut task_state = TaskStateSegment::new();
    for index in 0..IN_TABLE {
        task_state.interrupt_stack_table[index] = VirtAddr::new(get(cpu, index).end());
    }
    task_state.privilege_stack_table[0] = VirtAddr::new(BOOT[cpu].extent("boot", cpu).end());
    task_state
}
