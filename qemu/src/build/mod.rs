//! Builds what is booted, by cargo. Cargo rebuilds what has changed and nothing else, and its output goes to standard
//! error as it comes.

mod bare_metal;
mod cargo;
mod kernel;
pub mod linker;

pub use bare_metal::bare_metal;
pub use cargo::cargo;
pub use kernel::{Kernel, Profile};
