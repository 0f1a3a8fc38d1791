//! Offsets at which the kernel's own trap code saves registers that no row describes. On x86-64 the processor saves them, always in the
//! same way.

#[cfg(target_arch = "x86_64")]
use unwind::SavedRegister;

/// The saved registers for a walk.
#[cfg(target_arch = "x86_64")]
pub(super) const fn told() -> ([SavedRegister; 0], usize) {
    ([], 0)
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) use told::told;
#[cfg(not(target_arch = "x86_64"))]
pub use told::trap_frame;

#[cfg(not(target_arch = "x86_64"))]
mod told {
    use core::sync::atomic::{AtomicU32, Ordering};

    use unwind::SavedRegister;

    use crate::arch::{LR, SPSR};

    static PLACES: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
    /// Stored last; 0 until the kernel has set it.
    static SIZE: AtomicU32 = AtomicU32::new(0);

    /// Sets where trap code with unwind rows saves the link register and `SPSR_EL1` (`SPSR` on 32-bit ARM), for [`print`](crate::print) and
    /// its variants.
    ///
    /// `lr` and `spsr` are offsets in bytes from the stack pointer with which the trap code calls its handler; `size` is the number of
    /// bytes that the trap code has on the stack there.
    ///
    /// A trace across the trap code then ends at user code, and has the callers of an interrupted function that keeps its return address in
    /// the link register. Trap code without rows does not need this, because its handler passes the registers to
    /// [`print_from`](crate::print_from).
    ///
    /// Call it once, before any report. The values hold for all trap code of the kernel.
    pub fn trap_frame(lr: u32, spsr: u32, size: u32) {
        for (place, offset) in PLACES.iter().zip([lr, spsr]) {
            place.store(offset, Ordering::Relaxed);
        }
        SIZE.store(size, Ordering::Release);
    }

    /// The saved registers for a walk.
    pub(in super::super) fn told() -> ([SavedRegister; 3], usize) {
        let size = SIZE.load(Ordering::Acquire);
        let [lr, spsr] = PLACES.each_ref().map(|place| place.load(Ordering::Relaxed));
        let registers = [
            SavedRegister::new(LR, lr),
            SavedRegister::new(SPSR, spsr),
            SavedRegister::new(SavedRegister::END, size),
        ];
        (registers, if size == 0 { 0 } else { 3 })
    }
}
