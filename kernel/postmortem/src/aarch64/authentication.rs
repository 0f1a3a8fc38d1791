//! Signed return addresses: which of their bits this CPU signs. Manual: D8.8 "Pointer authentication".

use super::Registers;

/// SCTLR_EL1: instructions sign with key A, or with key B.
#[cfg(target_os = "none")]
const SIGNS: u64 = 1 << 31 | 1 << 30;

/// Bit 55 of an address: the half of the address space, which is never signed.
#[cfg(target_os = "none")]
const HALF: u64 = 1 << 55;

/// The registers, with the bits in which return addresses of this CPU may be signed.
#[cfg(target_os = "none")]
pub(crate) fn for_walk(registers: Registers) -> Registers {
    let sctlr: u64;
    // SAFETY: only reads a register, of the exception level that kernels run at.
    unsafe {
        core::arch::asm!("mrs {}, sctlr_el1", out(reg) sctlr, options(nomem, nostack, preserves_flags));
    }
    // Nothing is signed. The walk must not strip any bits then: an address whose upper bits are neither all set nor all clear is
    // damaged, and stripped it would pass for a return address.
    if sctlr & SIGNS == 0 {
        return registers;
    }
    // The two halves may sign other bits. All bits that may be signed are the other half's.
    let is_upper = registers.pc & HALF != 0;
    let probe = if is_upper { HALF } else { !HALF };
    let stripped: u64;
    // SAFETY: `xpaclri` removes the signature from `x30`, and does nothing on a CPU without pointer authentication.
    unsafe {
        core::arch::asm!("hint #7", inout("x30") probe => stripped, options(nomem, nostack, preserves_flags));
    }
    registers.with_authentication_bits(probe ^ stripped)
}

/// On a host nothing is known of the CPU.
#[cfg(not(target_os = "none"))]
pub(crate) const fn for_walk(registers: Registers) -> Registers {
    registers
}
