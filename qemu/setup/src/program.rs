//! Programs and files: found, or installed from the distribution's packages.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::once::Lock;
use super::package;

/// The program `name`, from `PATH`; installs `package` when it is not there, which takes root and apt.
///
/// # Errors
/// When it is missing and cannot be installed; the message has the command to type.
pub fn program(name: &str, package: &str, target: &Path) -> Result<PathBuf> {
    install_unless(|| in_path(name), name, "in PATH", package, target)
}

/// The file `path`, of a library for instance; installs `package` when it is not there, as [`program`] does.
///
/// # Errors
/// As those of [`program`].
pub fn file(path: &Path, package: &str, target: &Path) -> Result<PathBuf> {
    let find = || path.is_file().then(|| path.to_owned());
    install_unless(
        find,
        &path.display().to_string(),
        "on this machine",
        package,
        target,
    )
}

/// What `find` finds, at once or after installing `package`. `place` says where it looks.
fn install_unless(
    find: impl Fn() -> Option<PathBuf>,
    name: &str,
    place: &str,
    package: &str,
    target: &Path,
) -> Result<PathBuf> {
    if let Some(found) = find() {
        return Ok(found);
    }
    if in_path("apt-get").is_none() {
        bail!("cannot find {name} {place}; on Debian and Ubuntu, install the package {package}");
    }
    if !package::is_root() {
        bail!(
            "{name} is not installed; type: {command}",
            command = package::what_to_type(package)
        );
    }
    let _lock = Lock::wait(target, "packages")?;
    // Another process may have installed it during the wait.
    if find().is_none() {
        package::install(package, target).with_context(|| {
            format!(
                "{name} is missing and could not be installed; try: {command}",
                command = package::what_to_type(package)
            )
        })?;
    }
    find().with_context(|| {
        format!("cannot find {name} {place}, although the package {package} is installed")
    })
}

/// The first file of this name in `PATH`.
fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}
