//! Starting other CPUs, which this kernel does not do on ARMv7-A.

use portable::BootMemory;

/// Returns false: no other CPU can be started.
pub const fn prepare(_: &mut BootMemory) -> bool {
    false
}

/// Returns false: the CPU is not started.
///
/// # Safety
/// None is needed; elsewhere the CPU must not have been started.
pub const unsafe fn start(_: usize, _: u64) -> bool {
    false
}
