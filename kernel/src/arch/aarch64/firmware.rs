//! Calls of the firmware: "Power State Coordination Interface", 5.1.

use portable::device_tree::Conduit;
use smccc::{Hvc, Smc, psci};

/// Turns the power off. Returns if the firmware does not.
pub fn system_off(conduit: Conduit) {
    let _ = match conduit {
        Conduit::Hypervisor => psci::system_off::<Hvc>(),
        Conduit::SecureMonitor => psci::system_off::<Smc>(),
    };
}

/// Resets the machine. Returns if the firmware does not.
pub fn system_reset(conduit: Conduit) {
    let _ = match conduit {
        Conduit::Hypervisor => psci::system_reset::<Hvc>(),
        Conduit::SecureMonitor => psci::system_reset::<Smc>(),
    };
}

/// Starts a CPU by its affinity at this physical address, which gets the number `index`. Returns whether the firmware does.
pub fn cpu_on(conduit: Conduit, mpidr: u64, entry: u64, index: u64) -> bool {
    let started = match conduit {
        Conduit::Hypervisor => psci::cpu_on::<Hvc>(mpidr, entry, index),
        Conduit::SecureMonitor => psci::cpu_on::<Smc>(mpidr, entry, index),
    };
    started.is_ok()
}
