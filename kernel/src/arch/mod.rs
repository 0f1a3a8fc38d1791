//! What differs between architectures. Each folder has files of the same names, with the same job and public names; `arms` has what two of
//! them share.

#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
mod arms;
mod handlers;
mod tasks;

pub use handlers::Handlers;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub use aarch64::*;

#[cfg(target_arch = "arm")]
mod arm;
#[cfg(target_arch = "arm")]
pub use arm::*;

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;
