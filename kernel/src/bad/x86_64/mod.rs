//! Instructions and functions that fail, for scenarios.

use core::arch::{asm, global_asm};

use x86_64::instructions::tables::lidt;
use x86_64::registers::control::{Cr3, Cr3Flags};
use x86_64::structures::DescriptorTablePointer;
use x86_64::structures::paging::PhysFrame;
use x86_64::{PhysAddr, VirtAddr};

use crate::arch::mmu::HIGH;
use crate::page_table::Table;

global_asm!(include_str!("bad.s"), include_str!("lies.s"));

/// Reads a word. The compiler cannot see the access in the assembly, so it does not remove it.
///
/// # Safety
/// The read fails, or has no effect: no device register with side effects is at the address.
#[inline(always)]
pub unsafe fn read(address: u64) -> u64 {
    let word;
    // SAFETY: the caller says that the read fails or has no effect.
    unsafe { asm!("mov {}, [{}]", out(reg) word, in(reg) address, options(nostack, readonly)) };
    word
}

/// Writes a zero word.
///
/// # Safety
/// The word is not writable, or is not in use.
#[inline(always)]
pub unsafe fn write(address: u64) {
    // SAFETY: the caller says that the word is not writable or not in use.
    unsafe { asm!("mov qword ptr [{}], 0", in(reg) address, options(nostack)) };
}

/// Calls an address without code, or with code that does not return.
///
/// # Safety
/// There is no code at the address, or it changes nothing.
#[inline(always)]
pub unsafe fn call(address: u64) {
    // SAFETY: the caller says that there is no code, so that the call raises an exception, or that the code changes nothing.
    unsafe { asm!("call {}", in(reg) address, clobber_abi("C")) };
}

/// Executes an undefined instruction.
#[inline(always)]
pub fn undefined() {
    // SAFETY: raises an exception, whose handler does not return.
    unsafe { asm!("ud2", options(nomem, nostack)) };
}

/// Loops in one instruction, until a handler changes the saved program counter.
#[inline(always)]
pub fn stay() {
    // SAFETY: a jump to itself changes nothing.
    unsafe { asm!("77: jmp 77b", options(nomem, nostack)) };
}

/// The bytes of the instruction of [`stay`].
pub const STAY: &[&[u8]] = &[&[0xeb, 0xfe]];

/// Executes a breakpoint instruction.
#[inline(always)]
pub fn breakpoint() {
    // SAFETY: raises an exception, whose handler keeps all registers.
    unsafe { asm!("int3", options(nostack)) };
}

/// Divides without a check of the divisor.
#[inline(always)]
pub fn divide(dividend: u64, divisor: u64) -> u64 {
    let quotient;
    // SAFETY: changes only its operands, or raises an exception.
    unsafe {
        asm!("div {}", in(reg) divisor, inout("rax") dividend => quotient, inout("rdx") 0_u64 => _, options(nomem, nostack));
    }
    quotient
}

/// Makes an access that must be aligned: the only one without SSE, as ordinary ones need not be.
///
/// # Safety
/// The address is misaligned.
#[inline(always)]
pub unsafe fn aligned(address: u64) {
    // SAFETY: the caller says that the address is misaligned, so the access raises an exception. rbx, which the instruction
    // uses and LLVM reserves, is restored after it.
    unsafe {
        asm!(
            "xchg rbx, {saved}",
            "lock cmpxchg16b [{address}]",
            "xchg rbx, {saved}",
            saved = inout(reg) 0_u64 => _,
            address = in(reg) address,
            inout("rax") 0_u64 => _,
            inout("rcx") 0_u64 => _,
            inout("rdx") 0_u64 => _,
            options(nostack)
        );
    }
}

/// An address that is not canonical: bits 63 to 48 differ from bit 47.
pub const NOT_CANONICAL: u64 = 0x1234_5678_9abc_def0;

/// Forgets where the vectors of exceptions are.
///
/// # Safety
/// The next exception resets the machine.
pub unsafe fn forget_vectors() {
    let nowhere = DescriptorTablePointer {
        limit: 0,
        base: VirtAddr::zero(),
    };
    // SAFETY: as the caller says.
    unsafe { lidt(&nowhere) };
}

/// Has this CPU use page tables that map nothing.
///
/// # Safety
/// The next instruction resets the machine.
pub unsafe fn forget_tables() {
    static EMPTY: Table = Table::new();
    let root = PhysFrame::containing_address(PhysAddr::new(EMPTY.address() - HIGH));
    // SAFETY: as the caller says.
    unsafe { Cr3::write(root, Cr3Flags::empty()) };
}

/// From now on a read or write of the 8 bytes at this address raises a debug exception. Manual: volume 3, 19.2 "Debug Registers".
pub fn watch(address: u64) {
    const ENABLED: u64 = 1;
    const READS_AND_WRITES: u64 = 0b11 << 16;
    const EIGHT_BYTES: u64 = 0b10 << 18;
    const ALWAYS: u64 = 1 << 10;
    let control = ALWAYS | EIGHT_BYTES | READS_AND_WRITES | ENABLED;
    // SAFETY: raises exceptions, whose handler keeps all registers.
    unsafe {
        asm!("mov dr0, {}", "mov dr7, {}", in(reg) address, in(reg) control,
            options(nostack, preserves_flags));
    }
}
