//! Makes cargo commands for the bare-metal targets.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::cargo::cargo;
use crate::hardware::Processor;
use crate::setup;

/// The target folder of everything that is built for bare metal, below the workspace's.
pub const FOLDER: &str = "metal";

/// Returns a cargo command that builds for a processor with the compiled `core`, links with `linker`, and takes the flags from
/// `.cargo/config.toml`.
///
/// # Errors
/// Returns an error if there is no `core` for the processor.
pub fn bare_metal(
    subcommand: &str,
    processor: impl Into<Processor>,
    linker: &OsStr,
    target: &Path,
) -> Result<Command> {
    let triple = processor.into().triple();
    let mut command = for_target(subcommand, triple, linker);
    setup::core_library(triple, target)?.give_to(&mut command);
    command.arg("--target-dir").arg(target.join(FOLDER));
    Ok(command)
}

/// Returns a cargo command that builds for one of Rust's targets, without a target folder and a `core`.
pub(super) fn for_target(subcommand: &str, triple: &str, linker: &OsStr) -> Command {
    let variable = |what| {
        format!(
            "CARGO_TARGET_{}_{what}",
            triple.to_uppercase().replace('-', "_")
        )
    };
    let mut command = cargo(subcommand);
    command
        .args(["--target", triple])
        // The workspace's own debug builds have lines only. A debugger on the kernel shows variables, too.
        .env("CARGO_PROFILE_DEV_DEBUG", "full")
        .env(variable("LINKER"), linker)
        // These would replace the flags in `.cargo/config.toml`, which the tables need.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove(variable("RUSTFLAGS"));
    command
}

/// Makes `command` build `core` and `alloc` from source, with the command's own profile and flags.
pub(super) fn build_core(command: &mut Command, triple: &str, target: &Path) -> Result<()> {
    let source = setup::rust_src(target)?;
    let remap = setup::remapped(&source)?;
    command
        // `mem`: memcpy and the like, for which there is no libc.
        .args([
            "-Zbuild-std=core,alloc,compiler_builtins",
            "-Zbuild-std-features=compiler-builtins-mem",
        ])
        // Future-incompatibility warnings about the standard library are of no use here.
        .args(["--config", "future-incompat-report.frequency=\"never\""])
        .env("RUSTC_BOOTSTRAP", "1")
        // Added to the flags in `.cargo/config.toml`.
        .arg("--config")
        .arg(format!("target.{triple}.rustflags=[{remap:?}]"));
    source.give_to(command);
    Ok(())
}
