//! Starting other processors: "Power State Coordination Interface", 5.1.4 "CPU_ON".

use portable::BootMemory;
use portable::device_tree::Conduit;
use smccc::{Hvc, Smc, psci};

use super::exit::CONDUIT;
use super::mmu;

unsafe extern "C" {
    /// Where they start, in boot.s: a physical address, if the image is where the linker script has it.
    static start_address: u64;
}

/// There is nothing to prepare: they start in the image.
pub fn prepare(_: &mut BootMemory) {}

/// Starts a processor, which comes to `start_main` of [`entry`](super::boot::entry) with this number.
///
/// # Safety
/// The processor does nothing yet, and the number's stacks are not in use.
pub unsafe fn start(index: usize, mpidr: u64) {
    // SAFETY: a constant.
    let entry = unsafe { start_address }.wrapping_add(mmu::image_offset());
    // An error means that the processor does not come, which the caller notices.
    let _ = match CONDUIT.get() {
        Some(Conduit::Hypervisor) => psci::cpu_on::<Hvc>(mpidr, entry, index as u64),
        Some(Conduit::SecureMonitor) => psci::cpu_on::<Smc>(mpidr, entry, index as u64),
        None => Ok(()),
    };
}

/// There is nothing to take back: its stacks are not given to another processor.
pub fn give_up() {}
