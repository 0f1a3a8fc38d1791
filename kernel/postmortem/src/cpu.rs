//! Access to the CPU that this code runs on, without the kernel: hardware number, counter, interrupt masks, halting.

#[cfg(all(target_os = "none", target_arch = "x86_64"))]
use crate::arch::{DebugState, restore_debug_state, save_debug_state};
#[cfg(target_os = "none")]
use crate::arch::{Unmasked, unmask};
#[cfg(target_os = "none")]
pub(crate) use crate::arch::{halt, hardware_number, mask, publish, time};

#[cfg(not(target_os = "none"))]
use host::{Unmasked, unmask};
#[cfg(not(target_os = "none"))]
pub(crate) use host::{halt, hardware_number, mask, publish, time};

/// A guard: ordinary interrupts and late reports of errors are masked on this CPU. When the guard is dropped, the masks are as they were before.
#[derive(Debug)]
pub(crate) struct Masked(Unmasked);

impl Masked {
    pub(crate) fn new() -> Self {
        Self(mask())
    }
}

impl Drop for Masked {
    fn drop(&mut self) {
        unmask(&self.0);
    }
}

/// A guard: interrupts and watchpoints do not disturb a report. When the guard is dropped, registers that a report changes are as they were before.
#[derive(Debug)]
pub(crate) struct Undisturbed {
    #[cfg(all(target_os = "none", target_arch = "x86_64"))]
    debug_state: DebugState,
    _masked: Masked,
}

impl Undisturbed {
    pub(crate) fn new() -> Self {
        Self {
            _masked: Masked::new(),
            #[cfg(all(target_os = "none", target_arch = "x86_64"))]
            debug_state: save_debug_state(),
        }
    }
}

#[cfg(all(target_os = "none", target_arch = "x86_64"))]
impl Drop for Undisturbed {
    fn drop(&mut self) {
        restore_debug_state(&self.debug_state);
    }
}

/// A thread is a CPU.
#[cfg(not(target_os = "none"))]
mod host {
    use core::time::Duration;

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

    #[derive(Debug)]
    pub(crate) struct Unmasked;

    pub(crate) const fn mask() -> Unmasked {
        Unmasked
    }

    pub(crate) const fn unmask(_: &Unmasked) {}

    pub(crate) const fn publish() {}

    /// A clock that runs faster than the host's, so that tests of waits do not take seconds.
    #[cfg(test)]
    pub(crate) fn time() -> Option<Duration> {
        std::thread_local!(static LOOKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) });
        let looks = LOOKS.with(|looks| looks.replace(looks.get() + 1));
        std::thread::yield_now();
        Some(Duration::from_micros(100 * looks))
    }

    #[cfg(not(test))]
    pub(crate) const fn time() -> Option<Duration> {
        None
    }

    pub(crate) fn halt() -> ! {
        loop {
            #[cfg(test)]
            std::thread::park();
            core::hint::spin_loop();
        }
    }
}
