//! Set-up: what builds, boots and tests need that a fresh machine may lack. A crate of its own, because tests of the workspace's
//! other packages need it as well, and the runner needs those packages.
//!
//! * programs (QEMU, gdb, compilers for C) and libraries from the distribution's packages, installed when run as root;
//! * the source of `core` and `alloc`, of the very version of the running `rustc`;
//! * the device trees of Raspberry Pis, as Linux publishes them;
//! * an assembler for every target, which is `rustc` too.
//!
//! The toolchain's folder is never changed, and rustup is never asked to install: where it may, it has done so already because
//! of `rust-toolchain.toml`.

mod assembler;
mod debian;
mod logged;
mod once;
mod package;
mod program;
mod raspi_trees;
mod rust_src;
mod rustc;
pub mod words;
pub mod workspace;

pub use assembler::assemble;
pub use program::{file, program};
pub use raspi_trees::raspi_trees;
pub use rust_src::{RustSrc, rust_src};
