//! Reports of [`postmortem`] from one function call, for kernels in C and in other languages that call C functions.
//! `include/unwind_kernel.h` declares the functions, and documents what each needs.
#![no_std]
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod cpus;
mod out;
mod panic;
mod registers;
mod smallest;
mod told;

use core::ffi::c_char;

use out::{Out, PutChar, Text};
use registers::Registers;

/// Writes a report of the callers of this function.
///
/// # Safety
/// The caller must guarantee that `why` is null or a text that ends with a zero byte, and that `put_char` can be called as long as the
/// kernel runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unwind_print(put_char: PutChar, why: *const c_char) {
    // SAFETY: the caller guarantees it.
    let (mut out, why) = unsafe { (Out::new(put_char), Text::new(why)) };
    postmortem::print(&mut out, &why);
}

/// Writes a report of the code that the calling handler has interrupted.
///
/// # Safety
/// The caller must guarantee the conditions of [`unwind_print`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unwind_print_interrupted(put_char: PutChar, why: *const c_char) {
    // SAFETY: the caller guarantees it.
    let (mut out, why) = unsafe { (Out::new(put_char), Text::new(why)) };
    postmortem::print_interrupted(&mut out, &why);
}

/// Writes a report of the interrupted code with these registers.
///
/// # Safety
/// The caller must guarantee the conditions of [`unwind_print`], and that `interrupted` is null or points to registers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unwind_fault(
    put_char: PutChar,
    why: *const c_char,
    interrupted: *const Registers,
) {
    // SAFETY: the caller guarantees it.
    let (mut out, why, interrupted) =
        unsafe { (Out::new(put_char), Text::new(why), interrupted.as_ref()) };
    match interrupted {
        Some(registers) => postmortem::print_from(&mut out, &why, registers.known()),
        None => postmortem::print(&mut out, &why),
    }
}
