//! Finds or fetches the device trees of Raspberry Pis, as Linux publishes them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::debian;
use super::once::Lock;

/// The folder with the device trees of Raspberry Pis of Debian's Linux, which are fetched once: a package of 90 MB, of which some files of
/// 30 KB stay. They are under the licenses in the file `copyright` beside them, GPL-2.0 mostly.
///
/// # Errors
/// When they are missing and cannot be fetched.
pub fn raspi_trees(target: &Path) -> Result<PathBuf> {
    let folder = target.join("raspi-trees-trixie");
    // The folder gets this name only when it is complete.
    if !folder.is_dir() {
        let _lock = Lock::wait(target, "raspi-trees")?;
        if !folder.is_dir() {
            debian::fetch_raspi_trees(&folder)
                .context("cannot get Raspberry Pi device trees from Debian")?;
        }
    }
    Ok(folder)
}
