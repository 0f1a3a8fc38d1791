//! Ending the run: QEMU's exit status, power off, reset.

use core::arch::asm;

use crate::arch::arms::exit::{self, APPLICATION_EXIT};
pub use crate::arch::arms::exit::{CONDUIT, is_leaving, reset};
use crate::verdict::Verdict;

/// Ends QEMU with the verdict; without QEMU turns the power off, or stops the CPU.
pub fn leave(verdict: Verdict) -> ! {
    exit::leave(verdict, semihosting_exit)
}

/// SYS_EXIT ("Semihosting for AArch32 and AArch64", section 6.8).
fn semihosting_exit(status: u8) {
    const SYS_EXIT: u64 = 0x18;
    let block = [APPLICATION_EXIT, usize::from(status)];
    // SAFETY: the call reads the block, and nothing else of this program. Without a semihosting host the instruction is
    // undefined, and the trap handler calls `leave` again instead of returning here.
    unsafe {
        asm!("hlt #0xf000", inout("x0") SYS_EXIT => _, in("x1") block.as_ptr(), options(nostack));
    }
}
