//! Other CPUs in the report of a failure that ends the kernel.

use crate::registers::Registers;

/// C's `void (*)(void)`, which may be null.
type Stop = Option<unsafe extern "C" fn()>;

/// Stops all other CPUs forever. A null pointer stops none, and changes nothing.
///
/// # Safety
/// The caller must guarantee the conditions of [`postmortem::stop_others`], and that the function can be called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unwind_stop_others(stop: Stop, others: u32) {
    if let Some(stop) = stop {
        // SAFETY: the caller guarantees it.
        unsafe { postmortem::stop_others(|| stop(), others as usize) };
    }
}

/// Halts this CPU forever if another CPU has stopped it. Without registers (null), unwind rules lead from the handler to the interrupted
/// code.
///
/// # Safety
/// The caller must guarantee that `interrupted` is null or points to registers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unwind_stop_if_asked(interrupted: *const Registers) {
    // SAFETY: the caller guarantees it.
    match unsafe { interrupted.as_ref() } {
        Some(registers) => postmortem::stop_if_asked_from(registers.known()),
        None => postmortem::stop_if_asked(),
    }
}
