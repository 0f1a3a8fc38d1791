//! Finds, installs or builds `core` and `alloc` for bare-metal targets.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::once::Lock;
use super::rustc::Rustc;
use super::words::{Progress, say};
use super::{logged, sysroot};

/// The targets whose `core` rustup distributes; `rust-toolchain.toml` has the same list.
const DISTRIBUTED: [&str; 3] = [
    "x86_64-unknown-none",
    "aarch64-unknown-none-softfloat",
    "armv7a-none-eabi",
];

/// The location of a target's compiled `core` and `alloc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoreLibrary {
    /// In the toolchain, where rustc looks by itself.
    InToolchain,
    /// In this sysroot, which also has the toolchain's library for the host.
    InSysroot(PathBuf),
}

impl CoreLibrary {
    /// Makes `command`, and each cargo that `command` starts, use the library.
    pub fn give_to(&self, command: &mut Command) {
        if let Self::InSysroot(folder) = self {
            command.env("RUSTC", sysroot::rustc(folder));
            // The drivers of clippy and rustdoc do not run that rustc.
            command
                .env("SYSROOT", folder)
                .env("RUSTDOCFLAGS", format!("--sysroot={}", folder.display()));
        }
    }
}

/// The compiled `core` and `alloc` for a target: the toolchain's, which rustup installs if it manages the toolchain; otherwise
/// built once from source, below the target folder.
///
/// # Errors
/// Returns an error if rustup does not install the library and its source is missing; the message has the command to type.
pub fn core_library(triple: &str, target: &Path) -> Result<CoreLibrary> {
    let rustc = Rustc::running()?;
    // Another process may be installing or building it.
    let _lock = Lock::wait(target, "core")?;
    if is_in_toolchain(&rustc, triple) {
        return Ok(CoreLibrary::InToolchain);
    }
    if let Some(folder) = sysroot::built(&rustc, triple, target) {
        return Ok(CoreLibrary::InSysroot(folder));
    }
    if DISTRIBUTED.contains(&triple)
        && let Some(toolchain) = rustc.rustup_name()
    {
        match install(&toolchain, target) {
            Ok(()) if is_in_toolchain(&rustc, triple) => return Ok(CoreLibrary::InToolchain),
            Ok(()) => say(format_args!(
                "warning: rustup did not install the target {triple}"
            )),
            Err(error) => say(format_args!("warning: {error:#}")),
        }
    }
    sysroot::build(&rustc, triple, target).map(CoreLibrary::InSysroot)
}

/// Builds `core` and `alloc` from source, also if the toolchain has them.
///
/// # Errors
/// Returns an error if the source is missing or the build fails.
pub fn own_core_library(triple: &str, target: &Path) -> Result<CoreLibrary> {
    let rustc = Rustc::running()?;
    let _lock = Lock::wait(target, "core")?;
    let folder = match sysroot::built(&rustc, triple, target) {
        Some(folder) => folder,
        None => sysroot::build(&rustc, triple, target)?,
    };
    Ok(CoreLibrary::InSysroot(folder))
}

fn is_in_toolchain(rustc: &Rustc, triple: &str) -> bool {
    rustc.sysroot.join(sysroot::libraries(triple)).is_dir()
}

/// Installs the library of all targets at once, because each call of rustup asks the server for the list of components.
fn install(toolchain: &str, target: &Path) -> Result<()> {
    let log = target.join("rustup-target-add.log");
    let progress = Progress::start(format!(
        "installing Rust's core library for {targets} (rustup target add)",
        targets = DISTRIBUTED.join(", ")
    ));
    let mut command = Command::new("rustup");
    command
        .args(["target", "add", "--toolchain", toolchain])
        .args(DISTRIBUTED);
    logged::run(&mut command, &log, || progress.tick())?;
    progress.done();
    Ok(())
}
