//! Makes a disk for UEFI firmware, with the boot loader and a kernel: `disk KERNEL DISK`.

use std::env::args_os;
use std::path::PathBuf;

fn main() {
    let files: Vec<_> = args_os().skip(1).map(PathBuf::from).collect();
    let [kernel, disk] = &*files else {
        panic!("disk KERNEL DISK");
    };
    let boot = bootloader::UefiBoot::new(kernel);
    boot.create_disk_image(disk).expect("the disk is made");
}
