//! Cargo inside cargo.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Starts of the names of variables that `cargo run` and `cargo test` set for the program they run. They describe this
/// crate, and are none of the business of the crates to be built.
const OF_THIS_CRATE: [&str; 7] = [
    "CARGO_PKG_",
    "CARGO_MANIFEST_",
    "CARGO_BIN_",
    "CARGO_CRATE_",
    "CARGO_PRIMARY_",
    "CARGO_TARGET_TMPDIR",
    "OUT_DIR",
];

/// A cargo command for the workspace: the very cargo that runs this, when one does.
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
    // Would move what is built to where it is not looked for.
    command.env_remove("CARGO_BUILD_TARGET");
    command
}

/// Runs it.
///
/// # Errors
/// When it cannot be started or fails; what is wrong has then been said by cargo.
pub(super) fn run(mut command: Command, what: &str) -> Result<()> {
    let status = command.status().context("cannot start cargo")?;
    if !status.success() {
        bail!("{what} could not be built; what cargo said is above");
    }
    Ok(())
}
