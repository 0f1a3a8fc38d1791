//! Where the kernel's own trap code saves what no row can tell. On x86-64 the processor saves that, always in the same way.

#[cfg(target_arch = "x86_64")]
use unwind::SavedRegister;

/// What a walk is told.
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
    /// Stored last: 0 until it is told.
    static SIZE: AtomicU32 = AtomicU32::new(0);

    /// Tells [`print`](crate::print) where trap code that has unwind rows saves the link register and `SPSR_EL1` (of 32 bits `SPSR`), and how many bytes it has on the
    /// stack in all, from its stack pointer on when it calls the handler. Then a trace across it tells user code, where it ends, from
    /// the kernel's; and the callers of an interrupted function that has left its return address in the link register. Trap code without rows
    /// needs no such thing, as its handler passes registers: [`print_from`](crate::print_from).
    ///
    /// It is told once, before there are reports, and is the same for all trap code.
    pub fn trap_frame(lr: u32, spsr: u32, size: u32) {
        for (place, offset) in PLACES.iter().zip([lr, spsr]) {
            place.store(offset, Ordering::Relaxed);
        }
        SIZE.store(size, Ordering::Release);
    }

    /// What a walk is told.
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
