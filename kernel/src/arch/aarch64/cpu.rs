//! The processor itself.

use core::arch::asm;

use aarch64_cpu::asm::{barrier, wfi};
use aarch64_cpu::registers::{
    CNTFRQ_EL0, CNTPCT_EL0, DAIF, MPIDR_EL1, Readable, TPIDR_EL1, Writeable,
};

/// Stops this processor for good.
pub fn halt() -> ! {
    DAIF.write(DAIF::D::Masked + DAIF::A::Masked + DAIF::I::Masked + DAIF::F::Masked);
    loop {
        wfi();
    }
}

/// Lets ordinary interrupts come.
pub fn unmask_interrupts() {
    // SAFETY: they have vectors.
    unsafe { asm!("msr daifclr, #2", options(nostack, preserves_flags)) };
}

/// Keeps ordinary interrupts away.
pub fn mask_interrupts() {
    // SAFETY: changes nothing else.
    unsafe { asm!("msr daifset, #2", options(nostack, preserves_flags)) };
}

/// Whether ordinary interrupts are kept away.
pub fn interrupts_are_masked() -> bool {
    DAIF.is_set(DAIF::I)
}

/// Lets everything else come that is masked in a processor that was reset: FIQ, SError, debug exceptions.
pub fn unmask_urgent() {
    // SAFETY: they have vectors.
    unsafe { asm!("msr daifclr, #13", options(nostack, preserves_flags)) };
}

/// Keeps everything away that can be.
pub fn mask_all() {
    // SAFETY: changes nothing else.
    unsafe { asm!("msr daifset, #15", options(nostack, preserves_flags)) };
}

/// Waits for an interrupt, and lets it come. Called with interrupts masked.
pub fn wait() {
    // An interrupt ends the wait also while it is masked, so none is missed that comes before it.
    wfi();
    unmask_interrupts();
    mask_interrupts();
}

/// What the system's clock shows.
pub fn ticks() -> u64 {
    CNTPCT_EL0.get()
}

/// How fast it goes, as firmware says.
pub fn ticks_per_second() -> u64 {
    CNTFRQ_EL0.get()
}

/// Remembers where this processor's [`Cpu`](crate::percpu::Cpu) is.
pub fn set_block(address: u64) {
    TPIDR_EL1.set(address);
}

/// This processor's number, the first word of its [`Cpu`](crate::percpu::Cpu).
pub fn index() -> usize {
    // SAFETY: `set_block` was called before anything else.
    unsafe { (TPIDR_EL1.get() as *const usize).read_volatile() }
}

/// The number by which firmware knows this processor: the affinity fields.
pub fn hardware_id() -> u64 {
    MPIDR_EL1.get() & 0xff_00ff_ffff
}

/// Makes every processor forget translations that came from older tables.
pub fn flush_translations() {
    // SAFETY: translations are found again in the tables.
    unsafe { asm!("tlbi vmalle1is", options(nostack, preserves_flags)) };
    barrier::dsb(barrier::ISH);
    barrier::isb(barrier::SY);
}
