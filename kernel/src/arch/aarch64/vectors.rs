//! Where the processor finds what to do when an exception comes.

use core::arch::global_asm;

use aarch64_cpu::asm::barrier;
use aarch64_cpu::registers::{VBAR_EL1, Writeable};

global_asm!(
    include_str!("vectors.s"),
    handler = sym super::trap::exception,
    preempted = sym super::trap::preempted,
    stacks = sym super::stacks::EXCEPTION,
    elr = const unwind::aarch64::ELR,
    sp_el0 = const unwind::aarch64::SP_EL0,
    stacks_shift = const size_of_val(&super::stacks::EXCEPTION).ilog2(),
);

unsafe extern "C" {
    /// The vector table in vectors.s; only its address counts.
    static exception_vectors: u8;
}

/// Tells the processor where the vectors are.
pub fn init() {
    VBAR_EL1.set(&raw const exception_vectors as u64);
    barrier::isb(barrier::SY);
}
