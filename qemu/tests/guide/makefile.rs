//! A kernel that a Makefile builds, with `RUSTFLAGS`, and boots from an ISO by GRUB.

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
use crate::support::outside::{Outside, alone, as_others_call_it};
use crate::support::runner::{Ran, command};

/// The heading of its part of the guide.
pub const HEADING: &str = "\n## A Makefile with `RUSTFLAGS`, and an ISO\n";
/// How many lines change.
pub const LINES: usize = 7;

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
    let kernel = kernel_of("makefile");
    change(&kernel);
    let ran = make(&kernel);
    let built = kernel.folder().join("iso/boot/corner-shop");
    let kind = Kernel {
        arch: Arch::X86_64,
        profile: Profile::Debug,
    };
    let built = Built::keep(&built);
    let iso = built.beside("corner-shop.iso");
    fs::copy(kernel.folder().join("corner-shop.iso"), &iso).expect("the disk can be copied");
    let exit = ["-device", "isa-debug-exit,iobase=0xf4"];
    let machine = ["qemu-system-x86_64", "-m", "128M", "-cdrom", &iso];
    Said::of_run(kind, built, &[&machine[..], &exit].concat(), ran)
}

/// `make run`, which has one exit status for all that go wrong; QEMU's or the runner's is in what it says.
fn make(kernel: &Outside) -> Ran {
    for (name, package) in [
        ("make", "make"),
        ("xorriso", "xorriso"),
        ("grub-mkrescue", "grub-common"),
    ] {
        setup::program(name, package, &target()).expect("it is to be had");
    }
    let grub = Path::new("/usr/lib/grub/i386-pc/multiboot.mod");
    setup::file(grub, "grub-pc-bin", &target()).expect("GRUB is to be had");
    let runner = command();
    let runner = Path::new(runner.get_program()).parent();
    let programs = runner.expect("a program lies in a folder").to_owned();
    let path = kernel.path();
    let path = std::iter::once(programs).chain(std::env::split_paths(&path));
    let mut make = Command::new("make");
    as_others_call_it(&mut make);
    let output = make
        .args(["--silent", "run"])
        .current_dir(kernel.folder())
        .env("PATH", std::env::join_paths(path).expect("no colon"))
        .env("CARGO_TARGET_DIR", target().join("guide"))
        .env("RUSTC_BOOTSTRAP", "1")
        .output()
        .expect("make starts");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let status = match words.contains("run] Error 101\n") {
        true => 101,
        false => output.status.code().expect("make is not killed"),
    };
    Ran {
        status,
        serial: output.stdout,
        words,
    }
}

/// Where the setting is that does not count.
pub fn set_in_config(folder: &Path) {
    let makefile = folder.join("Makefile");
    let text = fs::read_to_string(&makefile).expect("it is there");
    let flag = " -Clink-arg=--sframe-outermost=long_mode";
    assert!(text.contains(flag), "{text}");
    fs::write(&makefile, text.replace(flag, "")).expect("it can be written");
    let config = folder.join(".cargo/config.toml");
    let text = fs::read_to_string(&config).expect("it is there");
    let setting = "\n[target.x86_64-unknown-none]\nrustflags = [\"-Clink-arg=--sframe-outermost=long_mode\"]\n";
    fs::write(&config, text + setting).expect("it can be written");
}
