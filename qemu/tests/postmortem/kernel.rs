//! The kernel of the guide, after its changes.

use std::fs;
use std::path::Path;
use std::time::Duration;

use qemu::build::{Kernel, Profile};
use qemu::machine::{Arch, Boot, Verdict};

use crate::guide::builds::{PLACE, Sources};
use crate::guide::steps;
use crate::guide::text::part;
use crate::support::boots::boot_machine;

/// Most lines that the changes may add and remove.
const LINES: usize = 42;

/// The kernel after all changes.
fn kernel(arch: Arch) -> Sources {
    let (name, place) = match arch {
        Arch::X86_64 => ("kernel", "platform.md#On x86-64"),
        Arch::Aarch64 => ("aarch64", "platform.md#On AArch64"),
    };
    let kernel = Sources::of(name);
    let lines = steps::apply(&part(place), kernel.folder());
    println!("{lines} lines changed");
    assert!((1..=LINES).contains(&lines), "{lines} lines");
    kernel.name_repository("Cargo.toml");
    kernel
}

/// Whether the kernel can be built after this change, and what cargo says.
pub fn builds(arch: Arch, change: impl FnOnce(&Path)) -> (bool, String) {
    let kernel = kernel(arch);
    change(kernel.folder());
    let output = kernel.command(PLACE, Profile::Debug).output();
    let output = output.expect("cargo starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), said)
}

/// What the kernel says until it resets the machine for the first time, and what it says after that, if `change` is made to it:
/// in its folder something goes wrong.
pub fn boot(arch: Arch, change: impl FnOnce(&Path)) -> (String, String) {
    let kernel = kernel(arch);
    change(kernel.folder());
    let profile = Profile::Debug;
    let built = kernel.build(Kernel { arch, profile });
    let boot = Boot {
        // Only one of them runs, unless the kernel starts the other.
        cpus: 2,
        reboots: true,
        limit: Some(Duration::from_secs(300)),
        ..Boot::new(arch, &built.image, "")
    };
    let booted = boot_machine(&boot);
    let text = String::from_utf8_lossy(&booted.serial).replace('\r', "");
    assert_eq!(booted.verdict, Verdict::Panicked, "{text}");
    let (before, after) = text
        .split_once("epitaph, the last output before the reset:\n")
        .unwrap_or_else(|| panic!("no last words in:\n{text}"));
    (before.to_owned(), after.to_owned())
}

/// The same, of the kernel whose shop goes wrong in this way.
pub fn boot_with(arch: Arch, shop: &str) -> (String, String) {
    boot(arch, |folder| {
        fs::write(folder.join("src/shop.rs"), shop).expect("the file can be written");
    })
}

/// Changes a file of this kernel: each of the texts is there, and is replaced.
pub fn replace(folder: &Path, file: &str, texts: &[(&str, &str)]) {
    let path = folder.join(file);
    let mut text = fs::read_to_string(&path).expect("it is there");
    for (old, new) in texts {
        assert!(text.contains(old), "no {old} in {text}");
        text = text.replace(old, new);
    }
    fs::write(path, text).expect("the file can be written");
}
