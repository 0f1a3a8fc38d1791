//! Set-up: what builds, boots and tests need that a fresh machine may lack. A crate of its own, because tests of the workspace's
//! other packages need it as well, and the runner needs those packages.
//!
//! * programs (QEMU, gdb, compilers for C) and libraries from the distribution's packages, installed when run as root;
//! * `core` and `alloc` for bare metal: rustup's, or built from source;
//! * their source, of the very version of the running `rustc`;
//! * the device trees of Raspberry Pis, as Linux publishes them;
//! * an assembler for every target, which is `rustc` too.
//!
//! Only rustup changes the toolchain's folder, and only to add targets.

#[cfg(not(unix))]
compile_error!(
    "unwind-qemu runs only on Unix, because it passes open sockets and files to QEMU; on Windows, use WSL"
);

mod assembler;
mod core_library;
mod debian;
mod logged;
mod once;
mod package;
mod program;
mod raspi_trees;
mod rust_src;
mod rustc;
mod sysroot;
pub mod words;
pub mod workspace;

pub use assembler::assemble;
pub use core_library::{CoreLibrary, core_library, own_core_library};
pub use program::{file, program};
pub use raspi_trees::raspi_trees;
pub use rust_src::{RustSrc, remapped, rust_src};
