//! A kernel that UEFI firmware starts from a disk, which the crate `bootloader` 0.11 makes, and whose loader moves the kernel.

use std::fs;
use std::path::Path;
use std::process::Command;

use object::Object;
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
pub const HEADING: &str = "\n## UEFI, by the crate `bootloader` 0.11\n";
/// How many lines change.
pub const LINES: usize = 8;
/// Where the kernel is built, and the program that makes disks, in the target folder.
const PLACE: &str = "guide";
/// The firmware, of Debian's and Ubuntu's package `ovmf`.
const FIRMWARE: &str = "/usr/share/ovmf/OVMF.fd";

/// The kernel before all changes.
pub fn without() -> Said {
    boot(Profile::Debug, |_| ())
}

/// The kernel after the changes of the guide, if `change` is made to it too.
pub fn with(profile: Profile, change: impl FnOnce(&Path)) -> Said {
    boot(profile, |kernel| {
        let lines = steps::apply(part(&guide(), HEADING), kernel.folder());
        assert_eq!(lines, LINES, "{HEADING}");
        kernel.name_repository("Cargo.toml");
        change(kernel.folder());
    })
}

fn boot(profile: Profile, change: impl FnOnce(&Outside)) -> Said {
    let (kept, machine) = prepare(profile, change);
    let kind = Kernel {
        arch: Arch::X86_64,
        profile,
    };
    let machine: Vec<&str> = machine.iter().map(String::as_str).collect();
    // Its own copy: where it was built, another test builds another one.
    let image = kept.image.clone();
    let said = Said::of(kind, kept, &machine);
    let moved = moved(&said.text, &image);
    said.moved_by(moved)
}

/// Builds the kernel with this change, and a disk with it. Returns both, and the command that boots.
pub fn prepare(profile: Profile, change: impl FnOnce(&Outside)) -> (Built, Vec<String>) {
    setup::file(Path::new(FIRMWARE), "ovmf", &target()).expect("firmware is to be had");
    let _alone = alone();
    let kernel = kernel_of("uefi");
    change(&kernel);
    let built = kernel.build(Arch::X86_64, PLACE, profile, "corner-shop");
    let kept = Built::keep(&built);
    let disk = kept.beside("uefi.img");
    make_disk(&built, Path::new(&disk));
    let drive = format!("format=raw,file={disk}");
    let exit = ["-device", "isa-debug-exit,iobase=0xf4", "-serial", "stdio"];
    let machine = ["qemu-system-x86_64", "-bios", FIRMWARE, "-drive", &drive];
    let machine = machine.into_iter().chain(exit).map(str::to_owned);
    (kept, machine.collect())
}

/// Makes the disk with a program of its own, which has the boot loader in it.
fn make_disk(kernel: &Path, disk: &Path) {
    let program = kernel_of("uefi_disk");
    let built = program.command(PLACE, Profile::Debug).status();
    assert!(built.expect("cargo starts").success(), "it is built");
    let program = target().join(PLACE).join("debug/disk");
    let status = Command::new(program).args([kernel, disk]).status();
    assert!(status.expect("it starts").success(), "the disk is made");
}

/// How far the boot loader says that it has moved the kernel.
fn moved(text: &str, image: &Path) -> u64 {
    let data = fs::read(image).expect("the image can be read");
    let file = object::File::parse(&*data).expect("the image is ELF");
    let (_, rest) = text
        .split_once("Jumping to kernel entry point at VirtAddr(0x")
        .expect(text);
    let (address, _) = rest.split_once(')').expect(rest);
    let address = u64::from_str_radix(address, 16).expect("an address");
    address - file.entry()
}
