//! The guide is true: its steps, taken out of its text and made to a kernel that knows nothing of unwinding, give the
//! report that it shows.

#[path = "guide/steps.rs"]
mod steps;
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use qemu::setup::RustSrc;
use qemu::{build, setup, workspace};
use support::built::target;
use support::runner::run;

/// The lines that the guide shows after the word `text`, with numbers left out: they are the compiler's affair.
fn shown(guide: &str) -> String {
    let (_, rest) = guide
        .split_once("```text\n")
        .expect("the guide shows a report");
    let (report, _) = rest.split_once("```").expect("the block has an end");
    without_numbers(report)
}

fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, number)) = rest.split_once("0x") {
        out += before;
        out += "0x";
        rest = number.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    out + rest
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

/// `cargo build` as the owner of the kernel in `folder` would say it, who has a nightly compiler, its source and, in
/// `programs`, `sframe-link`.
fn cargo_build(folder: &Path, programs: &Path, target: &Path) -> PathBuf {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_") && text != "CARGO_HOME" || text.contains("RUSTFLAGS") {
            command.env_remove(&name);
        }
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(programs.to_owned()).chain(std::env::split_paths(&path));
    command
        .current_dir(folder)
        .args(["build", "--quiet", "--target-dir"])
        .arg(target)
        .env("RUSTC_BOOTSTRAP", "1")
        .env(
            "PATH",
            std::env::join_paths(paths).expect("a path without a colon"),
        );
    let source = setup::rust_src(&self::target()).expect("the source of core is to be had");
    if let RustSrc::At(library) = source {
        command.env("__CARGO_TESTS_ONLY_SRC_ROOT", library);
    }
    let status = command.status().expect("cargo starts");
    assert!(status.success(), "the kernel is built");
    target.join("x86_64-unknown-none/debug/corner-shop")
}

#[test]
fn the_guide_leads_to_the_report_it_shows() {
    let root = workspace::root();
    let guide = fs::read_to_string(root.join("linker/GUIDE.md")).expect("the guide is there");
    // Outside of this workspace, whose settings are none of that kernel's.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    copy(&root.join("qemu/tests/guide/kernel"), folder);
    // So that nothing has to be asked for again.
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("a file can be copied");
    let linker = build::linker::build(&target()).expect("sframe-link is built");
    let programs = linker.parent().expect("a program lies in a folder");

    let script = Command::new(&linker).arg("--sframe-script").output();
    let script = script.expect("sframe-link starts").stdout;
    fs::write(folder.join("tables.ld"), script).expect("the file can be written");
    let mut lines = 0;
    let steps = steps::steps(&guide);
    for step in &steps {
        step.apply(folder);
        lines += step.added();
    }
    for file in ["Cargo.toml", "src/backtrace.rs"] {
        let path = folder.join(file);
        let text = fs::read_to_string(&path).expect("the file is there");
        let root = root.to_str().expect("a path of text");
        fs::write(path, text.replace("SFRAME", root)).expect("the file can be written");
    }
    println!("{} changes, {lines} lines added", steps.len());

    let image = cargo_build(folder, programs, &target().join("guide"));
    let ran = run(["--image".as_ref(), image.as_os_str()]).expect(101);
    let text = ran.text().replace('\r', "");
    let report = &text[text.find("exception ").expect("an exception")..];
    assert_eq!(without_numbers(report).trim_end(), shown(&guide).trim_end());
}
