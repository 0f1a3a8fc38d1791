//! `unwind-qemu new`: writes a kernel of the guide, with the guide's changes, so that `cargo run` prints a backtrace.

mod files;
mod kind;
mod pages;
mod parts;
mod steps;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};

pub use files::FILES;
pub use kind::{KINDS, Kind};
pub use pages::section;
pub use parts::{KERNELS, write};
pub use steps::apply;

use crate::program::{called, word};
use crate::status::{Failure, Status};
use crate::words::say;

/// The name of the guide's kernels.
const NAME: &str = "corner-shop";

/// What the guide writes for the path of a checkout.
const CHECKOUT: &str = "SFRAME";

/// Create a folder with a small kernel that prints a backtrace
///
/// The kernel is the example of the guide, with all changes of the guide applied. The kernel reads from a wrong address, so that
/// its first boot reports a fault.
#[derive(Clone, Debug, clap::Args)]
pub struct New {
    /// Kind of kernel to create; without a value, this option lists all kinds
    #[arg(long, value_name = "KIND", num_args = 0..=1, required = true)]
    pub kind: Vec<String>,

    /// Use `kernel-postmortem` from this checkout of the repository instead of the published crate
    #[arg(long, value_name = "CHECKOUT")]
    pub path: Option<PathBuf>,

    /// Folder to create, which must not exist yet; the folder's name becomes the package name if cargo accepts the name
    #[arg(value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
}

/// Runs the command `new`.
///
/// # Errors
/// Returns an error if the kind is unknown, or the folder exists or cannot be written.
pub fn new(arguments: &New) -> Result<Status, Failure> {
    let Some(name) = arguments.kind.first() else {
        let listing = kind::listing() + "\n";
        std::io::stdout()
            .write_all(listing.as_bytes())
            .context("cannot write the list of kernel kinds to standard output")?;
        return Ok(Status::Success);
    };
    let kind = Kind::find(name).map_err(Failure::usage)?;
    let folder = arguments.folder.as_deref().with_context(|| {
        format!(
            "the argument FOLDER is missing; type: {program} new --kind {name} my-kernel",
            program = called()
        )
    });
    let folder = folder.map_err(Failure::usage)?;
    check(folder, arguments.path.as_deref()).map_err(Failure::usage)?;
    kind.write_whole(folder, arguments.path.as_deref())?;
    let package = match package_name(folder) {
        Some(_) => String::new(),
        None => format!(" in package {NAME}, because the folder's name cannot be the package name"),
    };
    say(format_args!(
        "the kernel is in {folder}{package}; type: cd {word} && cargo run",
        folder = folder.display(),
        word = word(folder)
    ));
    Ok(Status::Success)
}

/// Fails if the folder is there, or the path is not that of a checkout.
fn check(folder: &Path, checkout: Option<&Path>) -> Result<()> {
    if fs::symlink_metadata(folder).is_ok() {
        bail!(
            "{folder} already exists and was not changed; choose a new folder",
            folder = folder.display()
        );
    }
    if let Some(checkout) = checkout {
        let needed = checkout.join("kernel/postmortem/Cargo.toml");
        ensure!(
            needed.is_file(),
            "{checkout} is not a checkout of the repository: {needed} is missing",
            checkout = checkout.display(),
            needed = needed.display()
        );
    }
    Ok(())
}

impl Kind {
    /// Does the same as [`Self::write`], and leaves no part of a kernel in the folder if it fails or is killed.
    fn write_whole(&self, folder: &Path, checkout: Option<&Path>) -> Result<()> {
        let shown = folder.display();
        let name = folder.file_name();
        let name = name.with_context(|| format!("path {shown} does not end with a folder name"))?;
        let above = folder.parent().filter(|above| *above != Path::new(""));
        let above = above.unwrap_or(Path::new("."));
        fs::create_dir_all(above)
            .with_context(|| format!("cannot create folder {folder}", folder = above.display()))?;
        let mut builder = tempfile::Builder::new();
        let temporary = builder.prefix(".unwind-qemu-").tempdir_in(above);
        let temporary = temporary.with_context(|| {
            format!(
                "cannot create a folder in {folder}",
                folder = above.display()
            )
        })?;
        let written = temporary.path().join(name);
        self.write(&written, checkout)?;
        fs::rename(&written, folder).with_context(|| format!("cannot create folder {shown}"))
    }

    /// Writes the kernel to a folder. Its `Cargo.toml` names the published crates, or those of a checkout.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be written.
    pub fn write(&self, folder: &Path, checkout: Option<&Path>) -> Result<()> {
        write(self.kernel, folder)?;
        for place in self.pages {
            apply(pages::part(place)?, folder)?;
        }
        let replace = |file: &str, old: &str, new: &str| {
            let path = folder.join(file);
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let shown = path.display();
            ensure!(text.contains(old), "file {shown} does not contain {old:?}");
            fs::write(&path, text.replace(old, new))
                .with_context(|| format!("cannot write {}", path.display()))
        };
        if let Some(physical) = self.physical {
            replace(
                "src/main.rs",
                "physical_memory_at(0)",
                &format!("physical_memory_at({physical})"),
            )?;
        }
        match checkout {
            Some(checkout) => {
                let checkout =
                    std::path::absolute(checkout).context("cannot determine the current folder")?;
                let checkout = checkout.to_str().ok_or_else(|| {
                    anyhow!(
                        "the path {path} is not valid Unicode, so Cargo.toml cannot contain the path",
                        path = checkout.display()
                    )
                })?;
                replace("Cargo.toml", CHECKOUT, &checkout.replace('\\', "/"))?;
            }
            None => replace(
                "Cargo.toml",
                "{ path = \"SFRAME/kernel/postmortem\" }",
                concat!("\"", env!("CARGO_PKG_VERSION"), "\""),
            )?,
        }
        if let Some(name) = package_name(folder) {
            replace(
                "Cargo.toml",
                &format!("name = {NAME:?}"),
                &format!("name = {name:?}"),
            )?;
        }
        let toolchain = folder.join("rust-toolchain.toml");
        let (channel, triple) = (self.channel, self.triple);
        let text = format!("[toolchain]\nchannel = {channel:?}\ntargets = [{triple:?}]\n");
        fs::write(&toolchain, text)
            .with_context(|| format!("cannot write {}", toolchain.display()))?;
        if let Some(loader) = self.loader {
            write(loader, &folder.join("loader"))?;
        }
        if let Some(script) = self.boot {
            let boot = folder.join("boot");
            fs::write(&boot, script)
                .and_then(|()| fs::set_permissions(&boot, fs::Permissions::from_mode(0o755)))
                .with_context(|| format!("cannot write {}", boot.display()))?;
        }
        let linker = "linker = \"sframe-link\"\n";
        let runner = format!("{linker}runner = {}\n", self.runner);
        replace(".cargo/config.toml", linker, &runner)
    }
}

/// Returns the folder's name if cargo takes it for the name of a package that uses `kernel-postmortem` and the crates of that.
fn package_name(folder: &Path) -> Option<&str> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let name = folder.file_name()?.to_str()?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(is_letter)
        && !matches!(name, "kernel-postmortem" | "sframe-unwind");
    is_name.then_some(name)
}
