//! Finds programs in `PATH`, or installs them from the distribution's packages.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::once::Lock;
use super::package;

/// The program `name`; installs `package` if it is missing, which requires root and apt.
///
/// # Errors
/// When it is missing and cannot be installed; the message has the command to type.
pub fn program(name: &str, package: &str, target: &Path) -> Result<PathBuf> {
    if let Some(found) = find(name) {
        return Ok(found);
    }
    if find("apt-get").is_none() {
        bail!(
            "{name} is not in PATH; install it (on Debian and Ubuntu it is in the package {package})"
        );
    }
    if !package::is_root() {
        bail!(
            "{name} is not installed; type: {}",
            package::what_to_type(package)
        );
    }
    let _lock = Lock::wait(target, "packages")?;
    // Another process may have installed it during the wait.
    if find(name).is_none() {
        package::install(package, target).with_context(|| {
            format!(
                "{name} is missing and could not be installed; try: {}",
                package::what_to_type(package)
            )
        })?;
    }
    find(name).with_context(|| format!("package {package} is installed, but {name} is not in PATH"))
}

/// The first file of this name in `PATH`.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}
