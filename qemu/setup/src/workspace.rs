//! Where the workspace and its target folder are.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result};

/// The workspace's root.
///
/// Cargo says at run time where the package is that it runs: somewhere below the root. What it said at compile time may be another copy of the workspace, when
/// several share a target folder: cargo takes equal sources for the same.
#[must_use]
pub fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let at_run_time = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let compiled = Path::new(env!("CARGO_MANIFEST_DIR"));
        // Set by a cargo that runs something else altogether, the first does not lead to the kernel.
        let packages = at_run_time.as_deref().into_iter().chain([compiled]);
        let root = packages
            .flat_map(Path::ancestors)
            .find(|folder| folder.join("kernel/Cargo.toml").is_file());
        root.unwrap_or(compiled).to_path_buf()
    })
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
