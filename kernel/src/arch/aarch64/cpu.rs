//! The processor itself.

use core::arch::asm;

use aarch64_cpu::asm::{barrier, wfi};
use aarch64_cpu::registers::{DAIF, Writeable};

/// Stops this processor for good.
pub fn halt() -> ! {
    DAIF.write(DAIF::D::Masked + DAIF::A::Masked + DAIF::I::Masked + DAIF::F::Masked);
    loop {
        wfi();
    }
}

/// Makes every processor forget translations that came from older tables.
pub fn flush_translations() {
    // SAFETY: translations are found again in the tables.
    unsafe { asm!("tlbi vmalle1is", options(nostack, preserves_flags)) };
    barrier::dsb(barrier::ISH);
    barrier::isb(barrier::SY);
}
