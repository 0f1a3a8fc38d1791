//! Builds the kernel and its linker, by cargo, which rebuilds only what has changed. Its output goes to standard error.

mod bare_metal;
mod cargo;
mod kernel;
pub mod linker;

pub use bare_metal::{FOLDER, bare_metal};
pub use cargo::cargo;
pub use kernel::{Kernel, Level, Profile, link_again};
