//! Set-up on a machine that lacks something, played by a `PATH` with a few scripts in it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::built::target;
use crate::support::runner::command;
use crate::support::tiny::{self, Act};
use qemu::machine::Arch;
use qemu::setup;
use tempfile::TempDir;

/// A folder to be the `PATH`, with a script in it for each name.
fn path_with(scripts: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    for (name, lines) in scripts {
        let file = folder.path().join(name);
        std::fs::write(&file, format!("#!/bin/sh\n{lines}\n")).expect("a script can be written");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&file, mode).expect("a script can be made executable");
    }
    folder
}

/// The runner's exit status and words.
fn run(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().expect("the runner starts");
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// The runner on a machine with nothing but `path`, to boot an image of somebody's own.
fn boot_with(path: &Path) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let image = tiny::image(folder.path(), Arch::X86_64, &[Act::Exit(33)]);
    let mut command = command();
    run(command.env("PATH", path).arg("--image").arg(image))
}

#[test]
fn without_apt_a_missing_qemu_is_named_with_its_package() {
    let path = path_with(&[]);
    let (status, words) = boot_with(path.path());
    assert_eq!(status, Some(1), "{words}");
    assert!(
        words.contains("cannot find qemu-system-x86_64 in PATH"),
        "{words}"
    );
    assert!(
        words.contains("install the package qemu-system-x86"),
        "{words}"
    );
    assert_eq!(words.lines().count(), 1, "one line: {words}");
}

/// QEMU, as the tests use it.
fn qemu() -> PathBuf {
    let name = "qemu-system-x86_64";
    setup::program(name, "qemu-system-x86", &target()).expect("QEMU is to be had")
}

/// Root gets it installed and is told so first; anybody else gets the line to type.
#[test]
fn with_apt_a_missing_qemu_is_installed_or_can_be_by_one_line() {
    // "Installs" an emulator.
    let install = format!(
        "case \"$*\" in *install*qemu-system-x86*)\n/bin/ln -s {} \"$PATH/qemu-system-x86_64\";;\nesac",
        qemu().display()
    );
    let path = path_with(&[("apt-get", &install)]);
    let (status, words) = boot_with(path.path());
    if rustix::process::geteuid().is_root() {
        assert_eq!(status, Some(0), "{words}");
        let said = words
            .find("installing the package qemu-system-x86")
            .expect(&words);
        assert!(said < words.find("succeeded").expect(&words), "{words}");
    } else {
        assert_eq!(status, Some(1), "{words}");
        let line = "type: sudo apt-get install --no-install-recommends qemu-system-x86";
        assert!(words.contains(line), "{words}");
        assert_eq!(words.lines().count(), 1, "one line: {words}");
    }
}

/// The one that comes second waits, and then finds what the first one installed. Only root installs.
#[test]
fn of_two_at_the_same_time_one_installs() {
    let install = format!(
        "echo \"$@\" >> \"$PATH/calls\"; /bin/sleep 1\n\
         case \"$*\" in *install*qemu-system-x86*)\n/bin/ln -s {} \"$PATH/qemu-system-x86_64\";;\nesac",
        qemu().display()
    );
    let path = path_with(&[("apt-get", &install)]);
    let boot = || boot_with(path.path());
    let booted = std::thread::scope(|scope| {
        [scope.spawn(boot), scope.spawn(boot)].map(|boot| boot.join().expect("no panic"))
    });
    let is_root = rustix::process::geteuid().is_root();
    for (status, words) in &booted {
        assert_eq!(*status, Some(if is_root { 0 } else { 1 }), "{words}");
    }
    let calls = std::fs::read_to_string(path.path().join("calls")).unwrap_or_default();
    // An update and an install, or nothing.
    assert_eq!(
        calls.lines().count(),
        if is_root { 2 } else { 0 },
        "{calls}"
    );
}

