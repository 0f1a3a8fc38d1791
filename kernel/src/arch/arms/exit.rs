//! Ending the run: QEMU's exit status, power off, reset.

use core::sync::atomic::{AtomicBool, Ordering};

use portable::device_tree::Conduit;
use spin::Once;

use crate::arch::{cpu, firmware};
use crate::verdict::Verdict;

/// How to call the firmware: `hvc` or `smc`. Set when the device tree has been read.
pub static CONDUIT: Once<Conduit> = Once::new();

/// The semihosting call was tried; it does not return where semihosting exists.
static NO_SEMIHOSTING: AtomicBool = AtomicBool::new(false);

/// In a semihosting call: the program itself wants to end (ADP_Stopped_ApplicationExit, "Semihosting for AArch32 and AArch64", 6.8).
pub const APPLICATION_EXIT: usize = 0x20026;

/// Whether [`leave`] has tried semihosting: a fault now comes from its `hlt`, which is undefined without a semihosting host.
pub fn is_leaving() -> bool {
    NO_SEMIHOSTING.load(Ordering::Relaxed)
}

/// Ends QEMU with the verdict, by the call of semihosting that ends the machine with a status. Where there is none, turns the power off by
/// PSCI; where there is no PSCI, stops the CPU.
pub fn leave(verdict: Verdict, semihosting_exit: fn(u8)) -> ! {
    if !NO_SEMIHOSTING.swap(true, Ordering::Relaxed) {
        semihosting_exit(verdict.status());
    }
    if let Some(conduit) = CONDUIT.get() {
        firmware::system_off(*conduit);
    }
    cpu::halt()
}

/// Resets the machine, by PSCI. Where there is none, stops the CPU.
pub fn reset() -> ! {
    if let Some(conduit) = CONDUIT.get() {
        firmware::system_reset(*conduit);
    }
    cpu::halt()
}
