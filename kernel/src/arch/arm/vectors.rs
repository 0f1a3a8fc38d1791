//! The exception vectors, and where their trap code finds room for a frame.

use core::arch::global_asm;

use aarch32_cpu::asm::isb;
use aarch32_cpu::register::Vbar;

use super::{cpu, stacks};

postmortem::exception_entries!(
    crate::arch::arms::trap::exception,
    // The field `overflow_stack` of this CPU's `Cpu`, to which TPIDRPRW points.
    overflow_stack: "
    mrc p15, 0, r1, c13, c0, 4
    ldr r1, [r1, #8]
    ",
);
global_asm!(include_str!("preempted.s"), preempted = sym crate::arch::arms::trap::preempted);

unsafe extern "C" {
    /// The vector table, which `exception_entries!` defines. It has no value, only an address.
    static exception_vectors: u8;
}

/// Makes this CPU use the vectors.
pub fn init() {
    // SAFETY: each CPU has words of its own, by its number; the kernel is in system mode, and uses no mode of exceptions but supervisor's.
    unsafe { stacks::SCRATCH[cpu::index()].load() };
    // SAFETY: the vectors keep all registers of what they interrupt.
    unsafe { Vbar::write(Vbar(&raw const exception_vectors as u32)) };
    isb();
}