/// What apt-get said stands behind what the runner says, on the same line.
#[test]
fn a_package_that_cannot_be_installed_is_explained() {
    let apt =
        "echo 'Reading package lists...'; echo 'E: Unable to fetch some archives' >&2; exit 100";
    let path = path_with(&[("apt-get", apt)]);
    let (status, words) = boot_with(path.path());
    assert_eq!(status, Some(1), "{words}");
    if rustix::process::geteuid().is_root() {
        assert!(
            words.contains("could not be installed; try: apt-get install"),
            "{words}"
        );
        assert!(
            words.contains("E: Unable to fetch some archives"),
            "{words}"
        );
    }
}

#[test]
fn a_missing_rust_src_that_cannot_be_had_is_named_with_the_line_to_type() {
    let rustc = "case \"$*\" in *sysroot*) echo /no/such/sysroot;; *) echo 'release: 0.0.1';; esac";
    let scripts = [
        ("qemu-system-x86_64", "exit 33"),
        ("rustc", rustc),
        ("apt-get", "exit 100"),
    ];
    let path = path_with(&scripts);
    let mut command = command();
    let (status, words) = run(command
        .env("PATH", path.path())
        .env("RUSTC", path.path().join("rustc")));
    assert_eq!(status, Some(1), "{words}");
    let line = "cannot find the library source of rustc 0.0.1 in the toolchain";
    assert!(words.contains(line), "{words}");
    assert!(
        words.contains("run `rustup component add rust-src`"),
        "{words}"
    );
}

/// The toolchain of a rustup that does this, without targets and without source; the runner's status and words, and the calls of rustup and
/// of cargo.
fn run_with_rustup(rustup: &str) -> (Option<i32>, String, String) {
    let here = "${0%/*}";
    let rustc = format!(
        "case \"$*\" in *sysroot*) echo {here}/toolchains/old;; *) echo 'release: 0.0.1';; esac"
    );
    let note = format!("echo \"${{0##*/}} $*\" >> {here}/calls");
    let scripts = [
        ("qemu-system-x86_64", "exit 33"),
        ("rustc", &*rustc),
        ("rustup", &format!("{note}\n{rustup}")),
        ("cargo", &format!("{note}\nexit 1")),
        ("apt-get", "exit 100"),
    ];
    let path = path_with(&scripts);
    let mut command = command();
    let (status, words) = run(command
        .env("PATH", path.path())
        .env("CARGO", path.path().join("cargo"))
        .env("RUSTC", path.path().join("rustc")));
    let calls = std::fs::read_to_string(path.path().join("calls")).unwrap_or_default();
    (status, words, calls)
}

const TARGET_ADD: &str = "rustup target add --toolchain old \
    x86_64-unknown-none aarch64-unknown-none-softfloat armv7a-none-eabi\n";

#[test]
fn rustup_adds_all_targets_of_a_toolchain_that_lacks_one_and_is_announced() {
    let add = "/bin/mkdir -p \"${0%/*}/toolchains/old/lib/rustlib/x86_64-unknown-none/lib\"";
    let (_, words, calls) = run_with_rustup(add);
    let said = "runner: installing Rust's core library for x86_64-unknown-none, ";
    assert!(words.starts_with(said), "{words}");
    assert!(!words.contains("warning: "), "{words}");
    // Then the linker and the kernel are built.
    let after = calls.strip_prefix(TARGET_ADD).expect(&calls);
    assert!(after.starts_with("cargo "), "{calls}");
    assert!(!after.contains("rustup"), "{calls}");
}

#[test]
fn rustup_that_fails_is_a_warning_and_the_library_is_built_from_source() {
    let (status, words, calls) = run_with_rustup("echo 'error: no network' >&2; exit 1");
    assert_eq!(status, Some(1), "{words}");
    assert_eq!(calls, TARGET_ADD);
    assert!(words.contains("warning: rustup failed"), "{words}");
    assert!(words.contains("error: no network"), "{words}");
    let line = "cannot find the library source of rustc 0.0.1 in the toolchain";
    assert!(words.contains(line), "{words}");
}
