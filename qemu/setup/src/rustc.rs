//! Asks the compiler that cargo will use for its version and folder.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A compiler's version and folder, by which its library's source is found.
#[derive(Debug)]
pub(super) struct Rustc {
    /// Its version, as in `1.95.0` or `1.97.0-nightly`.
    pub(super) release: String,
    /// The folder it is installed in.
    pub(super) sysroot: PathBuf,
}

impl Rustc {
    /// The compiler of this workspace.
    pub(super) fn running() -> Result<Self> {
        let verbose = ask(&["-vV"])?;
        let release = verbose
            .lines()
            .find_map(|line| line.strip_prefix("release: "))
            .context("rustc -vV does not name its release")?;
        Ok(Self {
            release: release.to_owned(),
            sysroot: ask(&["--print", "sysroot"])?.trim_end().into(),
        })
    }
}

/// Runs rustc in the workspace, where rustup finds `rust-toolchain.toml`, and returns its output.
fn ask(arguments: &[&str]) -> Result<String> {
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(arguments)
        .current_dir(crate::workspace::root())
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cannot start rustc")?;
    if !output.status.success() {
        bail!("rustc {} failed ({})", arguments.join(" "), output.status);
    }
    String::from_utf8(output.stdout).context("rustc answers in no UTF-8")
}
