//! Single instructions and registers of the CPU: interrupt masks, waiting, clock, its number.

use core::arch::asm;

use aarch64_cpu::asm::{barrier, wfi};
use aarch64_cpu::registers::{
    CNTFRQ_EL0, CNTPCT_EL0, DAIF, MPIDR_EL1, Readable, TPIDR_EL1, Writeable,
};

/// Stops this CPU for ever, with interrupts masked.
pub fn halt() -> ! {
    DAIF.write(DAIF::D::Masked + DAIF::A::Masked + DAIF::I::Masked + DAIF::F::Masked);
    loop {
        wfi();
    }
}

/// Unmasks ordinary interrupts.
pub fn unmask_interrupts() {
    // SAFETY: every exception has a vector, whose trap code keeps all registers.
    unsafe { asm!("msr daifclr, #2", options(nostack, preserves_flags)) };
}

/// Masks ordinary interrupts.
pub fn mask_interrupts() {
    // SAFETY: changes only the interrupt mask.
    unsafe { asm!("msr daifset, #2", options(nostack, preserves_flags)) };
}

/// Whether ordinary interrupts are masked.
pub fn interrupts_are_masked() -> bool {
    DAIF.is_set(DAIF::I)
}

/// Unmasks everything but ordinary interrupts: FIQ, SError, debug exceptions.
pub fn unmask_urgent() {
    // SAFETY: every exception has a vector, whose trap code keeps all registers.
    unsafe { asm!("msr daifclr, #13", options(nostack, preserves_flags)) };
}

/// Masks everything that can be masked: debug exceptions, SError, IRQ, FIQ.
pub fn mask_all() {
    // SAFETY: changes only the interrupt mask.
    unsafe { asm!("msr daifset, #15", options(nostack, preserves_flags)) };
}

/// Waits for an interrupt and handles it. Called and returns with interrupts masked.
pub fn wait() {
    // A masked interrupt ends the wait too, so one that comes just before `wfi` is not missed.
    wfi();
    unmask_interrupts();
    mask_interrupts();
}

/// The value of the system counter, in ticks.
pub fn ticks() -> u64 {
    CNTPCT_EL0.get()
}

/// The frequency of the system counter in Hz, as set by firmware.
pub fn ticks_per_second() -> u64 {
    CNTFRQ_EL0.get()
}

/// Keeps the address of this CPU's [`Cpu`](crate::percpu::Cpu) in a register.
pub fn set_percpu(address: u64) {
    TPIDR_EL1.set(address);
}

/// This CPU's number, the first word of its [`Cpu`](crate::percpu::Cpu).
pub fn index() -> usize {
    // SAFETY: the boot code set the register to the address of an element of `CPUS`, whose first field is an `AtomicUsize`.
    unsafe { (TPIDR_EL1.get() as *const usize).read_volatile() }
}

/// This CPU's hardware number: the affinity fields of MPIDR_EL1.
pub fn hardware_id() -> u64 {
    MPIDR_EL1.get() & 0xff_00ff_ffff
}

/// Writes what caches have of this memory back, and lets them forget it: what a device reads there, and what it has written there before.
pub fn flush_cache(start: u64, length: u64) {
    /// Bytes of a line, on every supported core.
    const LINE: u64 = 64;
    let mut line = start & !(LINE - 1);
    while line < start + length {
        // SAFETY: a cache only holds copies of memory, which this writes back.
        unsafe { asm!("dc civac, {}", in(reg) line, options(nostack, preserves_flags)) };
        line += LINE;
    }
    barrier::dsb(barrier::SY);
}

/// Lets other CPUs, and their page table walks, see everything that was written before what follows.
pub fn publish() {
    barrier::dsb(barrier::ISHST);
}

/// Invalidates the TLBs of all CPUs.
pub fn flush_translations() {
    // SAFETY: a TLB only caches the page tables, and is filled from them again.
    unsafe { asm!("tlbi vmalle1is", options(nostack, preserves_flags)) };
    barrier::dsb(barrier::ISH);
    barrier::isb(barrier::SY);
}
