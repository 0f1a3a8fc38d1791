//! Starting other CPUs by firmware: "Power State Coordination Interface", 5.1.4 "CPU_ON".

use portable::BootMemory;

use super::exit::CONDUIT;
use super::firmware;

unsafe extern "C" {
    /// Their first instruction, in boot.s. It has no value, only an address.
    static start_entry: u8;
}

/// Does nothing, and returns true: other CPUs start in the image itself.
pub fn prepare(_: &mut BootMemory) -> bool {
    true
}

/// Starts the CPU with this MPIDR affinity, which calls `start_main` of [`entry`](super::boot::entry) with the number `index`.
/// Returns false if firmware knows no such CPU, or cannot start it.
///
/// # Safety
/// The CPU has not been started, and the stacks of this number are not in use.
pub unsafe fn start(index: usize, mpidr: u64) -> bool {
    let entry = &raw const start_entry as u64;
    let conduit = CONDUIT.get();
    conduit.is_some_and(|conduit| firmware::cpu_on(*conduit, mpidr, entry, index as u64))
}
