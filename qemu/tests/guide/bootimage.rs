//! A kernel that the crate `bootloader` starts from a disk, which is made as the program `bootimage` makes it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use qemu::build::Kernel;
use qemu::{setup, workspace};
use serde_json::Value;

use super::builds::{PLACE, Sources, compile};
use super::said::Said;
use super::short::{HANDLERS, Kind};
use crate::support::built::target;
use crate::support::outside::{Outside, as_others_call_it, with_source};

pub const BOOTIMAGE: Kind = Kind {
    name: "bootimage",
    page: "bootloader-0.9.md",
    lines: 7,
    boot,
    ..HANDLERS
};

fn boot(sources: Sources, kernel: Kernel) -> Said {
    let built = sources.once(kernel.profile, |sources, to| {
        compile(sources, "x86_64-corner_shop", kernel.profile, to);
        make_disk(sources, &to.join("corner-shop"), &to.join("disk.img"));
    });
    // Several machines may read the disk at the same time.
    let disk = built.beside("disk.img");
    let drive = format!("format=raw,snapshot=on,file={disk}");
    let exit = ["-device", "isa-debug-exit,iobase=0xf4"];
    let machine = ["qemu-system-x86_64", "-drive", &drive, "-serial", "stdio"];
    Said::of(kernel, built, &[&machine[..], &exit].concat())
}

/// The disk: the boot loader is built with the kernel in it, and its bytes are those of the disk.
fn make_disk(kernel: &Outside, image: &Path, disk: &Path) {
    let program = |name| setup::program(name, "llvm", &target()).expect("LLVM is to be had");
    let folder = kernel.folder().join("llvm");
    let tools = folder.join("lib/rustlib/host/bin");
    fs::create_dir_all(&tools).expect("a folder can be made");
    for name in ["llvm-objdump", "llvm-size", "llvm-objcopy", "llvm-ar"] {
        symlink(program(name), tools.join(name)).expect("a link can be made");
    }
    // The boot loader looks for LLVM's programs where rustup puts them as a component of the toolchain.
    let rustc = sysroot().join("bin/rustc");
    let told = format!(
        "#!/bin/sh\ncase \"$*\" in '--print sysroot') echo '{}';; *) exec '{}' \"$@\";; esac\n",
        folder.display(),
        rustc.display()
    );
    let script = folder.join("rustc");
    fs::write(&script, told).expect("a script can be written");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(folder.clone()).chain(std::env::split_paths(&path));

    let place = target().join(PLACE).join("bootloader");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    as_others_call_it(&mut command);
    with_source(&mut command);
    let features = ["--features", "binary,map_physical_memory"];
    let status = command
        .current_dir(sources(kernel))
        .args(["build", "--quiet", "--release", "--locked"])
        .args(["--bin", "bootloader", "-Zbuild-std=core"])
        .args(["--target", "x86_64-bootloader.json"])
        .args(features)
        .arg("--target-dir")
        .arg(&place)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTC", rustc)
        .env("PATH", std::env::join_paths(path).expect("no colon"))
        .env("KERNEL", image)
        .env("KERNEL_MANIFEST", kernel.folder().join("Cargo.toml"))
        .status();
    assert!(status.expect("cargo starts").success(), "it is built");
    let status = Command::new(program("llvm-objcopy"))
        .args(["-I", "elf64-x86-64", "-O", "binary"])
        .arg(place.join("x86_64-bootloader/release/bootloader"))
        .arg(disk)
        .status();
    assert!(status.expect("it starts").success(), "the disk is made");
    let file = fs::OpenOptions::new().write(true).open(disk);
    let file = file.expect("the disk is there");
    let size = file.metadata().expect("it has a size").len();
    file.set_len(size.next_multiple_of(512)).expect("sectors");
}

/// The folder of the compiler.
fn sysroot() -> PathBuf {
    let output = Command::new("rustc")
        .args(["--print", "sysroot"])
        .current_dir(workspace::root())
        .output()
        .expect("rustc starts");
    let path = String::from_utf8(output.stdout).expect("a path in UTF-8");
    path.trim_end().into()
}

/// The folder of the boot loader's source, which cargo has fetched.
fn sources(kernel: &Outside) -> PathBuf {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    as_others_call_it(&mut command);
    let output = command
        .current_dir(kernel.folder())
        .args(["metadata", "--format-version", "1"])
        .output()
        .expect("cargo starts");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let mut packages = packages.iter();
    let found = packages.find(|package| package["name"] == "bootloader");
    let manifest = found.and_then(|package| package["manifest_path"].as_str());
    let manifest = Path::new(manifest.expect("the kernel needs it"));
    manifest.parent().expect("it lies in a folder").to_owned()
}
