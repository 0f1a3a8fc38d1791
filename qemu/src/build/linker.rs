//! Builds `sframe-link`, which links the kernel.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::cargo::{cargo, run};

/// Builds the linker, unoptimized like this program, and returns its path.
///
/// No package is named: `cargo run` at the workspace's root names none either, so both resolve the same features and
/// share what they build.
///
/// # Errors
/// When cargo fails.
pub fn build(target: &Path) -> Result<PathBuf> {
    let mut command = cargo("build");
    command
        .args(["--bin", "sframe-link", "--target-dir"])
        .arg(target);
    run(command, "the linker sframe-link")?;
    Ok(target.join("debug/sframe-link"))
}
