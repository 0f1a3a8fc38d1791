//! A read that may fail: what a report reads may be what has broken.
//!
//! The exception's `iretq` lets NMIs come again (volume 3, 7.7.1 "Handling Multiple NMIs"), also where an NMI is being
//! handled, whose frame the next one would overwrite. A report from there takes that risk, on a stack that is gone: a
//! return without `iretq` would have to do without the trap code that all other exceptions share.

use core::arch::global_asm;

use super::trap::TrapFrame;

global_asm!(include_str!("probe.s"));

/// What `probe_read` returns, in two registers.
#[repr(C)]
struct Probed {
    word: u64,
    is_there: u64,
}

unsafe extern "C" {
    /// Reads a word. Its first instruction is the only one that reads memory.
    fn probe_read(address: u64) -> Probed;
    /// Where it goes on when that failed; only its address counts.
    static probe_failed: u8;
}

/// The word at `address`, if it can be read.
///
/// # Safety
/// No device is at this address that a read does something to.
pub unsafe fn read(address: u64) -> Option<u64> {
    // SAFETY: whatever the address, the read succeeds or `recover` ends it.
    let probed = unsafe { probe_read(address) };
    (probed.is_there != 0).then_some(probed.word)
}

/// Called first for every exception: lets a [`read`] fail, and says whether it was one.
pub fn recover(frame: &mut TrapFrame) -> bool {
    let is_probe = frame.is_bad_access() && frame.rip == probe_read as *const () as u64;
    if is_probe {
        frame.rip = &raw const probe_failed as u64;
    }
    is_probe
}
