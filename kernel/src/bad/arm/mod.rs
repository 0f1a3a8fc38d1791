//! Instructions and functions that fail, for scenarios.

use core::arch::{asm, global_asm};

global_asm!(include_str!("bad.s"), options(raw));
global_asm!(include_str!("lies.s"), options(raw));

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

/// The bytes of the instruction of [`stay`](super::stay): in ARM code, and in Thumb code.
pub const STAY: &[&[u8]] = &[&0xeaff_fffe_u32.to_le_bytes(), &0xe7fe_u16.to_le_bytes()];

/// Executes a breakpoint instruction.
#[inline(always)]
pub fn breakpoint() {
    // SAFETY: raises an exception, whose handler keeps all registers.
    unsafe { asm!("bkpt #1", options(nostack)) };
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

/// Forgets where the vectors of exceptions are.
///
/// # Safety
/// The next exception is entered where nothing is mapped, again and again.
pub unsafe fn forget_vectors() {
    // SAFETY: as the caller says. The register is VBAR.
    unsafe {
        asm!("mcr p15, 0, {zero}, c12, c0, 0", "isb", zero = in(reg) 0, options(nomem, nostack))
    };
}

/// Has this CPU use no page tables.
///
/// # Safety
/// Neither this program nor a vector goes on.
pub unsafe fn forget_tables() {
    // SAFETY: as the caller says. The bit is EPD0 of TTBCR; then TLBIALL.
    unsafe {
        asm!(
            "mrc p15, 0, {control}, c2, c0, 2",
            "orr {control}, {control}, #(1 << 7)",
            "mcr p15, 0, {control}, c2, c0, 2",
            "isb",
            "mcr p15, 0, {control}, c8, c7, 0",
            "dsb",
            "isb",
            control = out(reg) _,
            options(nostack)
        );
    }
}
