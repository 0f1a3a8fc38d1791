//! Instructions and functions that fail, for scenarios.

use core::arch::{asm, global_asm};

global_asm!(include_str!("bad.s"), options(raw));

/// Reads a word. The compiler cannot see the access in the assembly, so it does not remove it.
///
/// # Safety
/// The read fails, or has no effect: no device register with side effects is at the address.
#[inline(always)]
pub unsafe fn read(address: u64) -> u64 {
    let word: u32;
    // SAFETY: the caller says that the read fails or has no effect.
    unsafe {
        asm!("ldr {}, [{}]", out(reg) word, in(reg) address as u32, options(nostack, readonly));
    }
    word.into()
}

/// Writes a zero word.
///
/// # Safety
/// The word is not writable, or is not in use.
#[inline(always)]
pub unsafe fn write(address: u64) {
    // SAFETY: the caller says that the word is not writable or not in use.
    unsafe { asm!("str {}, [{}]", in(reg) 0, in(reg) address as u32, options(nostack)) };
}

/// Calls an address without code, or with code that does not return.
///
/// # Safety
/// There is no code at the address, or it changes nothing.
#[inline(always)]
pub unsafe fn call(address: u64) {
    // SAFETY: the caller says that there is no code, so that the call raises an exception, or that the code changes nothing.
    unsafe {
        asm!(
            "blx r0",
            inout("r0") address as u32 => _,
            out("r1") _,
            out("r2") _,
            out("r3") _,
            out("r12") _,
            out("lr") _,
        );
    }
}

/// Executes an undefined instruction.
#[inline(always)]
pub fn undefined() {
    // SAFETY: raises an exception, whose handler does not return.
    unsafe { asm!("udf #0", options(nomem, nostack)) };
}

/// Loops in one instruction, until a handler changes the saved program counter.
#[inline(always)]
pub fn stay() {
    // SAFETY: a jump to itself changes nothing.
    unsafe { asm!("b .", options(nomem, nostack)) };
}

/// The bytes of the instruction of [`stay`], in ARM code.
pub const STAY: [u8; 4] = 0xeaff_fffe_u32.to_le_bytes();

/// Executes a breakpoint instruction.
#[inline(always)]
pub fn breakpoint() {
    // SAFETY: raises an exception, whose handler keeps all registers.
    unsafe { asm!("bkpt #1", options(nostack)) };
}

/// Divides. The CPU raises no exception for a zero divisor, so Rust checks it, and panics.
#[inline(always)]
pub fn divide(dividend: u64, divisor: u64) -> u64 {
    dividend / divisor
}

/// Makes an access that must be aligned, unlike ordinary ones.
///
/// # Safety
/// The address is misaligned.
#[inline(always)]
pub unsafe fn aligned(address: u64) {
    // SAFETY: the caller says that the address is misaligned, so the access raises an exception.
    unsafe {
        asm!("ldrex {}, [{}]", out(reg) _, in(reg) address as u32, options(nostack, readonly));
    }
}
