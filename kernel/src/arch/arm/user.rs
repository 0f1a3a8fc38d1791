//! User mode. Manual: B1.8 "Exception handling".

use core::arch::global_asm;

use postmortem::TrapFrame;
use postmortem::arm::Kind;

global_asm!(include_str!("user.s"), options(raw));

/// The interrupt that system calls are: none, they are exceptions.
pub const SYSTEM_CALL: u64 = u64::MAX;

// Labels of `user.s`, which have no value, only an address.
unsafe extern "C" {
    static user_program: u8;
    /// Makes a system call.
    pub static user_call: u8;
    /// Reads through a null pointer.
    pub static user_read: u8;
    /// Loops.
    pub static user_loop: u8;
}

/// Whether it is a system call, of user code.
pub fn is_call(frame: &TrapFrame) -> bool {
    frame.is_user() && frame.kind() == Kind::SupervisorCall
}

/// The address of the program's page, in the image.
pub fn program() -> u64 {
    &raw const user_program as u64
}

/// Goes on with user code at `pc`, with this stack pointer.
///
/// # Safety
/// Interrupts are masked. What this CPU has on its stack is not used again; it runs no handler.
pub unsafe fn enter(pc: u64, sp: u64) -> ! {
    unsafe extern "C" {
        fn enter_user(pc: u32, sp: u32) -> !;
    }
    // SAFETY: the caller vouches.
    unsafe { enter_user(pc as u32, sp as u32) }
}
