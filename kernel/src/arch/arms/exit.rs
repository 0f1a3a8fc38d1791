//! Ending the run: QEMU's exit status, power off, reset.

use core::sync::atomic::{AtomicU64, Ordering};

use portable::device_tree::Conduit;
use spin::Once;

use crate::arch::{cpu, firmware};
use crate::verdict::Verdict;

/// How to call the firmware: `hvc` or `smc`. Set when the device tree has been read.
pub static CONDUIT: Once<Conduit> = Once::new();

/// The hardware number of the CPU that ends the machine; `NOBODY` until one does.
static ENDS_MACHINE: AtomicU64 = AtomicU64::new(NOBODY);

/// No CPU has this hardware number.
const NOBODY: u64 = u64::MAX;

/// In a semihosting call: the program itself wants to end (ADP_Stopped_ApplicationExit, "Semihosting for AArch32 and AArch64", 6.8).
pub const APPLICATION_EXIT: usize = 0x20026;

/// Whether [`leave`] has tried semihosting on this CPU: a fault here comes from its `hlt`, which is undefined without a semihosting host.
/// Other CPUs may take exceptions until the machine has ended.
pub fn is_leaving() -> bool {
    ENDS_MACHINE.load(Ordering::Relaxed) == cpu::hardware_id()
}

/// Ends QEMU with the verdict, by the call of semihosting that ends the machine with a status. Where there is none, turns the power off by
/// PSCI; where there is no PSCI, stops the CPU. If another CPU ends the machine already, its verdict counts, and this CPU stops.
pub fn leave(verdict: Verdict, semihosting_exit: fn(u8)) -> ! {
    // An interrupt would be taken for the fault of the `hlt`: see `is_leaving`.
    cpu::mask_all();
    let this = cpu::hardware_id();
    let first = ENDS_MACHINE.compare_exchange(NOBODY, this, Ordering::Relaxed, Ordering::Relaxed);
    match first {
        // The call does not return where semihosting exists.
        Ok(_) => semihosting_exit(verdict.status()),
        Err(cpu) if cpu != this => cpu::halt(),
        Err(_) => {}
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
