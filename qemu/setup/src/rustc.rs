//! Asks the compiler that cargo will use for its version and folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A compiler's version and folder, by which its library and the library's source are found.
#[derive(Debug)]
pub(super) struct Rustc {
    /// Its program, so that a folder elsewhere uses the same compiler.
    pub(super) program: PathBuf,
    /// Its version, as in `1.95.0` or `1.97.0-nightly`.
    pub(super) release: String,
    /// Its own target.
    pub(super) host: String,
    /// Its source's name in the paths of its distributed libraries, `/rustc/NAME/library`: the commit, or the release if the
    /// compiler was built without one.
    pub(super) source_name: String,
    /// The folder it is installed in.
    pub(super) sysroot: PathBuf,
}

impl Rustc {
    /// The compiler of this workspace.
    pub(super) fn running() -> Result<Self> {
        let verbose = ask(&["-vV"])?;
        let field = |name: &str| {
            let mut lines = verbose.lines();
            let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            value.map(str::to_owned)
        };
        let release =
            field("release").context("`rustc -vV` did not print the release of the compiler")?;
        let commit = field("commit-hash").filter(|commit| commit != "unknown");
        let sysroot = PathBuf::from(ask(&["--print", "sysroot"])?.trim_end());
        let named = std::env::var_os("RUSTC").map(PathBuf::from);
        Ok(Self {
            program: named.unwrap_or_else(|| sysroot.join("bin/rustc")),
            host: field("host").unwrap_or_default(),
            source_name: commit.unwrap_or_else(|| release.clone()),
            release,
            sysroot,
        })
    }

    /// The name by which rustup manages this compiler, if it does.
    pub(super) fn rustup_name(&self) -> Option<String> {
        let toolchains = self.sysroot.parent()?.file_name()?;
        let name = self.sysroot.file_name()?.to_str()?;
        (toolchains == "toolchains").then(|| name.to_owned())
    }

    /// The compiler's flag by which locations in its library read as in its distributed libraries.
    pub(super) fn library_remapped(&self, library: &Path) -> String {
        let name = &self.source_name;
        format!(
            "--remap-path-prefix={}=/rustc/{name}/library",
            library.display()
        )
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
        let (arguments, status) = (arguments.join(" "), output.status);
        bail!("rustc {arguments} failed ({status})");
    }
    String::from_utf8(output.stdout).context("the output of rustc is not valid UTF-8")
}
