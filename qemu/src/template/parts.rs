//! Writes the kernels of the guide, each from the folders and files that it is made of.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::files::FILES;
use super::steps;

/// The file that describes a part, and shows the changes in files of the parts before it.
const CHANGES: &str = "README.md";

/// The manifest of a part, and its name in a kernel. Cargo does not pack a folder that has a `Cargo.toml` of its own.
const MANIFEST: [&str; 2] = ["manifest.toml", "Cargo.toml"];

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
///
/// # Errors
/// Returns an error if the guide has no such kernel, or a file cannot be written.
pub fn write(kernel: &str, folder: &Path) -> Result<()> {
    let found = KERNELS.iter().find(|(name, _)| *name == kernel);
    let (_, parts) = found.with_context(|| {
        format!("the kernel guide (docs/guide) contains no example kernel named {kernel}")
    })?;
    for part in *parts {
        match FILES.iter().find(|(path, _)| path == part) {
            Some((path, text)) => {
                let (_, name) = path.split_once('/').unwrap_or(("", path));
                put(&folder.join(name), text)?;
            }
            None => write_folder(part, folder)?,
        }
    }
    Ok(())
}

/// Writes all files of a part to a folder, and then makes the changes of the part.
fn write_folder(part: &str, folder: &Path) -> Result<()> {
    let files = FILES.iter().filter_map(|(path, text)| {
        let name = path.strip_prefix(part)?.strip_prefix('/')?;
        Some((name, text))
    });
    let mut changes = None;
    for (name, text) in files {
        match name {
            CHANGES => changes = Some(text),
            name if name == MANIFEST[0] => put(&folder.join(MANIFEST[1]), text)?,
            name => put(&folder.join(name), text)?,
        }
    }
    if let Some(changes) = changes {
        steps::apply(changes, folder)?;
    }
    Ok(())
}

/// Writes a file, and makes its folder.
fn put(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, text))
        .with_context(|| format!("cannot write {}", path.display()))
}
