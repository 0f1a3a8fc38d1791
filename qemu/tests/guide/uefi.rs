//! A kernel that UEFI firmware starts from a disk, which the crate `bootloader` 0.11 makes, and whose loader moves the kernel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use object::Object;
use qemu::build::{Kernel, Profile};
use qemu::setup;

use super::builds::{Built, PLACE, Sources, compile, outside};
use super::said::Said;
use super::short::{HANDLERS, Kind};
use crate::support::built::target;
use crate::support::outside::with_source;

pub const UEFI: Kind = Kind {
    name: "uefi",
    page: "bootloader-0.11.md",
    lines: 7,
    boot,
    ..HANDLERS
};

/// The firmware, of Debian's and Ubuntu's package `ovmf`.
const FIRMWARE: &str = "/usr/share/ovmf/OVMF.fd";

fn boot(sources: Sources, kernel: Kernel) -> Said {
    let (built, machine) = prepare(sources, kernel);
    let machine: Vec<&str> = machine.iter().map(String::as_str).collect();
    let image = built.image.clone();
    let said = Said::of(kernel, built, &machine);
    let moved = moved(&said.text, &image);
    assert_ne!(moved, 0, "{}", said.text);
    said.moved_by(moved)
}

/// Builds the kernel, and a disk with it. Returns the image, and the command that boots the disk.
pub fn prepare(sources: Sources, kernel: Kernel) -> (Built, Vec<String>) {
    setup::file(Path::new(FIRMWARE), "ovmf", &target()).expect("firmware is to be had");
    let built = sources.once(kernel.profile, |sources, to| {
        compile(sources, kernel.arch.triple(), kernel.profile, to);
        let status = Command::new(disk_maker())
            .args(["corner-shop", "uefi.img"])
            .current_dir(to)
            .status();
        assert!(status.expect("it starts").success(), "the disk is made");
    });
    // Several machines may read the disk at the same time.
    let disk = built.beside("uefi.img");
    let drive = format!("format=raw,snapshot=on,file={disk}");
    let exit = ["-device", "isa-debug-exit,iobase=0xf4", "-serial", "stdio"];
    let machine = ["qemu-system-x86_64", "-bios", FIRMWARE, "-drive", &drive];
    let machine = machine.into_iter().chain(exit).map(str::to_owned);
    (built, machine.collect())
}

/// The program that makes disks, which has the boot loader in it. Built while the sources of a kernel are held.
fn disk_maker() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let program = outside("uefi_disk");
        let mut command = program.command(PLACE, Profile::Debug);
        with_source(&mut command);
        let status = command.status();
        assert!(status.expect("cargo starts").success(), "it is built");
        target().join(PLACE).join("debug/disk")
    })
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
