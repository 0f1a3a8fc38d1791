//! Single instructions and registers of the CPU: interrupt masks, waiting, clock, its number.

use core::arch::asm;

use aarch32_cpu::asm::{dsb, isb, wfi};
use aarch32_cpu::register::{Cpsr, Mpidr, Tpidrprw};

/// Stops this CPU for ever, with interrupts masked.
pub fn halt() -> ! {
    mask_all();
    loop {
        wfi();
    }
}

/// Unmasks ordinary interrupts.
pub fn unmask_interrupts() {
    // SAFETY: every exception has a vector, whose trap code keeps all registers.
    unsafe { aarch32_cpu::interrupt::enable() };
}

/// Masks ordinary interrupts.
pub fn mask_interrupts() {
    aarch32_cpu::interrupt::disable();
}

/// Whether ordinary interrupts are masked.
pub fn interrupts_are_masked() -> bool {
    Cpsr::read().i()
}

/// Unmasks everything but ordinary interrupts: FIQs, asynchronous aborts.
pub fn unmask_urgent() {
    // SAFETY: every exception has a vector, whose trap code keeps all registers.
    unsafe { asm!("cpsie af", options(nostack, preserves_flags)) };
}

/// Masks everything that can be masked: asynchronous aborts, IRQs, FIQs.
pub fn mask_all() {
    // SAFETY: changes only the interrupt mask.
    unsafe { asm!("cpsid aif", options(nostack, preserves_flags)) };
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
    super::timer::ticks()
}

/// The frequency of the system counter in Hz, as set by firmware.
pub fn ticks_per_second() -> u64 {
    super::timer::frequency()
}

/// Keeps the address of this CPU's [`Cpu`](crate::percpu::Cpu) in a register.
pub fn set_percpu(address: u64) {
    // SAFETY: the register has no meaning but the one that this kernel gives it.
    unsafe { Tpidrprw::write(Tpidrprw(address as u32)) };
}

/// This CPU's number, the first word of its [`Cpu`](crate::percpu::Cpu).
pub fn index() -> usize {
    // SAFETY: the boot code set the register to the address of an element of `CPUS`, whose first field is an `AtomicUsize`.
    unsafe { (Tpidrprw::read().0 as *const usize).read_volatile() }
}

/// This CPU's hardware number: the affinity fields of MPIDR.
pub fn hardware_id() -> u64 {
    u64::from(Mpidr::read().0 & 0x00ff_ffff)
}

/// Lets other CPUs, and their page table walks, see everything that was written before what follows.
pub fn publish() {
    dsb();
}

/// Invalidates the TLBs of all CPUs.
pub fn flush_translations() {
    // TLBIALLIS. SAFETY: a TLB only caches the page tables, and is filled from them again.
    unsafe {
        asm!("mcr p15, 0, {zero}, c8, c3, 0", zero = in(reg) 0, options(nostack, preserves_flags))
    };
    dsb();
    isb();
}
