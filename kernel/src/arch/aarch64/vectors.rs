//! The exception vectors, and where their trap code finds room for a frame.

use core::arch::global_asm;

use aarch64_cpu::asm::barrier;
use aarch64_cpu::registers::{VBAR_EL1, Writeable};

postmortem::exception_entries!(
    crate::arch::arms::trap::exception,
    // The field `overflow_stack` of this CPU's `Cpu`, to which TPIDR_EL1 points.
    overflow_stack: "
        mrs x0, tpidr_el1
        ldr x0, [x0, #8]
    ",
    // There is room if the address is in a stack for exceptions, not in its guard pages. The stacks are one array, and bit 15
    // of an address is set in a stack and clear in its guard pages. TPIDR_EL0 is free for use here, because no user program uses
    // it.
    room: "
        msr tpidr_el0, x1
        adrp x1, {stacks}
        sub x1, x0, x1
        lsr x1, x1, #{stacks_shift}
        mvn x0, x0
        ubfx x0, x0, #15, #1
        orr x0, x0, x1
        mrs x1, tpidr_el0
    ",
    stacks = sym super::stacks::EXCEPTION,
    stacks_shift = const size_of_val(&super::stacks::EXCEPTION).ilog2(),
);
global_asm!(include_str!("preempted.s"), preempted = sym crate::arch::arms::trap::preempted);

unsafe extern "C" {
    /// The vector table, which `exception_entries!` defines. It has no value, only an address.
    static exception_vectors: u8;
}

/// Makes this CPU use the vectors.
pub fn init() {
    VBAR_EL1.set(&raw const exception_vectors as u64);
    barrier::isb(barrier::SY);
}
