//! A kernel for a Raspberry Pi 3: its vectors are those of the kernel for the board `virt`, and what boots is a flat file.

use std::fs;
use std::path::Path;
use std::process::Command;

use qemu::build::{Kernel, Profile};
use qemu::machine::Arch;
use qemu::setup;

use super::said::{Built, Said};
use super::short::kernel_of;
use super::steps;
use super::text::{guide, part};
use crate::support::built::target;
use crate::support::outside::{Outside, alone};

/// The heading of its part of the guide.
pub const HEADING: &str = "\n## A Raspberry Pi\n";
/// How many lines change.
pub const LINES: usize = 15;

/// The kernel before all changes.
pub fn without() -> Said {
    boot(|_| ())
}

/// The kernel after the changes of the guide, if `change` is made to it too.
pub fn with(change: impl FnOnce(&Path)) -> Said {
    boot(|kernel| {
        let lines = steps::apply(part(&guide(), HEADING), kernel.folder());
        assert_eq!(lines, LINES, "{HEADING}");
        kernel.name_repository("Cargo.toml");
        change(kernel.folder());
    })
}

fn boot(change: impl FnOnce(&Outside)) -> Said {
    let _alone = alone();
    let kernel = kernel_of("raspi");
    change(&kernel);
    let kind = Kernel {
        arch: Arch::Aarch64,
        profile: Profile::Debug,
    };
    let built = kernel.build(kind.arch, "guide", kind.profile, "corner-shop");
    let built = Built::keep(&built);
    let flat = built.beside("kernel8.img");
    flatten(&built.image, Path::new(&flat));
    let exit = ["-serial", "stdio", "-semihosting-config", "enable=on"];
    let machine = ["qemu-system-aarch64", "-M", "raspi3b", "-kernel", &flat];
    Said::of(kind, built, &[&machine[..], &exit].concat())
}

/// The bytes that the firmware copies to memory.
fn flatten(image: &Path, flat: &Path) {
    let objcopy = setup::program("llvm-objcopy", "llvm", &target()).expect("LLVM is to be had");
    let status = Command::new(objcopy)
        .args(["-O", "binary"])
        .args([image, flat])
        .status();
    assert!(status.expect("it starts").success(), "it is made");
}

/// The handler of breakpoints panics.
pub fn panic_at_breakpoints(folder: &Path) {
    let file = folder.join("src/exceptions.rs");
    let text = fs::read_to_string(&file).expect("it is there");
    let goes_on = "0x3c => context.elr += 4,";
    assert!(text.contains(goes_on), "{text}");
    let panics = "0x3c => panic!(\"nobody stops here\"),";
    fs::write(&file, text.replace(goes_on, panics)).expect("it can be written");
}
