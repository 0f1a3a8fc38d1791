//! Reads that may fault, because the memory that a report reads may be the memory that failed.
//!
//! The read is one instruction at a known address. If it raises an exception, the kernel's handler calls [`recover`], which makes the read
//! return an error.
//!
//! On x86-64 the `iretq` of such an exception unblocks NMIs (volume 3, 7.7.1 "Handling Multiple NMIs"). In an NMI handler the next NMI
//! could then overwrite the first NMI's frame. A report takes that risk only if a read faults: a return without `iretq` could not use the
//! trap code that all exceptions share.

use crate::arch::TrapFrame;

#[cfg(all(target_os = "none", target_arch = "x86_64"))]
core::arch::global_asm!(include_str!("x86_64.s"));
#[cfg(all(target_os = "none", target_arch = "aarch64"))]
core::arch::global_asm!(include_str!("aarch64.s"));
#[cfg(all(target_os = "none", target_arch = "arm"))]
core::arch::global_asm!(include_str!("arm.s"));

/// What `postmortem_read` returns, in two registers.
#[cfg(all(target_os = "none", not(target_arch = "arm")))]
#[repr(C)]
struct ReadResult {
    word: u64,
    is_there: u64,
}

#[cfg(all(target_os = "none", not(target_arch = "arm")))]
unsafe extern "C" {
    /// Reads a word. Its first instruction is the only one that reads memory.
    fn postmortem_read(address: u64) -> ReadResult;
}

#[cfg(all(target_os = "none", target_arch = "arm"))]
unsafe extern "C" {
    /// Reads a word of 32 bits. Its first instruction is the only one that reads memory. Returns the word in the low half, and whether it is
    /// there in the high one: structures of two words are not returned in registers.
    fn postmortem_read(address: u32) -> u64;
}

#[cfg(target_os = "none")]
unsafe extern "C" {
    /// The address at which the read continues after a fault; has no value, only an address.
    static postmortem_read_failed: u8;
}

/// The word at `address`, if it can be read.
///
/// If the kernel's exception handler does not call [`recover`], a failed read is a fault like any other.
///
/// # Safety
/// The caller must guarantee that the address is a multiple of the size of a word, and not of a device register with side effects.
#[cfg(all(target_os = "none", target_arch = "arm"))]
pub(crate) unsafe fn read(address: u64) -> Option<u64> {
    // SAFETY: as below.
    let answer = unsafe { postmortem_read(address as u32) };
    (answer >> 32 != 0).then_some(answer & 0xffff_ffff)
}

/// The word at `address`, if it can be read.
///
/// If the kernel's exception handler does not call [`recover`], a failed read is a fault like any other.
///
/// # Safety
/// The caller must guarantee that the address is a multiple of 8, and not of a device register with side effects.
#[cfg(all(target_os = "none", not(target_arch = "arm")))]
pub(crate) unsafe fn read(address: u64) -> Option<u64> {
    // SAFETY: the caller guarantees that the read has no side effects. If it faults, `recover` makes it return, or the handler reports the
    // fault and does not return.
    let answer = unsafe { postmortem_read(address) };
    (answer.is_there != 0).then_some(answer.word)
}

/// The address of the read function. The host compares it with the image's symbols, to find how far a loader has moved the image.
pub(crate) fn address() -> u64 {
    #[cfg(target_os = "none")]
    return postmortem_read as *const () as u64;
    #[cfg(not(target_os = "none"))]
    0
}

/// Makes a report's read fail if this exception came from the read, and returns true: the handler must then return immediately.
///
/// Call it first for every exception. It returns false for all other exceptions, and if the handler [cannot return](TrapFrame::can_return).
///
/// ```no_run
/// extern "C" fn exception(frame: &mut postmortem::TrapFrame) {
///     if postmortem::probe::recover(frame) {
///         return;
///     }
///     // Interrupts, and exceptions that the kernel can handle.
/// }
/// ```
#[cfg(target_os = "none")]
pub fn recover(frame: &mut TrapFrame) -> bool {
    let is_ours = frame.can_return()
        && frame.is_bad_access()
        && frame.pc() == postmortem_read as *const () as u64;
    if is_ours {
        frame.set_pc(&raw const postmortem_read_failed as u64);
    }
    is_ours
}

/// On the host, where tests run, reads do not fault.
///
/// # Safety
/// The caller must guarantee that an aligned, readable word is at this address.
#[cfg(not(target_os = "none"))]
pub(crate) unsafe fn read(address: u64) -> Option<u64> {
    // SAFETY: the caller guarantees that an aligned word can be read at this address.
    Some(unsafe { (address as *const u64).read_volatile() })
}

/// Returns false: on the host, where tests run, there are no exceptions.
///
/// ```no_run
/// extern "C" fn exception(frame: &mut postmortem::TrapFrame) {
///     if postmortem::probe::recover(frame) {
///         return;
///     }
///     // Interrupts, and exceptions that the kernel can handle.
/// }
/// ```
#[cfg(not(target_os = "none"))]
pub fn recover(_: &mut TrapFrame) -> bool {
    false
}
