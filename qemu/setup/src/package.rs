//! Packages of the distribution, by apt.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::logged;
use crate::words::{Progress, say};

/// What somebody types to get `package`.
pub(super) fn what_to_type(package: &str) -> String {
    let sudo = if is_root() { "" } else { "sudo " };
    format!("{sudo}apt-get install --no-install-recommends {package}")
}

/// Whether packages can be installed.
pub(super) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Installs `package`, saying so first. Takes root.
pub(super) fn install(package: &str, target: &Path) -> Result<()> {
    let log = target.join(format!("apt-{package}.log"));

    let progress = Progress::start("updating the lists of packages (apt-get update)".into());
    let updated = logged::run(apt_get().arg("update"), &log, || progress.tick());
    progress.done();
    // A source that does not answer need not be the one that has the package; without lists the next step fails.
    if let Err(error) = updated {
        say(format_args!("warning: {error:#}"));
    }

    let progress = Progress::start(format!(
        "installing the package {package} (apt-get install)"
    ));
    // Recommended for QEMU: a graphical interface. Its firmware comes as a dependency.
    let install = ["install", "--yes", "--no-install-recommends", package];
    logged::run(apt_get().args(install), &log, || progress.tick())?;
    progress.done();
    Ok(())
}

/// apt-get that asks nothing, and waits for another apt to end.
fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command
        .args(["--quiet", "-o", "DPkg::Lock::Timeout=300"])
        .env("DEBIAN_FRONTEND", "noninteractive");
    command
}
