//! The public API of each published crate is what is stored beside its `Cargo.toml`, so that a review sees each change of
//! it. `API=write cargo test --test static_checks api::` stores what there is now.
//!
//! It is what rustdoc says, as JSON, which is not stable yet: `public-api` must know the format of the toolchain in use.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::built::target;
use public_api::Builder;
use qemu::build::{FOLDER, bare_metal, cargo};
use qemu::machine::Processor;
use qemu::workspace;
use similar::TextDiff;

/// Documents a library as JSON in a folder `doc` below `documents`, and lists its items. Blanket implementations and auto traits
/// are left out: the library does not say them.
fn api(mut rustdoc: Command, package: &str, library: &str, documents: &Path) -> String {
    let output = rustdoc
        .args(["--package", package, "--lib", "--all-features"])
        .args(["--", "-Zunstable-options", "--output-format=json"])
        .stderr(Stdio::piped())
        .output()
        .expect("cargo can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{package}: {said}");
    let file = documents.join("doc").join(library).with_extension("json");
    Builder::from_rustdoc_json(file)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .build()
        .expect("rustdoc wrote JSON of the format that `public-api` knows")
        .to_string()
}

/// The items are those in the file `stored`, or are written there.
fn compare(now: &str, stored: &str) {
    let path = workspace::root().join(stored);
    if std::env::var_os("API").is_some_and(|value| value == "write") {
        fs::write(path, now).expect("the listing can be written");
        return;
    }
    let before = fs::read_to_string(path).unwrap_or_default();
    let difference = TextDiff::from_lines(&*before, now);
    assert!(
        before == now,
        "what is public has changed; if that is meant: API=write cargo test --test static_checks api::\n{}",
        difference
            .unified_diff()
            .context_radius(1)
            .header(stored, "now")
    );
}

/// The same for a library that is built for this machine. In a target folder of its own: build scripts look at
/// `RUSTC_BOOTSTRAP`, so in the shared one every dependency would be built again each time.
fn compare_here(package: &str, library: &str, stored: &str) {
    let target = target().join("api");
    let mut rustdoc = cargo("rustdoc");
    rustdoc
        .arg("--target-dir")
        .arg(&target)
        .env("RUSTC_BOOTSTRAP", "1");
    compare(&api(rustdoc, package, library, &target), stored);
}

#[test]
fn unwind() {
    compare_here("sframe-unwind", "unwind", "unwind/API.txt");
}

#[test]
fn row_checker() {
    compare_here(
        "sframe-row-checker",
        "row_checker",
        "linker/row-checker/API.txt",
    );
}

#[test]
fn arm_instructions() {
    compare_here(
        "sframe-arm-instructions",
        "arm_instructions",
        "linker/arm-instructions/API.txt",
    );
}

#[test]
fn linker() {
    compare_here("sframe-link", "linker", "linker/API.txt");
}

/// It has other trap frames on each architecture.
#[test]
fn postmortem() {
    for processor in Processor::ALL {
        let rustdoc = bare_metal("rustdoc", processor, OsStr::new("rust-lld"), &target());
        let mut rustdoc = rustdoc.expect("core is to be had");
        rustdoc.env("RUSTC_BOOTSTRAP", "1");
        let documents = target().join(FOLDER).join(processor.triple());
        let now = api(rustdoc, "kernel-postmortem", "postmortem", &documents);
        compare(&now, &format!("kernel/postmortem/API.{processor}.txt"));
    }
}
