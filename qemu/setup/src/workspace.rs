//! Finds the workspace and its target folder.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result};

/// The root of the checkout, or for a program that was installed without one, a folder that was there when it was compiled.
#[must_use]
pub fn root() -> &'static Path {
    find().unwrap_or(Path::new(COMPILED))
}

/// The root of the checkout, whose demonstration kernel can be built.
///
/// # Errors
/// Returns an error if there is no checkout: this program was installed.
pub fn checkout() -> Result<&'static Path> {
    find().context(
        "the demonstration kernel can only be built in a checkout of the repository, which an installed program does not have; \
         boot your own image with --image FILE, or run this program in a checkout",
    )
}

/// The package's folder when it was compiled.
const COMPILED: &str = env!("CARGO_MANIFEST_DIR");

/// The checkout's root.
///
/// It comes from cargo's variable at run time, which names the package that runs, somewhere below the root. The variable at compile
/// time may name another copy of the workspace that shares the target folder, because cargo does not rebuild equal sources. An installed
/// program has neither, but may be started in a checkout.
fn find() -> Option<&'static Path> {
    static ROOT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let root = ROOT.get_or_init(|| {
        let at_run_time = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let here = std::env::current_dir().ok();
        let folders = [at_run_time, Some(COMPILED.into()), here];
        folders.iter().flatten().find_map(|folder| above(folder))
    });
    root.as_deref()
}

/// The checkout's root at or above a folder. Another project may have its kernel in a folder of that name, too.
fn above(folder: &Path) -> Option<PathBuf> {
    let has = |root: &Path, package| root.join(package).join("Cargo.toml").is_file();
    let is_root = |root: &&Path| has(root, "kernel") && has(root, "qemu/setup");
    folder.ancestors().find(is_root).map(Path::to_path_buf)
}

/// The target folder that cargo uses: the one that contains this program, whether `CARGO_TARGET_DIR`, `--target-dir` or a
/// configuration file named it. `cargo metadata` was rejected: it does not know of `--target-dir`.
///
/// # Errors
/// Returns an error if this program's own path is not known, or if it was installed without a checkout.
pub fn target_folder() -> Result<PathBuf> {
    match own_target_folder()? {
        Some(own) => Ok(own),
        // This program was copied out of its target folder: use the default one.
        None => Ok(checkout()?.join("target")),
    }
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
    let file = std::path::absolute(file).context("cannot determine the current folder")?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_project_with_a_folder_kernel_is_no_checkout() {
        let folder = std::env::temp_dir().join(format!("project-{}", std::process::id()));
        let package = |name: &str| {
            std::fs::create_dir_all(folder.join(name)).unwrap();
            std::fs::write(folder.join(name).join("Cargo.toml"), "").unwrap();
        };
        package("kernel");
        let other = above(&folder.join("kernel"));
        package("qemu/setup");
        let checkout = above(&folder.join("kernel/src"));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(other, None);
        assert_eq!(checkout, Some(folder));
    }
}
