//! Helpers for the tests: programs to run, and inputs that the toolchain makes.

pub mod a64;
pub mod arm;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub mod changes;
pub mod oracle;
pub mod proven;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub mod stepper;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::thread::{self, ThreadId};

/// Writes a line to standard output even if the test harness captures `println!`: counts are useful in every run.
pub fn say(words: std::fmt::Arguments<'_>) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{words}");
}

/// An empty folder for one test, which may take it again. Two tests would take each other's files away, at times.
pub fn folder(name: &str) -> PathBuf {
    static TAKEN: Mutex<BTreeMap<String, ThreadId>> = Mutex::new(BTreeMap::new());
    let this = thread::current().id();
    let first = *TAKEN.lock().unwrap().entry(name.to_owned()).or_insert(this);
    assert_eq!(first, this, "another test has the folder {name}");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// The folder of `tables.ld`.
pub fn scripts() -> String {
    format!("{}/scripts", env!("CARGO_MANIFEST_DIR"))
}

/// A linker script for a small image: code first, then what is read, the tables among it.
pub const SCRIPT: &str = "
ENTRY(_start)
SECTIONS {
    . = 0xffffffff80100000;
    .text : { *(.text .text.*) }
    .rodata : { *(.rodata .rodata.*) }
    .eh_frame : { KEEP(*(.eh_frame)) }
    INCLUDE tables.ld
    .data : { *(.data .data.*) *(.got .got.*) }
    .bss : { *(.bss .bss.*) }
}
";

pub fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// Runs a command that must succeed.
pub fn succeed(command: &mut Command) -> Output {
    let output = command.output();
    let output = output.unwrap_or_else(|why| panic!("{command:?} cannot be started: {why}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        stderr(&output)
    );
    output
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A program that the set-up installs, from a package of Debian's, where it is missing.
pub fn tool(name: &str, package: &str) -> Command {
    let target = setup::workspace::target_folder().unwrap();
    match setup::program(name, package, &target) {
        Ok(path) => Command::new(path),
        Err(error) => panic!("{error:#}"),
    }
}

pub fn sframe_link() -> Command {
    Command::new(env!("CARGO_BIN_EXE_sframe-link"))
}

pub fn sframe(arguments: &[&str], file: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sframe"));
    command.arg(arguments[0]).arg(file).args(&arguments[1..]);
    command.output().unwrap()
}

/// Compiles and links `data/program.rs`, a program without an operating system, with some more arguments for rustc.
pub fn program(folder: &Path, arguments: &[&str]) -> Output {
    sources(folder);
    compile(folder, arguments)
}

/// Puts the program and its linker script into a folder.
pub fn sources(folder: &Path) {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/program.rs");
    fs::copy(program, folder.join("program.rs")).unwrap();
    fs::write(folder.join("image.ld"), SCRIPT).unwrap();
}

/// Compiles and links `program.rs` as it is in the folder.
pub fn compile(folder: &Path, arguments: &[&str]) -> Output {
    let linker = format!("-Clinker={}", env!("CARGO_BIN_EXE_sframe-link"));
    let scripts = format!("-Clink-arg=-L{}", scripts());
    let mut command = rustc();
    command
        .current_dir(folder)
        .args([
            "--edition=2024",
            "-Cpanic=abort",
            "-Cforce-unwind-tables=yes",
        ])
        .args([
            "-Crelocation-model=static",
            "-Ccode-model=kernel",
            "-Clinker-flavor=ld.lld",
        ])
        .args([
            "-Csymbol-mangling-version=v0",
            "-Ccodegen-units=1",
            "-Copt-level=1",
            "-Cdebuginfo=1",
        ])
        .args([linker.as_str(), scripts.as_str()])
        .args(["-Clink-arg=-Timage.ld", "-Clink-arg=--build-id=sha1"])
        .args(arguments)
        .args(["-o", "image", "program.rs"]);
    succeed(&mut command)
}

/// Assembles a text into an object file.
pub fn assemble(folder: &Path, target: &str, text: &str) -> PathBuf {
    setup::assemble(folder, target, text).unwrap_or_else(|why| panic!("{why:?}"))
}

/// Assembles a text and links it with [`SCRIPT`] and the tables.
pub fn image(folder: &Path, target: &str, text: &str) -> (PathBuf, Output) {
    image_with(folder, target, text, &[])
}

/// [`image`], with more switches for `sframe-link`.
pub fn image_with(folder: &Path, target: &str, text: &str, switches: &[&str]) -> (PathBuf, Output) {
    let object = assemble(folder, target, text);
    fs::write(folder.join("image.ld"), SCRIPT).unwrap();
    let image = folder.join("image");
    let output = succeed(
        sframe_link()
            .current_dir(folder)
            .args(["-T", "image.ld", "-L", &scripts(), "--sframe-stats", "-o"])
            .arg(&image)
            .args(switches)
            .arg(object),
    );
    (image, output)
}
