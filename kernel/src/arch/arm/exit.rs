//! Ending the run: QEMU's exit status, power off, reset.

use core::arch::asm;
use core::sync::atomic::{AtomicBool, Ordering};

use portable::device_tree::Conduit;
use smccc::{Hvc, Smc, psci};
use spin::Once;

use super::cpu;
use crate::verdict::Verdict;

/// How to call the firmware: `hvc` or `smc`. Set when the device tree has been read.
pub static CONDUIT: Once<Conduit> = Once::new();

/// The semihosting call was tried; it does not return where semihosting exists.
static NO_SEMIHOSTING: AtomicBool = AtomicBool::new(false);

/// Whether [`leave`] has tried semihosting: a fault now comes from its `hlt`, which is undefined without a semihosting host.
pub fn is_leaving() -> bool {
    NO_SEMIHOSTING.load(Ordering::Relaxed)
}

/// Ends QEMU with the verdict, by semihosting. Where there is none, turns the power off by PSCI; where there is no PSCI,
/// stops the CPU.
pub fn leave(verdict: Verdict) -> ! {
    if !NO_SEMIHOSTING.swap(true, Ordering::Relaxed) {
        semihosting_exit(verdict.status());
    }
    let _ = match CONDUIT.get() {
        Some(Conduit::Hypervisor) => psci::system_off::<Hvc>(),
        Some(Conduit::SecureMonitor) => psci::system_off::<Smc>(),
        None => Ok(()),
    };
    cpu::halt()
}

/// Resets the machine, by PSCI. Where there is none, stops the CPU.
pub fn reset() -> ! {
    let _ = match CONDUIT.get() {
        Some(Conduit::Hypervisor) => psci::system_reset::<Hvc>(),
        Some(Conduit::SecureMonitor) => psci::system_reset::<Smc>(),
        None => Ok(()),
    };
    cpu::halt()
}

/// SYS_EXIT_EXTENDED ("Semihosting for AArch32 and AArch64", section 6.9): SYS_EXIT of AArch32 has no status.
fn semihosting_exit(status: u8) {
    const SYS_EXIT_EXTENDED: u32 = 0x20;
    const APPLICATION_EXIT: u32 = 0x20026;
    let block = [APPLICATION_EXIT, u32::from(status)];
    // SAFETY: the call reads the block, and nothing else of this program. Without a semihosting host the instruction is
    // undefined, and the trap handler calls `leave` again instead of returning here.
    unsafe {
        // `hlt #0xf000`, which assemblers do not know for ARMv7.
        asm!(".inst 0xe10f0070", inout("r0") SYS_EXIT_EXTENDED => _, in("r1") block.as_ptr(), options(nostack));
    }
}
