//! The processor itself.

use core::arch::asm;

use x86_64::VirtAddr;
use x86_64::instructions::{hlt, interrupts};
use x86_64::registers::model_specific::GsBase;

/// Lets ordinary interrupts come.
pub fn unmask_interrupts() {
    interrupts::enable();
}

/// Keeps ordinary interrupts away.
pub fn mask_interrupts() {
    interrupts::disable();
}

/// Whether ordinary interrupts are kept away.
pub fn interrupts_are_masked() -> bool {
    !interrupts::are_enabled()
}

/// Stops this processor for good.
pub fn halt() -> ! {
    interrupts::disable();
    loop {
        hlt();
    }
}

/// Waits for an interrupt, and lets it come. Called with interrupts masked.
pub fn wait() {
    interrupts::enable_and_hlt();
    interrupts::disable();
}

/// What the processor's own clock shows.
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 has it, and the kernel may read it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// How fast it goes, at most: few processors say it, and it only bounds waits here.
pub fn ticks_per_second() -> u64 {
    4_000_000_000
}

/// Remembers where this processor's [`Cpu`](crate::percpu::Cpu) is.
pub fn set_block(address: u64) {
    GsBase::write(VirtAddr::new(address));
}

/// This processor's number, the first word of its [`Cpu`](crate::percpu::Cpu).
pub fn index() -> usize {
    let index;
    // SAFETY: `set_block` was called before anything else.
    unsafe { asm!("mov {}, gs:[0]", out(reg) index, options(nostack, readonly, preserves_flags)) };
    index
}

/// The number by which interrupt controllers know this processor: its APIC ID.
pub fn hardware_id() -> u64 {
    u64::from(super::interrupts::id())
}
