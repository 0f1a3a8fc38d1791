//! Other CPUs in the report of a failure that ends the kernel.

use crate::registers::Registers;

/// C's `void (*)(void)`, which may be null.
type Stop = Option<unsafe extern "C" fn()>;

/// Stops all other CPUs for ever. A null pointer stops none, and changes nothing.
///
/// # Safety
/// That of [`postmortem::stop_others`]; and the function can be called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unwind_stop_others(stop: Stop, others: u32) {
    if let Some(stop) = stop {
        // SAFETY: the caller's promise.
        unsafe { postmortem::stop_others(|| stop(), others as usize) };
    }
}

/// Never returns if another CPU has stopped this one. Without registers (null), unwind rules lead from the handler to what it has
/// interrupted.
///
/// # Safety
/// `interrupted` is null or points to registers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unwind_stop_if_asked(interrupted: *const Registers) {
    // SAFETY: the caller's promise.
    match unsafe { interrupted.as_ref() } {
        Some(registers) => postmortem::stop_if_asked_from(registers.known()),
        None => postmortem::stop_if_asked(),
    }
}
