//! Ending the run: QEMU's exit status, power off, reset.

use core::arch::asm;

use crate::arch::arms::exit::{self, APPLICATION_EXIT};
pub use crate::arch::arms::exit::{CONDUIT, is_leaving, reset};
use crate::verdict::Verdict;

/// Ends QEMU with the verdict; without QEMU turns the power off, or stops the CPU.
pub fn leave(verdict: Verdict) -> ! {
    exit::leave(verdict, semihosting_exit)
}

/// In ARM code, as the instruction is encoded: SYS_EXIT_EXTENDED ("Semihosting for AArch32 and AArch64", section 6.9): SYS_EXIT of AArch32 has no status.
#[instruction_set(arm::a32)]
fn semihosting_exit(status: u8) {
    const SYS_EXIT_EXTENDED: u32 = 0x20;
    let block = [APPLICATION_EXIT, usize::from(status)];
    // SAFETY: the call reads the block, and nothing else of this program. Without a semihosting host the instruction is
    // undefined, and the trap handler calls `leave` again instead of returning here.
    unsafe {
        // `hlt #0xf000`, which assemblers do not know for ARMv7.
        asm!(".inst 0xe10f0070", inout("r0") SYS_EXIT_EXTENDED => _, in("r1") block.as_ptr(), options(nostack));
    }
}
