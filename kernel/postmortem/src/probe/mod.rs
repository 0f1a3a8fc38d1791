//! A read that may fail: what a report reads may be what has broken.
//!
//! The read is one instruction at a known address. When it raises an exception, the kernel's handler calls [`recover`], which
//! makes it go on where the read returns that there is nothing.
//!
//! On x86-64 the exception's `iretq` lets NMIs come again (volume 3, 7.7.1 "Handling Multiple NMIs"), also where an NMI is being
//! handled, whose frame the next one would overwrite. A report from there takes that risk, on a stack that is gone: a return
//! without `iretq` would have to do without the trap code that all other exceptions share.

use crate::arch::TrapFrame;

#[cfg(all(target_os = "none", target_arch = "x86_64"))]
core::arch::global_asm!(include_str!("x86_64.s"));
#[cfg(all(target_os = "none", target_arch = "aarch64"))]
core::arch::global_asm!(include_str!("aarch64.s"));

/// What `postmortem_read` returns, in two registers.
#[cfg(target_os = "none")]
#[repr(C)]
struct Answer {
    word: u64,
    is_there: u64,
}

#[cfg(target_os = "none")]
unsafe extern "C" {
    /// Reads a word. Its first instruction is the only one that reads memory.
    fn postmortem_read(address: u64) -> Answer;
    /// Where it goes on when that failed; only its address counts.
    static postmortem_read_failed: u8;
}

/// The word at `address`, if it can be read.
///
/// Where the kernel's exception handler does not call [`recover`], a word that cannot be read is a fault like any other.
///
/// # Safety
/// The address is a multiple of 8, and no device is there that a read does something to.
#[cfg(target_os = "none")]
pub(crate) unsafe fn read(address: u64) -> Option<u64> {
    // SAFETY: whatever the address, the read succeeds, or `recover` ends it, or the exception is reported.
    let answer = unsafe { postmortem_read(address) };
    (answer.is_there != 0).then_some(answer.word)
}

/// Makes a read of a report fail whose exception this is, and says whether it was one; then the handler has nothing else to do
/// but return. To be called first for every exception.
#[cfg(target_os = "none")]
pub fn recover(frame: &mut TrapFrame) -> bool {
    let is_ours = frame.is_bad_access() && frame.pc() == postmortem_read as *const () as u64;
    if is_ours {
        frame.set_pc(&raw const postmortem_read_failed as u64);
    }
    is_ours
}

/// On the host, where tests run, what is read is there.
///
/// # Safety
/// There is a word at this address.
#[cfg(not(target_os = "none"))]
pub(crate) unsafe fn read(address: u64) -> Option<u64> {
    // SAFETY: as for the caller.
    Some(unsafe { (address as *const u64).read_volatile() })
}

/// On the host there are no exceptions.
#[cfg(not(target_os = "none"))]
pub fn recover(_: &mut TrapFrame) -> bool {
    false
}
