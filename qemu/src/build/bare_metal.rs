//! Makes cargo commands for the bare-metal targets, which build `core` from source.

use std::ffi::OsStr;
use std::process::Command;

use super::cargo::cargo;
use crate::hardware::Processor;
use crate::setup::RustSrc;

/// A cargo command that builds for a processor, links with `linker`, and takes the flags from `.cargo/config.toml`.
#[must_use]
pub fn bare_metal(
    subcommand: &str,
    processor: impl Into<Processor>,
    linker: &OsStr,
    source: &RustSrc,
) -> Command {
    for_target(subcommand, processor.into().triple(), linker, source)
}

/// The same for a target of Rust's by its name.
pub(super) fn for_target(
    subcommand: &str,
    triple: &str,
    linker: &OsStr,
    source: &RustSrc,
) -> Command {
    let variable = |what| {
        format!(
            "CARGO_TARGET_{}_{what}",
            triple.to_uppercase().replace('-', "_")
        )
    };
    let mut command = cargo(subcommand);
    command
        .args(["--target", triple])
        // The prebuilt core has no unwind tables. `mem`: memcpy and the like, for which there is no libc.
        .args([
            "-Zbuild-std=core,alloc,compiler_builtins",
            "-Zbuild-std-features=compiler-builtins-mem",
        ])
        // Future-incompatibility warnings about the standard library are of no use here.
        .args(["--config", "future-incompat-report.frequency=\"never\""])
        // The workspace's own debug builds have lines only. A debugger on the kernel shows variables, too.
        .env("CARGO_PROFILE_DEV_DEBUG", "full")
        .env("RUSTC_BOOTSTRAP", "1")
        .env(variable("LINKER"), linker)
        // These would replace the flags in `.cargo/config.toml`, which the tables need.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove(variable("RUSTFLAGS"));
    // Locations in `core` and `alloc` as Rust's own builds show them, `library/alloc/src/...`, not as folders of the
    // host. Added to the flags in `.cargo/config.toml`. Cargo names what lies in the workspace relative to its root.
    let library = source.library();
    let library = library
        .strip_prefix(crate::workspace::root())
        .unwrap_or(library);
    let remap = format!("--remap-path-prefix={}=library", library.display());
    command.arg("--config");
    command.arg(format!("target.{triple}.rustflags=[{remap:?}]"));
    if let RustSrc::At(library) = source {
        // Cargo's own tests use this variable to build from another source than the toolchain's. There is no other way without
        // changing the toolchain.
        command.env("__CARGO_TESTS_ONLY_SRC_ROOT", library);
    }
    command
}
