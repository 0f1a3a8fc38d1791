//! Ring 3. Manual: volume 3, 6.8.1 "Call and Return Operation for Interrupt or Exception Handling Procedures".

use core::arch::global_asm;

global_asm!(include_str!("user.s"));

/// The vector of system calls, which user code enters by `int`.
pub const SYSTEM_CALL: u64 = 64;

/// The selectors of a user's data and code.
pub const SELECTORS: [u16; 2] = [0x23, 0x2b];

/// The flags of user code: interrupts are not masked.
const FLAGS: u64 = 0x202;

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

/// The address of the program's page, in the image.
pub fn program() -> u64 {
    &raw const user_program as u64
}

/// Goes on with user code at `pc`, with this stack pointer.
///
/// # Safety
/// Interrupts are masked. What this CPU has on its stack is not used again.
pub unsafe fn enter(pc: u64, sp: u64) -> ! {
    unsafe extern "C" {
        fn enter_user(pc: u64, sp: u64, code: u64, data: u64, flags: u64) -> !;
    }
    let [data, code] = SELECTORS.map(u64::from);
    // SAFETY: the selectors are those of the GDT; for the rest the caller vouches.
    unsafe { enter_user(pc, sp, code, data, FLAGS) }
}
