//! Makes and runs cargo commands from within cargo.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Prefixes of variables that `cargo run` and `cargo test` set for the program they run. They describe this crate, and must
/// not affect the crates that it builds.
const OF_THIS_CRATE: [&str; 7] = [
    "CARGO_PKG_",
    "CARGO_MANIFEST_",
    "CARGO_BIN_",
    "CARGO_CRATE_",
    "CARGO_PRIMARY_",
    "CARGO_TARGET_TMPDIR",
    "OUT_DIR",
];

/// A cargo command for the workspace, by the cargo that runs this program, if one does.
#[must_use]
pub fn cargo(subcommand: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .arg(subcommand)
        .current_dir(crate::workspace::root())
        .stdin(Stdio::null())
        // Standard output is the kernel's.
        .stdout(std::io::stderr());
    for (name, _) in std::env::vars_os() {
        let is_of_this_crate =
            |name: &str| OF_THIS_CRATE.iter().any(|start| name.starts_with(start));
        if name.to_str().is_some_and(is_of_this_crate) {
            command.env_remove(name);
        }
    }
    // It would move the build's output.
    command.env_remove("CARGO_BUILD_TARGET");
    // What is built by stable Rust is built as stable Rust does, also if a test harness was asked for something unstable.
    command.env_remove("RUSTC_BOOTSTRAP");
    command
}

/// Runs it.
///
/// # Errors
/// When it cannot be started or fails; cargo has then printed why.
pub(super) fn run(mut command: Command, what: &str) -> Result<()> {
    let status = command.status().context("cannot start cargo")?;
    if !status.success() {
        bail!("cannot build {what}; cargo's messages are above");
    }
    Ok(())
}
