//! Instructions and functions that fail, for scenarios.

use core::arch::{asm, global_asm};

global_asm!(include_str!("bad.s"), include_str!("lies.s"));

/// Reads a word. The compiler cannot see the access in the assembly, so it does not remove it.
///
/// # Safety
/// The read fails, or has no effect: no device register with side effects is at the address.
#[inline(always)]
pub unsafe fn read(address: u64) -> u64 {
    let word;
    // SAFETY: the caller says that the read fails or has no effect.
    unsafe { asm!("ldr {}, [{}]", out(reg) word, in(reg) address, options(nostack, readonly)) };
    word
}

/// Writes a zero word.
///
/// # Safety
/// The word is not writable, or is not in use.
#[inline(always)]
pub unsafe fn write(address: u64) {
    // SAFETY: the caller says that the word is not writable or not in use.
    unsafe { asm!("str xzr, [{}]", in(reg) address, options(nostack)) };
}

/// Calls an address without code, or with code that does not return.
///
/// # Safety
/// There is no code at the address, or it changes nothing.
#[inline(always)]
pub unsafe fn call(address: u64) {
    // SAFETY: the caller says that there is no code, so that the call raises an exception, or that the code changes nothing.
    unsafe { asm!("blr {}", in(reg) address, clobber_abi("C")) };
}

/// The bytes of the instruction of [`stay`](super::stay).
pub const STAY: &[&[u8]] = &[&0x1400_0000_u32.to_le_bytes()];

/// Executes a breakpoint instruction.
#[inline(always)]
pub fn breakpoint() {
    // SAFETY: raises an exception, whose handler keeps all registers.
    unsafe { asm!("brk #0", options(nostack)) };
}

/// Makes an access that must be aligned, unlike ordinary ones.
///
/// # Safety
/// The address is misaligned.
#[inline(always)]
pub unsafe fn aligned(address: u64) {
    // SAFETY: the caller says that the address is misaligned, so the access raises an exception.
    unsafe { asm!("ldaxr {}, [{}]", out(reg) _, in(reg) address, options(nostack, readonly)) };
}

/// An address in neither half of the address space: bits 63 to 48 are not all the same.
pub const NOT_CANONICAL: u64 = 0x1234_5678_9abc_def0;

/// Forgets where the vectors of exceptions are.
///
/// # Safety
/// The next exception is entered where nothing is mapped, again and again.
pub unsafe fn forget_vectors() {
    // SAFETY: as the caller says.
    unsafe { asm!("msr vbar_el1, xzr", "isb", options(nomem, nostack)) };
}

/// Has this CPU use no page tables for the upper half of addresses, in which the kernel is.
///
/// # Safety
/// Neither this program nor a vector goes on.
pub unsafe fn forget_tables() {
    // SAFETY: as the caller says. The bit is TCR_EL1.EPD1.
    unsafe {
        asm!(
            "mrs {control}, tcr_el1",
            "orr {control}, {control}, #(1 << 23)",
            "msr tcr_el1, {control}",
            "isb",
            "tlbi vmalle1",
            "dsb nsh",
            "isb",
            control = out(reg) _,
            options(nostack)
        );
    }
}

/// From now on a read or write of the 8 bytes at this address raises a watchpoint exception. Manual: D2.10 "Watchpoint exceptions".
pub fn watch(address: u64) {
    const ENABLED: u64 = 1;
    const EL1: u64 = 0b01 << 1;
    const READS_AND_WRITES: u64 = 0b11 << 3;
    const EIGHT_BYTES: u64 = 0xff << 5;
    const KERNEL: u64 = 1 << 13;
    const MONITOR: u64 = 1 << 15;
    let control = EIGHT_BYTES | READS_AND_WRITES | EL1 | ENABLED;
    // SAFETY: raises exceptions, whose handler keeps all registers. Clears the lock of these registers and the mask of such exceptions.
    unsafe {
        asm!(
            "msr oslar_el1, xzr",
            "msr dbgwvr0_el1, {address}",
            "msr dbgwcr0_el1, {control}",
            "msr mdscr_el1, {enabled}",
            "isb",
            "msr daifclr, #8",
            address = in(reg) address,
            control = in(reg) control,
            enabled = in(reg) MONITOR | KERNEL,
            options(nostack, preserves_flags)
        );
    }
}
