//! Installs or fetches what a build and a boot need and a fresh machine may lack.
//!
//! * programs (QEMU, gdb) from the distribution's packages, installed when run as root;
//! * the source of `core` and `alloc`, of the very version of the running `rustc`.
//!
//! The toolchain's folder is never changed, and rustup is never asked to install: where it may, it has done so already because
//! of `rust-toolchain.toml`.

mod debian;
mod logged;
mod once;
mod package;
mod program;
mod rust_src;
mod rustc;

pub use program::program;
pub use rust_src::{RustSrc, rust_src};
