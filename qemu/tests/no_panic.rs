//! The proof that nothing in `unwind` can panic: an image that calls all of it links although its panic handler calls a
//! function that is nowhere defined. With one panic put in reach it does not.

use std::ffi::OsStr;
use std::process::{Command, Output};

use crate::support::built::target;
use qemu::build::bare_metal;
use qemu::machine::Arch;

/// The function that is nowhere defined.
const UNDEFINED: &str = "a_panic_is_reachable";

fn cargo(subcommand: &str, arch: Arch) -> Command {
    let command = bare_metal(subcommand, arch, OsStr::new("rust-lld"), &target());
    let mut command = command.expect("core is to be had");
    command.args([
        "--release",
        "--manifest-path",
        "unwind/tests/no_panic/Cargo.toml",
    ]);
    command
}

fn output(mut command: Command) -> (Output, String) {
    let output = command
        .stderr(std::process::Stdio::piped())
        .output()
        .expect("cargo can be started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

#[test]
fn an_image_that_calls_everything_links_without_a_panic() {
    for arch in Arch::ALL {
        let (output, said) = output(cargo("build", arch));
        assert!(output.status.success(), "{said}");
    }
}

#[test]
fn with_a_panic_in_reach_it_does_not_link() {
    for arch in Arch::ALL {
        let mut command = cargo("build", arch);
        command.args(["--features", "panics"]);
        let (output, said) = output(command);
        assert!(
            !output.status.success(),
            "a panic was in reach of the linker"
        );
        assert!(
            said.contains(&format!("undefined symbol: {UNDEFINED}")),
            "{said}"
        );
    }
}

#[test]
fn with_defmt_it_compiles_for_bare_metal() {
    for arch in Arch::ALL {
        let mut command = cargo("check", arch);
        command.args(["--features", "defmt"]);
        let (output, said) = output(command);
        assert!(output.status.success(), "{said}");
    }
}
