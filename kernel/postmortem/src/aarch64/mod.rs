//! AArch64. Manual chapters are those of the "Arm Architecture Reference Manual for A-profile architecture".

mod frame;
mod syndrome;
mod words;

pub use frame::TrapFrame;
pub use syndrome::Syndrome;
pub use unwind::aarch64::Registers;
pub use words::{Kind, Words};

/// The architecture's name in a report.
#[cfg(target_arch = "aarch64")]
pub(crate) const NAME: &str = "aarch64";

/// Bytes of the smallest instruction.
#[cfg(target_arch = "aarch64")]
pub(crate) const INSTRUCTION: usize = 4;

/// The registers at one exact instruction of the function that this is inlined into. They tell something as long as that has
/// not returned: a function that gives them to another one in a tail call has.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn capture() -> Registers {
    let (pc, sp, fp, lr);
    // SAFETY: only reads registers. The stack pointer and frame pointer do not change between these instructions, so they
    // are those at `pc` too; the link register may be the place for one of the outputs, so it is read first.
    unsafe {
        core::arch::asm!(
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

/// Keeps ordinary interrupts away from this CPU.
#[cfg(all(target_arch = "aarch64", target_os = "none"))]
pub(crate) fn mask_interrupts() {
    // SAFETY: changes the interrupt mask and nothing else.
    unsafe { core::arch::asm!("msr daifset, #2", options(nomem, nostack, preserves_flags)) };
}
