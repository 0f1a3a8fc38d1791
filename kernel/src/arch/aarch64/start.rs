//! Starting other CPUs: "Power State Coordination Interface", 5.1.4 "CPU_ON".

use portable::BootMemory;
use portable::device_tree::Conduit;
use smccc::{Hvc, Smc, psci};

use super::exit::CONDUIT;
use super::mmu;

unsafe extern "C" {
    /// The physical address of their first instruction, in boot.s, if the image is loaded at its link address.
    static start_address: u64;
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
    // SAFETY: boot.s defines it as a constant word.
    let entry = unsafe { start_address }.wrapping_add(mmu::image_offset());
    let started = match CONDUIT.get() {
        Some(Conduit::Hypervisor) => psci::cpu_on::<Hvc>(mpidr, entry, index as u64),
        Some(Conduit::SecureMonitor) => psci::cpu_on::<Smc>(mpidr, entry, index as u64),
        None => return false,
    };
    started.is_ok()
}
