//! Where the workspace and its target folder are.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The workspace's root: the folder above this crate's.
#[must_use]
pub fn root() -> &'static Path {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest)
}

/// The target folder that cargo uses: the one this very program lies in, whatever named it (`CARGO_TARGET_DIR`,
/// `--target-dir` or a configuration file). `cargo metadata` would tell too, but does not know of `--target-dir`.
///
/// # Errors
/// When this program's own path cannot be found out.
pub fn target_folder() -> Result<PathBuf> {
    let program = std::env::current_exe().context("cannot find this program's own path")?;
    // Cargo writes the first into every target folder, the second only into those that it makes.
    let is_target_folder = |folder: &&Path| {
        let has = |file| folder.join(file).is_file();
        has(".rustc_info.json") || has("CACHEDIR.TAG")
    };
    let found = program.ancestors().find(is_target_folder);
    // Copied out of its target folder: the default one serves as well as any.
    Ok(found.map_or_else(|| root().join("target"), Path::to_path_buf))
}
