//! Builds a kernel outside of this workspace, without its settings, as somebody else would.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use qemu::build::{self, Profile};
use qemu::machine::{Arch, Processor};
use qemu::{setup, workspace};
use tempfile::TempDir;

use super::built::target;
use super::log::{self, Kind};

/// Held while a kernel is written, built in the folder `guide` of the target folder, and copied from there. That folder is for all of them,
/// so that `core` is built once; they have one name, and cargo compares the times of their files.
pub fn alone() -> MutexGuard<'static, ()> {
    static BUILD: Mutex<()> = Mutex::new(());
    BUILD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kernel's folder, with `tables.ld` in it.
pub struct Outside {
    folder: TempDir,
    linker: PathBuf,
}

impl Outside {
    /// Copies a folder of this repository.
    pub fn copy(from: &str) -> Self {
        Self::of(|folder| copy(&workspace::root().join(from), folder))
    }

    /// Has `write` write the kernel's files to a folder.
    pub fn of(write: impl FnOnce(&Path)) -> Self {
        let root = workspace::root();
        let folder = tempfile::tempdir().expect("a temporary folder");
        write(folder.path());
        // So that nothing has to be asked for again.
        fs::copy(root.join("Cargo.lock"), folder.path().join("Cargo.lock"))
            .expect("a file can be copied");
        let linker = build::linker::build(&target()).expect("sframe-link is built");
        let script = Command::new(&linker).arg("--sframe-script").output();
        let script = script.expect("sframe-link starts").stdout;
        fs::write(folder.path().join("tables.ld"), script).expect("the file can be written");
        Self { folder, linker }
    }

    /// The folder of the copy.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Replaces `SFRAME` in a file by the path of this repository.
    pub fn name_repository(&self, file: &str) {
        let path = self.folder().join(file);
        let text = fs::read_to_string(&path).expect("the file is there");
        let root = workspace::root();
        let root = root.to_str().expect("a path of text");
        fs::write(path, text.replace("SFRAME", root)).expect("the file can be written");
    }

    /// Whether a file contains this text; not if there is no file.
    fn has(&self, file: &str, text: &str) -> bool {
        let read = fs::read_to_string(self.folder().join(file));
        read.is_ok_and(|read| read.contains(text))
    }

    /// Builds it. `place` is a folder in the target folder.
    pub fn build(&self, arch: Arch, place: &str, profile: Profile, name: &str) -> PathBuf {
        let begun = Instant::now();
        let status = self.command(place, profile).status();
        assert!(
            status.expect("cargo starts").success(),
            "the kernel is built"
        );
        let folder = target().join(place).join(arch.triple());
        let image = folder.join(profile.name()).join(name);
        log::add(Kind::Build, begun, &log::image_name(&image), "", None);
        image
    }

    /// `cargo build` as its owner would run it, with a nightly compiler and `sframe-link`; with its source if the kernel needs
    /// that.
    pub fn command(&self, place: &str, profile: Profile) -> Command {
        self.cargo("build", place, profile)
    }

    /// `PATH`, with `sframe-link` in it.
    pub fn path(&self) -> OsString {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let programs = self.linker.parent().expect("a program lies in a folder");
        let paths = std::iter::once(programs.to_owned()).chain(std::env::split_paths(&path));
        std::env::join_paths(paths).expect("a path without a colon")
    }

    /// The same of another subcommand: `run`.
    pub fn cargo(&self, subcommand: &str, place: &str, profile: Profile) -> Command {
        let target = target().join(place);
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        as_others_call_it(&mut command);
        command
            .current_dir(self.folder())
            .args([subcommand, "--quiet", "--target-dir"])
            .arg(&target)
            .env("RUSTC_BOOTSTRAP", "1")
            .env("PATH", self.path());
        if self.has(".cargo/config.toml", "build-std") {
            with_source(&mut command);
        }
        // Rustup distributes no `core` for this target.
        let thumb = "thumbv7a-none-eabi";
        if self.has(".cargo/config.toml", thumb) {
            let core = setup::core_library(thumb, &self::target());
            core.expect("core is to be had").give_to(&mut command);
        }
        if profile.is_optimized() {
            command.arg("--release");
        }
        command
    }
}

/// Takes away what this build says to cargo, and gives it `core` for bare metal.
pub fn as_others_call_it(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_") && text != "CARGO_HOME" || text.contains("RUSTFLAGS") {
            command.env_remove(&name);
        }
    }
    for processor in Processor::ALL {
        let core = setup::core_library(processor.triple(), &target());
        core.expect("core is to be had").give_to(command);
    }
}

/// Lets it build `core` from source.
pub fn with_source(command: &mut Command) {
    let source = setup::rust_src(&target()).expect("the source of core is to be had");
    source.give_to(command);
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("a folder can be read") {
        let entry = entry.expect("a folder can be read");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("a file can be copied");
        }
    }
}
