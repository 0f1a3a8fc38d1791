//! Cargo for the bare-metal targets, where `core` is built along.

use std::ffi::OsStr;
use std::process::Command;

use super::cargo::cargo;
use crate::hardware::Arch;
use crate::setup::RustSrc;

/// A cargo command that builds for `arch`, links with `linker`, and takes the flags from `.cargo/config.toml`.
#[must_use]
pub fn bare_metal(subcommand: &str, arch: Arch, linker: &OsStr, source: &RustSrc) -> Command {
    let triple = arch.triple();
    let variable = |what| {
        format!(
            "CARGO_TARGET_{}_{what}",
            triple.to_uppercase().replace('-', "_")
        )
    };
    let mut command = cargo(subcommand);
    command
        .args(["--target", triple])
        // The prebuilt core has no unwind tables. `mem`: memcpy and its kin, which no libc provides here.
        .args([
            "-Zbuild-std=core,alloc,compiler_builtins",
            "-Zbuild-std-features=compiler-builtins-mem",
        ])
        // That the compiler will once refuse something in its own library is nothing to tell anybody here.
        .args(["--config", "future-incompat-report.frequency=\"never\""])
        .env("RUSTC_BOOTSTRAP", "1")
        .env(variable("LINKER"), linker)
        // These would take the place of the flags in `.cargo/config.toml`, without which there are no tables.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove(variable("RUSTFLAGS"));
    // Locations in `core` and `alloc` as Rust's own builds show them, `library/alloc/src/...`, not as folders of this
    // machine. Added to the flags in `.cargo/config.toml`. Cargo names what lies in the workspace relative to its root.
    let library = source.library();
    let library = library
        .strip_prefix(crate::workspace::root())
        .unwrap_or(library);
    let remap = format!("--remap-path-prefix={}=library", library.display());
    command.arg("--config");
    command.arg(format!("target.{triple}.rustflags=[{remap:?}]"));
    if let RustSrc::At(library) = source {
        // Cargo's tests use this variable to build from another source than the toolchain's; there is no other way
        // that leaves the toolchain alone.
        command.env("__CARGO_TESTS_ONLY_SRC_ROOT", library);
    }
    command
}
