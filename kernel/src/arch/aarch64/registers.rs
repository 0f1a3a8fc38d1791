//! The registers that a walk starts from.

use core::arch::asm;

pub use unwind::aarch64::Registers;

/// The registers at one exact instruction of the function that this is inlined into.
#[inline(always)]
pub fn capture() -> Registers {
    let (pc, sp, fp, lr);
    // SAFETY: only reads registers. The stack pointer and frame pointer do not change between these instructions, so they
    // are those at `pc` too; the link register may be the place for one of the outputs, so it is read first.
    unsafe {
        asm!(
            "mov {lr}, x30",
            "adr {pc}, .",
            "mov {sp}, sp",
            "mov {fp}, x29",
            lr = out(reg) lr,
            pc = out(reg) pc,
            sp = out(reg) sp,
            fp = out(reg) fp,
            options(nomem, nostack, preserves_flags)
        );
    }
    Registers::new(pc, sp, fp, lr)
}
