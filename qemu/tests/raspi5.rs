//! A Raspberry Pi 5, which no QEMU has: the kernel is told by the device tree that Linux publishes that it runs on one. Where that board
//! has its serial port, QEMU's `virt` has memory here, so the test finds there what the driver wrote last to each register.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::built::{emulator, image, target};
use qemu::build::{Kernel, Profile};
use qemu::machine::Arch;
use qemu::raspi::flat;
use qemu::setup;

/// The physical address of `serial@7d001000` in `bcm2712.dtsi`: what `soc` has at 0 is at 0x10_0000_0000 for the processor.
const SERIAL_PORT: u64 = 0x10_0000_0000 + 0x7d00_1000;

/// Where `virt` has RAM: from here on, and so much that the serial port is in it. It is a file with holes.
const RAM: u64 = 0x4000_0000;
const SIZE: &str = "66G";

/// Registers of the PL011, by offset in bytes ("PrimeCell UART (PL011) Technical Reference Manual", 3.3).
const DATA: u64 = 0;
const INTEGER_BAUD: u64 = 0x24;
const FRACTIONAL_BAUD: u64 = 0x28;
const LINE_CONTROL: u64 = 0x2c;
const CONTROL: u64 = 0x30;

/// Boots the kernel with this tree, to the end of a report, and returns the RAM.
fn booted(profile: Profile, folder: &Path) -> File {
    let trees = setup::raspi_trees(&target()).expect("they can be fetched");
    let arch = Arch::Aarch64;
    let flat = flat(&image(Kernel { arch, profile })).expect("a flat image");
    let kernel = folder.join("kernel8.img");
    fs::write(&kernel, flat).expect("room for it");
    let ram = folder.join("ram");
    let backend = format!(
        "memory-backend-file,id=ram,share=on,size={SIZE},mem-path={}",
        ram.display()
    );
    let output = Command::new(emulator(arch))
        .args(["-object", &backend])
        .args(["-M", "virt,memory-backend=ram", "-m", SIZE])
        .args(["-cpu", "cortex-a76", "-display", "none", "-semihosting"])
        .args(["-monitor", "none", "-serial", "file:/dev/stdout"])
        .args(["-append", "panic", "-kernel"])
        .arg(kernel)
        .arg("-dtb")
        .arg(trees.join("bcm2712-rpi-5-b.dtb"))
        .stdin(Stdio::null())
        .output()
        .expect("QEMU starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(101), "{text}");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "",
        "virt's own port"
    );
    File::open(ram).expect("QEMU has made it")
}

fn the_serial_port_is_that_of_the_board(profile: Profile) {
    let folder = tempfile::tempdir().expect("a folder");
    let ram = booted(profile, folder.path());
    let register = |offset| {
        let mut word = [0; 4];
        ram.read_exact_at(&mut word, SERIAL_PORT - RAM + offset)
            .expect("in the file");
        u32::from_le_bytes(word)
    };
    assert_eq!(register(DATA), u32::from(b'\n'), "the last line's end");
    // 9,216,000 Hz, as the tree has it, are 16 times 115,200 baud times 5.
    assert_eq!((register(INTEGER_BAUD), register(FRACTIONAL_BAUD)), (5, 0));
    // Eight bits, FIFOs; the port, its sender and its receiver are on.
    assert_eq!(register(LINE_CONTROL) & 0x7f, 0x70);
    assert_eq!(register(CONTROL) & 0x301, 0x301);
}

#[gate]
fn the_serial_port_is_that_of_the_board_debug() {
    the_serial_port_is_that_of_the_board(Profile::Debug);
}

#[long]
fn the_serial_port_is_that_of_the_board_release() {
    the_serial_port_is_that_of_the_board(Profile::Release);
}
