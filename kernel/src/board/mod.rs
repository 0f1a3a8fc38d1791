//! What differs between machines with the same processor: the serial console, and where the command line is.

#[cfg(target_arch = "x86_64")]
mod madt;
#[cfg(target_arch = "x86_64")]
mod pc;
#[cfg(target_arch = "x86_64")]
pub use pc::*;

#[cfg(target_arch = "aarch64")]
mod virt;
#[cfg(target_arch = "aarch64")]
pub use virt::*;
