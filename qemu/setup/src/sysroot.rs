//! Builds a sysroot with `core` and `alloc` for targets whose library the toolchain lacks.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::logged;
use super::rust_src::{RustSrc, rust_src};
use super::rustc::Rustc;
use super::words::Progress;

/// The library's crates, in a build by `-Zbuild-std`.
const CRATES: [&str; 3] = ["core", "alloc", "compiler_builtins"];
/// The package that is built only for the sake of its dependencies.
const MANIFEST: &str = "[package]\nname = \"empty\"\nedition = \"2024\"\n\n[workspace]\n\n[profile.release]\ndebug = \"limited\"\n";

/// The folder of a target's libraries, relative to a sysroot.
pub(super) fn libraries(triple: &str) -> PathBuf {
    Path::new("lib/rustlib").join(triple).join("lib")
}

/// The program of a sysroot that runs the compiler with that sysroot.
pub(super) fn rustc(sysroot: &Path) -> PathBuf {
    sysroot.join("bin/rustc")
}

/// The sysroot, if it has the target's libraries.
pub(super) fn built(compiler: &Rustc, triple: &str, target: &Path) -> Option<PathBuf> {
    let sysroot = folder(compiler, target);
    sysroot.join(libraries(triple)).is_dir().then_some(sysroot)
}

/// Builds the target's libraries, with unwind tables, and adds them to the sysroot when all are there.
pub(super) fn build(compiler: &Rustc, triple: &str, target: &Path) -> Result<PathBuf> {
    let source = rust_src(target)?;
    let sysroot = folder(compiler, target);
    prepare(compiler, &sysroot).with_context(|| format!("cannot write {}", sysroot.display()))?;

    let work = sysroot.join("build");
    let progress = Progress::start(format!("building Rust's core library for {triple}"));
    let mut command = cargo(compiler, triple, &source, &work)?;
    let log = sysroot.join(format!("{triple}.log"));
    logged::run(&mut command, &log, || progress.tick())?;
    progress.done();

    let built = work.join("target").join(triple).join("release/deps");
    add(&built, &sysroot.join(libraries(triple))).with_context(|| {
        format!(
            "cannot add Rust's core library for {triple} to {folder}",
            folder = sysroot.display()
        )
    })?;
    Ok(sysroot)
}

/// The sysroot's folder. Libraries of one compiler are of no use to another one.
fn folder(compiler: &Rustc, target: &Path) -> PathBuf {
    target.join("sysroot").join(&compiler.source_name)
}

/// Makes a sysroot with the toolchain's library for the host, which build scripts and macros need.
fn prepare(compiler: &Rustc, sysroot: &Path) -> std::io::Result<()> {
    let host = Path::new("lib/rustlib").join(&compiler.host);
    fs::create_dir_all(sysroot.join("lib/rustlib"))?;
    let link = sysroot.join(&host);
    let _ = fs::remove_file(&link);
    symlink(compiler.sysroot.join(&host), link)?;

    let program = rustc(sysroot);
    let script = format!(
        "#!/bin/sh\nexec '{compiler}' --sysroot '{sysroot}' \"$@\"\n",
        compiler = compiler.program.display(),
        sysroot = sysroot.display()
    );
    fs::create_dir_all(sysroot.join("bin"))?;
    fs::write(&program, script)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
}

/// The command that builds an empty crate and the library's crates in the folder `work`.
fn cargo(compiler: &Rustc, triple: &str, source: &RustSrc, work: &Path) -> Result<Command> {
    let write = || {
        fs::create_dir_all(work.join("src"))?;
        fs::write(work.join("Cargo.toml"), MANIFEST)?;
        fs::write(work.join("src/lib.rs"), "#![no_std]\n")
    };
    write().with_context(|| format!("cannot write {}", work.display()))?;
    let flags = [
        "-Cforce-unwind-tables=yes".to_owned(),
        compiler.library_remapped(source.library()),
    ];
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .current_dir(work)
        .args(["build", "--release", "--target", triple, "--target-dir"])
        .arg(work.join("target"))
        .arg(format!("-Zbuild-std={}", CRATES.join(",")))
        .arg("-Zbuild-std-features=compiler-builtins-mem")
        .env("RUSTC_BOOTSTRAP", "1")
        // They replace the flags in any file and variable.
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        .env_remove("CARGO_BUILD_TARGET");
    source.give_to(&mut command);
    Ok(command)
}

/// Copies the library's crates into a new folder, which appears when it is complete.
fn add(built: &Path, folder: &Path) -> Result<()> {
    let mut part = folder.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let _ = fs::remove_dir_all(&part);
    fs::create_dir_all(&part)?;
    let mut copied = 0;
    for entry in fs::read_dir(built)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        let is_crate = |text: &str| {
            let name = text
                .strip_prefix("lib")
                .and_then(|rest| rest.split_once('-'));
            text.ends_with(".rlib") && name.is_some_and(|(name, _)| CRATES.contains(&name))
        };
        if name.to_str().is_some_and(is_crate) {
            fs::copy(&path, part.join(name))?;
            copied += 1;
        }
    }
    if copied != CRATES.len() {
        bail!(
            "found only {copied} of {expected} libraries in {folder}",
            expected = CRATES.len(),
            folder = built.display()
        );
    }
    fs::rename(part, folder)?;
    Ok(())
}
