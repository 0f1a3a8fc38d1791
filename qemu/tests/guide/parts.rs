//! Writes the kernels of the guide, each from the folders and files that it is made of.

use std::fs;
use std::path::Path;

use super::steps;

/// The folder of all parts.
const PARTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guide");

/// The file that describes a part, and shows the changes in files of the parts before it.
const CHANGES: &str = "README.md";

/// Each kernel or program that boots one, and its parts in order. A part is a file of another kernel, or a folder. A folder's files replace
/// files of earlier parts, and then its changes are made.
pub const KERNELS: [(&str, &[&str]); 17] = [
    ("kernel", &["kernel"]),
    ("handlers", &["kernel", "handlers"]),
    ("higher", &["kernel", "handlers", "higher"]),
    ("cpus", &["kernel", "handlers", "cpus"]),
    ("makefile", &["kernel", "makefile"]),
    (
        "handlers_alone",
        &[BOOT, SERIAL, SCRIPT, "../handlers/kernel"],
    ),
    ("limine", &[MAIN, SERIAL, SHOP, "handlers", "limine"]),
    ("limine_loader", &[SERIAL, SCRIPT, "limine_loader"]),
    ("bootimage", &[SHOP, "bootimage"]),
    ("uefi", &[SHOP, "bootimage", "uefi"]),
    ("uefi_disk", &["uefi_disk"]),
    ("aarch64", &[SHOP, "aarch64"]),
    ("vectors", &[SHOP, "aarch64", "vectors"]),
    ("moved", &[SHOP, "aarch64", "vectors", "moved"]),
    ("raspi", &[SHOP, "aarch64", "vectors", "raspi"]),
    (
        "cpus_aarch64",
        &[
            SHOP,
            "aarch64",
            "vectors",
            "cpus/src/staff.rs",
            "cpus_aarch64",
        ],
    ),
    ("armv7a", &[SHOP, "aarch64/src/serial.rs", "armv7a"]),
];

const BOOT: &str = "kernel/src/boot.s";
const MAIN: &str = "kernel/src/main.rs";
const SCRIPT: &str = "kernel/kernel.ld";
const SERIAL: &str = "kernel/src/serial.rs";
const SHOP: &str = "kernel/src/shop.rs";

/// Writes all files of a kernel to a folder.
pub fn write(kernel: &str, folder: &Path) {
    let found = KERNELS.iter().find(|(name, _)| *name == kernel);
    let (_, parts) = found.unwrap_or_else(|| panic!("the guide has no kernel {kernel}"));
    for part in *parts {
        let from = Path::new(PARTS).join(part);
        if from.is_dir() {
            copy(&from, folder);
            if let Ok(changes) = fs::read_to_string(from.join(CHANGES)) {
                steps::apply(&changes, folder);
            }
        } else {
            let (_, name) = part.split_once('/').expect("a file in a folder");
            copy(&from, &folder.join(name));
        }
    }
}

/// Copies a file, or a folder except the description of the part.
fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        for entry in fs::read_dir(from).expect("a folder can be read") {
            let name = entry.expect("a folder can be read").file_name();
            if name != CHANGES {
                copy(&from.join(&name), &to.join(&name));
            }
        }
    } else {
        let folder = to.parent().expect("a file is in a folder");
        fs::create_dir_all(folder).expect("a folder can be made");
        fs::copy(from, to).expect("a file can be copied");
    }
}
