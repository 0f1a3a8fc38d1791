//! Finds the workspace and its target folder.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result};

/// The workspace's root.
///
/// It comes from cargo's variable at run time, which names the package that runs, somewhere below the root. The variable at compile
/// time may name another copy of the workspace that shares the target folder, because cargo does not rebuild equal sources.
#[must_use]
pub fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let at_run_time = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let compiled = Path::new(env!("CARGO_MANIFEST_DIR"));
        // A cargo that runs a package of another workspace sets it to a folder that does not lead to the kernel.
        let packages = at_run_time.as_deref().into_iter().chain([compiled]);
        let root = packages
            .flat_map(Path::ancestors)
            .find(|folder| folder.join("kernel/Cargo.toml").is_file());
        root.unwrap_or(compiled).to_path_buf()
    })
}

/// The target folder that cargo uses: the one that contains this program, whether `CARGO_TARGET_DIR`, `--target-dir` or a
/// configuration file named it. `cargo metadata` was rejected: it does not know of `--target-dir`.
///
/// # Errors
/// When this program's own path is not known.
pub fn target_folder() -> Result<PathBuf> {
    // This program was copied out of its target folder: use the default one.
    Ok(own_target_folder()?.unwrap_or_else(|| root().join("target")))
}

/// The target folder for results about a file: this program's, or if it was installed, that of the file; in the current folder if
/// it has none.
///
/// # Errors
/// When a path is not known.
pub fn target_folder_for(file: &Path) -> Result<PathBuf> {
    if let Some(own) = own_target_folder()? {
        return Ok(own);
    }
    let file = std::path::absolute(file).context("cannot tell the current folder")?;
    // The outermost one: a build script's is inside of another one.
    let found = file.ancestors().filter(|folder| is_target_folder(folder));
    Ok(found.last().unwrap_or(Path::new("target")).to_path_buf())
}

fn own_target_folder() -> Result<Option<PathBuf>> {
    let program = std::env::current_exe().context("cannot find this program's own path")?;
    let found = program.ancestors().find(|folder| is_target_folder(folder));
    Ok(found.map(Path::to_path_buf))
}

fn is_target_folder(folder: &Path) -> bool {
    // Cargo writes the first file into every target folder, the second only into those that it creates.
    let has = |file| folder.join(file).is_file();
    has(".rustc_info.json") || has("CACHEDIR.TAG")
}
