//! The smallest report: registers and the words of the stack, from which the host makes the trace.

use core::ffi::c_char;

use crate::out::{Out, PutChar, Text};
use crate::registers::Registers;

/// Writes registers and the stack of the caller.
///
/// # Safety
/// The caller must guarantee the conditions of [`unwind_print`](crate::unwind_print).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unwind_print_stack(put_char: PutChar, why: *const c_char) {
    // SAFETY: the caller guarantees it.
    let (mut out, why) = unsafe { (Out::new(put_char), Text::new(why)) };
    postmortem::print_stack(&mut out, &why);
}

/// Writes registers and the stack of interrupted code.
///
/// # Safety
/// The caller must guarantee the conditions of [`unwind_fault`](crate::unwind_fault).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unwind_fault_stack(
    put_char: PutChar,
    why: *const c_char,
    interrupted: *const Registers,
) {
    // SAFETY: the caller guarantees it.
    let (mut out, why, interrupted) =
        unsafe { (Out::new(put_char), Text::new(why), interrupted.as_ref()) };
    match interrupted {
        Some(registers) => postmortem::print_stack_from(&mut out, &why, registers.known()),
        None => postmortem::print_stack(&mut out, &why),
    }
}
