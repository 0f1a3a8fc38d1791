//! `sframe-link` by hand: what it passes on, and what it refuses.

mod alone;
mod links;
mod passed;
mod refused;
mod tables;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{SCRIPT, folder, image, scripts, sframe, stderr, stdout, succeed};
use linker::image::Image;
use unwind::sframe::format::{
    CHECKSUM_SIZE, CODE_CHECKSUM_SIZE, CODE_CHECKSUMS_SIZE, LINKED_SIZE, PROOF_SIZE, UNPROVEN_SIZE,
};

/// Links an assembled program by hand.
fn link(folder: &Path, script: &str, arguments: &[&str]) -> Output {
    fs::write(folder.join("image.ld"), script).unwrap();
    crate::common::sframe_link()
        .current_dir(folder)
        .args([
            "-flavor",
            "gnu",
            "-L",
            &scripts(),
            "-T",
            "image.ld",
            "-o",
            "image",
        ])
        .args(arguments)
        .output()
        .unwrap()
}

/// A function of which only `.debug_frame` says how its frame is.
fn only_in_debug_frame(name: &str) -> String {
    let text = "
.cfi_sections .debug_frame
.globl NAME
.type NAME, %function
NAME:
.cfi_startproc
 push %rbp
 .cfi_def_cfa_offset 16
 .cfi_offset rbp, -16
 pop %rbp
 ret
.cfi_endproc
.size NAME, . - NAME
";
    text.replace("NAME", name)
}

const CALLS: &str = "
.globl _start
.type _start, %function
_start:
.cfi_startproc
 call callee
 hlt
.cfi_endproc
.size _start, . - _start
.type callee, %function
callee:
.cfi_startproc
 ret
.cfi_endproc
.size callee, . - callee
";

const TARGET: &str = "x86_64-unknown-linux-gnu";

fn assembled(name: &str, text: &str) -> (PathBuf, String) {
    let folder = folder(name);
    let object = crate::common::assemble(&folder, TARGET, text);
    (folder, object.display().to_string())
}

/// A link that must fail with one line, and leave nothing behind that could be taken for an image.
fn refuses(folder: &Path, output: &Output, expected: &str) {
    assert_eq!(output.status.code(), Some(1), "{}", stderr(output));
    let errors = stderr(output);
    let own: Vec<&str> = errors
        .lines()
        .filter(|line| line.contains("sframe-link: error"))
        .collect();
    assert_eq!(own, [format!("sframe-link: error: {expected}")], "{errors}");
    assert!(!folder.join("image").exists());
}

/// What `sframe make` says of a file with this byte in it.
fn damaged_and_made(folder: &Path, data: &[u8], at: usize, value: u8) -> String {
    let mut data = data.to_vec();
    data[at..at + 4].fill(value);
    let path = folder.join("damaged");
    fs::write(&path, data).unwrap();
    let output = sframe(
        &["make", "-o", folder.join("made").to_str().unwrap()],
        &path,
    );
    assert_eq!(output.status.code(), Some(1));
    stderr(&output)
}

/// A linker that writes a line for each run.
fn counting_linker(folder: &Path) -> PathBuf {
    let ask = |argument: &str| {
        stdout(&succeed(
            crate::common::rustc().arg("--print").arg(argument),
        ))
    };
    let (sysroot, host) = (ask("sysroot"), ask("host-tuple"));
    let script = format!(
        "#!/bin/sh\necho run $* >> runs\ncase $1 in -flavor) shift 2;; esac\nexec {}/lib/rustlib/{}/bin/rust-lld -flavor gnu \"$@\"\n",
        sysroot.trim(),
        host.trim()
    );
    let path = folder.join("counting-ld");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}
