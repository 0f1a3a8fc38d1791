//! 32-bit ARM: ARMv7-A. Manual chapters are those of the "Arm Architecture Reference Manual, ARMv7-A and ARMv7-R edition".

#[cfg(target_arch = "arm")]
mod entry;
mod frame;
mod status;
mod words;

#[cfg(target_arch = "arm")]
pub use entry::Scratch;
pub use frame::TrapFrame;
pub use status::Status;
pub use unwind::arm::Registers;
pub use words::{Kind, Words};

/// Bytes of an overflow stack, for exceptions that find no room on the current stack.
pub const OVERFLOW_STACK: usize = 32 * 1024;

/// The words that trap code keeps outside of stacks until it knows where there is room: for each mode of exceptions of a CPU.
pub const SCRATCH: usize = 8;

/// The architecture's name in a report.
#[cfg(target_arch = "arm")]
pub(crate) const NAME: &str = "armv7a";

/// Bytes of the smallest instruction: Thumb code has some of two and some of four.
#[cfg(target_arch = "arm")]
pub(crate) const INSTRUCTION: usize = 2;

/// The registers behind a call in the function that this is inlined into: there, and not at any other instruction, exception tables hold.
/// They are of use only until that function returns; a tail call, such as one that passes them on, is a return too.
#[cfg(target_arch = "arm")]
#[inline(always)]
pub fn capture() -> Registers {
    let (pc, sp): (u32, u32);
    let mut kept = [0_u32; 8];
    // SAFETY: the call leads to the next instruction, and changes the link register only, which is named. The others are read, and eight of
    // them stored to the array.
    unsafe {
        core::arch::asm!(
            "bl 2f",
            "2:",
            "mov {pc}, lr",
            "mov {sp}, sp",
            "stm {kept}, {{r4-r11}}",
            pc = out(reg) pc,
            sp = out(reg) sp,
            kept = in(reg) kept.as_mut_ptr(),
            out("lr") _,
            options(nostack, preserves_flags)
        );
    }
    Registers::after_call(pc.into(), sp.into(), &kept)
}

/// As they are: return addresses have no signatures.
#[cfg(target_arch = "arm")]
pub(crate) const fn for_walk(registers: Registers) -> Registers {
    registers
}

/// Masks ordinary interrupts of this CPU.
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub(crate) fn mask_interrupts() {
    // SAFETY: changes only the interrupt mask.
    unsafe { core::arch::asm!("cpsid i", options(nomem, nostack, preserves_flags)) };
}
