//! A kernel for a Raspberry Pi 3: its vectors are those of the kernel for the board `virt`, and what boots is a flat file.

use std::fs;
use std::path::Path;
use std::process::Command;

use qemu::build::Kernel;
use qemu::setup;

use super::builds::{Sources, compile};
use super::said::Said;
use super::short::{Kind, VECTORS};
use crate::support::built::target;

pub const RASPI: Kind = Kind {
    name: "raspi",
    page: "raspberry-pi.md",
    lines: 9,
    boot,
    ..VECTORS
};

fn boot(sources: Sources, kernel: Kernel) -> Said {
    let built = sources.once(kernel.profile, |sources, to| {
        compile(sources, kernel.arch.triple(), kernel.profile, to);
        flatten(&to.join("corner-shop"), &to.join("kernel8.img"));
    });
    let flat = built.beside("kernel8.img");
    let exit = ["-serial", "stdio", "-semihosting-config", "enable=on"];
    let machine = ["qemu-system-aarch64", "-M", "raspi3b", "-kernel", &flat];
    Said::of(kernel, built, &[&machine[..], &exit].concat())
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
