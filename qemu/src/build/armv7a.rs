//! Builds the kernel for ARMv7-A.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::Profile;
use super::bare_metal::for_target;
use super::cargo::run;
use super::linker;
use crate::setup::RustSrc;

/// Rust's target: without floating point, as those of [`Arch`](crate::hardware::Arch).
const TRIPLE: &str = "armv7a-none-eabi";

/// Builds the kernel, with names and the compiler's exception tables, and returns the image's path.
///
/// # Errors
/// When cargo fails.
pub fn armv7a(release: bool, source: &RustSrc, target: &Path) -> Result<PathBuf> {
    let linker = linker::build(target)?;
    let folder = target.join("kernel");
    let mut command = for_target("build", TRIPLE, linker.as_os_str(), source);
    command.args(release.then_some("--release"));
    command
        .args(["--package", "kernel", "--target-dir"])
        .arg(&folder);
    run(command, "the kernel")?;
    let profile = if release {
        Profile::Release
    } else {
        Profile::Debug
    };
    Ok(folder.join(TRIPLE).join(profile.name()).join("kernel"))
}
