//! A kernel that a Makefile builds, with `RUSTFLAGS`, and boots from an ISO by GRUB.

use std::fs;
use std::path::Path;
use std::process::Command;

use qemu::build::Kernel;
use qemu::setup;

use super::builds::{PLACE, Sources};
use super::said::Said;
use super::short::{HANDLERS, Kind};
use crate::support::built::target;
use crate::support::outside::{Outside, as_others_call_it};
use crate::support::runner::{Ran, command};

pub const MAKEFILE: Kind = Kind {
    name: "makefile",
    page: "makefile.md",
    lines: 8,
    boot,
    ..HANDLERS
};

/// The Makefile boots what it builds. What was built before is booted by the same command.
fn boot(sources: Sources, kernel: Kernel) -> Said {
    let mut ran = None;
    let built = sources.once(kernel.profile, |sources, to| {
        ran = Some(make(sources));
        for (file, name) in [
            ("iso/boot/corner-shop", "corner-shop"),
            ("corner-shop.iso", "corner-shop.iso"),
        ] {
            let file = sources.folder().join(file);
            fs::copy(file, to.join(name)).expect("a file can be copied");
        }
    });
    let iso = built.beside("corner-shop.iso");
    let exit = ["-device", "isa-debug-exit,iobase=0xf4"];
    let machine = ["qemu-system-x86_64", "-m", "128M", "-cdrom", &iso];
    let machine = [&machine[..], &exit].concat();
    match ran {
        Some(ran) => Said::of_run(kernel, built, &machine, ran),
        None => Said::of(kernel, built, &machine),
    }
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
        .env("CARGO_TARGET_DIR", target().join(PLACE))
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
