//! Installs packages of the distribution, by apt.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::logged;
use crate::words::{Progress, say};

/// The command to type to install `package`.
pub(super) fn what_to_type(package: &str) -> String {
    let sudo = if is_root() { "" } else { "sudo " };
    format!("{sudo}apt-get install --no-install-recommends {package}")
}

/// Whether packages can be installed.
pub(super) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Installs `package`, with a message first. Requires root.
pub(super) fn install(package: &str, target: &Path) -> Result<()> {
    let log = target.join(format!("apt-{package}.log"));

    let progress = Progress::start("updating the lists of packages (apt-get update)".into());
    let updated = logged::run(apt_get().arg("update"), &log, || progress.tick());
    progress.done();
    // An error is ignored: a source that does not answer may not be needed, and without lists the next step fails.
    if let Err(error) = updated {
        say(format_args!("warning: {error:#}"));
    }

    let progress = Progress::start(format!(
        "installing the package {package} (apt-get install)"
    ));
    // QEMU recommends a graphical interface, which is not needed. Its firmware is a dependency.
    let install = ["install", "--yes", "--no-install-recommends", package];
    logged::run(apt_get().args(install), &log, || progress.tick())?;
    progress.done();
    Ok(())
}

/// apt-get without questions, which waits for another apt to end.
fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command
        .args(["--quiet", "-o", "DPkg::Lock::Timeout=300"])
        .env("DEBIAN_FRONTEND", "noninteractive");
    command
}
