//! The registers that a walk starts from.

use core::arch::asm;

pub use unwind::x86_64::Registers;

/// The registers at one exact instruction of the function that this is inlined into.
#[inline(always)]
pub fn capture() -> Registers {
    let (pc, sp, fp);
    // SAFETY: only reads registers. The stack pointer and frame pointer do not change between these instructions, so
    // they are those at `pc` too.
    unsafe {
        asm!(
            "lea {pc}, [rip]",
            "mov {sp}, rsp",
            "mov {fp}, rbp",
            pc = out(reg) pc,
            sp = out(reg) sp,
            fp = out(reg) fp,
            options(nomem, nostack, preserves_flags)
        );
    }
    Registers::new(pc, sp, fp)
}
