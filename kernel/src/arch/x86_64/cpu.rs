//! Single instructions and registers of the CPU: interrupt masks, waiting, clock, its number.

use core::arch::asm;

use x86_64::VirtAddr;
use x86_64::instructions::{hlt, interrupts};
use x86_64::registers::model_specific::GsBase;

/// Unmasks ordinary interrupts.
pub fn unmask_interrupts() {
    interrupts::enable();
}

/// Masks ordinary interrupts.
pub fn mask_interrupts() {
    interrupts::disable();
}

/// Whether ordinary interrupts are masked.
pub fn interrupts_are_masked() -> bool {
    !interrupts::are_enabled()
}

/// Stops this CPU for ever, with interrupts masked.
pub fn halt() -> ! {
    interrupts::disable();
    loop {
        hlt();
    }
}

/// Waits for an interrupt and handles it. Called and returns with interrupts masked.
pub fn wait() {
    interrupts::enable_and_hlt();
    interrupts::disable();
}

/// The value of this CPU's time-stamp counter, in ticks.
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 CPU has the counter, and ring 0 may read it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// An upper bound of the counter's frequency in Hz. Few CPUs tell the real one, and it only bounds waits here.
pub fn ticks_per_second() -> u64 {
    4_000_000_000
}

/// Keeps the address of this CPU's [`Cpu`](crate::percpu::Cpu) in a register.
pub fn set_percpu(address: u64) {
    GsBase::write(VirtAddr::new(address));
}

/// This CPU's number, the first word of its [`Cpu`](crate::percpu::Cpu).
pub fn index() -> usize {
    let index;
    // SAFETY: the boot code set the GS base to the address of an element of `CPUS`, whose first field is an `AtomicUsize`.
    unsafe { asm!("mov {}, gs:[0]", out(reg) index, options(nostack, readonly, preserves_flags)) };
    index
}

/// This CPU's hardware number: its APIC ID.
pub fn hardware_id() -> u64 {
    u64::from(super::interrupts::id())
}
