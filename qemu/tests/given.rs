//! Images that are booted by somebody's own command.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::built::{image, kernel};
use crate::support::report::Report;
use crate::support::runner::{Ran, installed, run, until_time_runs_out};
use crate::support::tiny::{self, Act};
use qemu::machine::Arch;

/// `unwind-qemu --image IMAGE ARGUMENTS -- COMMAND`, with `IMAGE` in the command for the image.
fn boot(image: &Path, arguments: &[&str], given: &str) -> Ran {
    let image = image.to_str().expect("a path in UTF-8");
    let given = given.replace("IMAGE", image);
    let words = ["--image", image].into_iter().chain(arguments.to_owned());
    run(words.chain(["--"]).chain(given.split(' ')))
}

const PC: &str = "qemu-system-x86_64 -M q35 -cpu max -m 300M -device isa-debug-exit,iobase=0xf4";
const VIRT: &str = "qemu-system-aarch64 -M virt -cpu max -m 300M -semihosting-config enable=on";

#[test]
fn the_machine_is_as_they_say_and_the_verdict_is_the_kernels() {
    for (name, machine) in [("x86_64_release", PC), ("aarch64_debug", VIRT)] {
        let image = image(kernel(name));
        for line in [
            "-serial stdio",
            "-nographic",
            "-serial mon:stdio -display none",
        ] {
            let given = format!("{machine} {line} -smp 2 -kernel IMAGE -append panic");
            let ran = boot(&image, &["--decode"], &given).expect(101);
            let report = Report::find(&ran.serial);
            report.expect_complete();
            assert_eq!(
                report.names().last(),
                Some(&"kernel_entry"),
                "{}",
                ran.text()
            );
            assert!(ran.text().contains("scenario panic\n"), "{}", ran.text());
        }
    }
}

/// A script makes what boots, and hands on what the runner adds.
#[test]
fn a_script_may_start_it() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let image = image(kernel("aarch64_debug"));
    let script = folder.path().join("boot");
    let machine = format!("{VIRT} -kernel \"$image\" -append ok");
    let text = format!("#!/bin/sh\nimage=$1\nshift\nexec {machine} \"$@\"\n");
    fs::write(&script, text).expect("a script can be written");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let given = format!("{} IMAGE", script.display());
    let ran = boot(&image, &[], &given).expect(0);
    assert!(ran.text().contains("scenario ok\n"), "{}", ran.text());
}

/// Nothing says less because the command is theirs: it has hung, and where.
#[test]
fn a_machine_that_hangs_is_asked() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let image = tiny::image(
        folder.path(),
        Arch::X86_64,
        &[Act::Print(b"here"), Act::Hang],
    );
    let given = format!("{PC} -nographic -kernel IMAGE");
    let ran = until_time_runs_out(
        |seconds| boot(&image, &["--timeout", seconds], &given),
        |ran| ran.text() == "here",
    );
    ran.expect_words("inspected by the runner, because the time ran out: 1 CPU, x86_64, ");
}

#[test]
fn other_statuses_are_agreed_upon() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    for (status, more, expected) in [
        (35, &["--success-status", "35"][..], 0),
        (35, &["--panic-status", "35"], 101),
        (33, &["--success-status", "35"], 1),
    ] {
        let image = tiny::image(folder.path(), Arch::X86_64, &[Act::Exit(status)]);
        let given = format!("{PC} -kernel IMAGE");
        boot(&image, more, &given).expect(expected);
    }
}

#[test]
fn what_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let image = tiny::image(folder.path(), Arch::X86_64, &[Act::Exit(33)]);
    boot(&image, &[], "qemu-system-x86_64 -serial file:log")
        .expect(2)
        .expect_words("file:log, which the runner cannot read; pass `-serial stdio`");
    boot(&image, &["--success-status", "101"], "qemu-system-x86_64")
        .expect(2)
        .expect_words("101 cannot mean both");
    boot(&image, &[], "./no-such-script")
        .expect(1)
        .expect_words("cannot start ./no-such-script");
    run(["--", "qemu-system-x86_64"])
        .expect(2)
        .expect_words("--image");
}

/// As `cargo install` leaves it: far from any target folder of ours. The serial line is kept in the image's.
#[test]
fn an_installed_runner_needs_nothing_around_it() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let [bin, target] = ["bin", "project/target"].map(|name| folder.path().join(name));
    fs::create_dir_all(&bin).expect("a folder");
    fs::create_dir_all(&target).expect("a folder");
    fs::write(target.join("CACHEDIR.TAG"), "").expect("a file");
    let image = tiny::image(&target, Arch::X86_64, &[Act::Print(b"here"), Act::Exit(33)]);
    let output = std::process::Command::new(installed(&bin))
        .current_dir(&folder)
        .env_remove("CARGO_MANIFEST_DIR")
        .arg("--image")
        .arg(&image)
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{output:?}");
    let kept = fs::read(target.join("serial/tiny-x86_64-x86_64.log"));
    assert_eq!(kept.expect("the serial line is kept"), b"here");
}
