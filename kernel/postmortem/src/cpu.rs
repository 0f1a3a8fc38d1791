//! The CPU that this code runs on, for reports in a kernel that numbers none: its hardware number, and how it stops.

#[cfg(target_os = "none")]
pub(crate) use crate::arch::{halt, hardware_number, mask_interrupts, publish};

#[cfg(not(target_os = "none"))]
pub(crate) use host::{halt, hardware_number, mask_interrupts, publish};

/// A thread is a CPU.
#[cfg(not(target_os = "none"))]
mod host {
    #[cfg(test)]
    pub(crate) fn hardware_number() -> u32 {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        std::thread_local!(static OWN: u32 = NEXT.fetch_add(1, Ordering::Relaxed));
        OWN.with(|own| *own)
    }

    #[cfg(not(test))]
    pub(crate) const fn hardware_number() -> u32 {
        0
    }

    pub(crate) const fn mask_interrupts() {}

    pub(crate) const fn publish() {}

    pub(crate) fn halt() -> ! {
        loop {
            #[cfg(test)]
            std::thread::park();
            core::hint::spin_loop();
        }
    }
}
