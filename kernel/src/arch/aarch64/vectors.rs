//! Where the processor finds what to do when an exception comes.

use core::arch::global_asm;

use aarch64_cpu::asm::barrier;
use aarch64_cpu::registers::{VBAR_EL1, Writeable};

postmortem::exception_entries!(
    super::trap::exception,
    // This CPU's `Cpu`: percpu.rs.
    overflow_stack: "
        mrs x0, tpidr_el1
        ldr x0, [x0, #8]
    ",
    // Only the stacks for exceptions have room, whatever else is mapped: in their words bit 15 of an address is set, in their
    // guard pages it is clear, and all of them are one array. There are no threads at EL0 whose register this could be.
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
global_asm!(include_str!("preempted.s"), preempted = sym super::trap::preempted);

unsafe extern "C" {
    /// The vector table of `exception_entries!`; only its address counts.
    static exception_vectors: u8;
}

/// Tells the processor where the vectors are.
pub fn init() {
    VBAR_EL1.set(&raw const exception_vectors as u64);
    barrier::isb(barrier::SY);
}
