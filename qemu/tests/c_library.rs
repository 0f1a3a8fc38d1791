//! The library of `kernel/c` for kernels that keep something in `x18`, built by the command of the guide.

use std::process::Command;

use qemu::setup;

use crate::guide::text::part;
use crate::support::built::target;
use crate::support::outside::{as_others_call_it, with_source};
use qemu::workspace;

/// The folder of the library's build, in the target folder.
const FOLDER: &str = "without-x18";

#[test]
fn the_library_that_the_guide_builds_for_kernels_that_keep_x18_does_not_use_it() {
    let section = part("c.md#AArch64");
    let commands = section.lines();
    let mut build = commands.filter(|line| line.contains("-Zfixed-x18"));
    let build = build.next().expect("the guide has the command");
    let target = target();
    let root = workspace::root().to_str().expect("a path of text");
    let mut shell = Command::new("sh");
    as_others_call_it(&mut shell);
    with_source(&mut shell);
    let output = shell
        .args(["-ec", &build.replace("SFRAME", root)])
        .env("CARGO_TARGET_DIR", target.join(FOLDER))
        .output()
        .expect("sh starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");

    let package = "binutils-aarch64-linux-gnu";
    let objdump = setup::program("aarch64-linux-gnu-objdump", package, &target);
    let objdump = objdump.expect("binutils are to be had");
    let library = "aarch64-unknown-none-softfloat/release/libunwind_kernel.a";
    let output = Command::new(objdump)
        .args(["--disassemble", "--no-show-raw-insn"])
        .arg(target.join(FOLDER).join(library))
        .output()
        .expect("objdump starts");
    let code = String::from_utf8_lossy(&output.stdout);
    let instructions = code.lines().filter(|line| line.contains(":\t"));
    assert!(instructions.clone().count() > 10_000);
    let is_x18 = |word: &str| ["x18", "w18"].contains(&word);
    let mut uses = instructions.filter(|line| {
        let mut words = line.split(|c: char| !c.is_alphanumeric());
        words.any(is_x18)
    });
    assert_eq!(uses.next(), None);
}
