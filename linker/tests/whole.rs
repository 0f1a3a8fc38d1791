//! What is written is whole, or what was there before: links are killed, disks are full, and outputs are devices.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{
    SCRIPT, assemble, folder, scripts, sframe, sframe_link, stderr, stdout, succeed,
};

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// So many functions with frames.
fn functions(count: usize) -> String {
    let one = |index| {
        format!(
            ".type f{index}, %function\nf{index}: .cfi_startproc\n push %rbp\n.cfi_def_cfa_offset 16\n pop %rbp\n\
             .cfi_def_cfa_offset 8\n ret\n.cfi_endproc\n.size f{index}, . - f{index}\n"
        )
    };
    let start =
        ".globl _start\n.type _start, %function\n_start: call f0\n hlt\n.size _start, . - _start\n";
    start.to_owned() + &(0..count).map(one).collect::<String>()
}

/// The link of `input.o` in a folder to `image`, in a group of processes of its own.
fn link(folder: &Path) -> Command {
    fs::write(folder.join("image.ld"), SCRIPT).unwrap();
    let mut command = sframe_link();
    command
        .current_dir(folder)
        .args(["-T", "image.ld", "-L", &scripts(), "-o", "image", "input.o"])
        .process_group(0)
        .stderr(Stdio::null());
    command
}

/// Kills a link and the linker that it runs.
fn kill(mut link: Child) {
    let group = format!("kill -9 -{}", link.id());
    // When the link has ended by itself there is no group.
    let _ = Command::new("sh").args(["-c", &group]).output().unwrap();
    link.wait().unwrap();
}

#[test]
fn a_killed_link_leaves_the_last_image_or_none() {
    let folder = folder("whole_killed");
    let image = folder.join("image");
    assemble(&folder, TARGET, &functions(300));
    succeed(&mut link(&folder));
    let last = fs::read(&image).unwrap();
    assemble(&folder, TARGET, &functions(700));
    let begin = Instant::now();
    succeed(&mut link(&folder));
    let duration = begin.elapsed();
    let new = fs::read(&image).unwrap();
    assert!(new != last);

    let (mut old, mut none, mut whole) = (0, 0, 0);
    for moment in 0..40 {
        let before = (moment % 2 == 0).then_some(&last);
        match before {
            Some(last) => fs::write(&image, last).unwrap(),
            None => fs::remove_file(&image).unwrap_or_default(),
        }
        let link = link(&folder).spawn().unwrap();
        sleep(duration * moment / 36);
        kill(link);
        match fs::read(&image).ok() {
            Some(found) if found == new => whole += 1,
            Some(found) => {
                assert!(Some(&found) == before, "at {moment} there is another image");
                old += 1;
            }
            None => {
                assert_eq!(before, None, "at {moment} the last image is gone");
                none += 1;
            }
        }
    }
    crate::common::say(format_args!(
        "killed: {old} times the last image, {none} times none, {whole} times the new one"
    ));
    assert!(old > 0 && none > 0);
    // What a killed link leaves behind does not disturb the next one.
    succeed(&mut link(&folder));
    assert!(fs::read(&image).unwrap() == new);
    assert!(!folder.join("image.sframe-link.image").exists());
}

/// Between the two links, and before the tables are written: the linker does not end.
#[test]
fn a_link_that_is_killed_while_its_linker_has_written_leaves_no_image() {
    let folder = folder("whole_between");
    assemble(&folder, TARGET, &functions(10));
    let ask = |argument: &str| {
        stdout(&succeed(
            crate::common::rustc().arg("--print").arg(argument),
        ))
    };
    let (sysroot, host) = (ask("sysroot"), ask("host-tuple"));
    for stops_at in 1..=2 {
        let _ = fs::remove_file(folder.join("runs"));
        let script = format!(
            "#!/bin/sh\n{}/lib/rustlib/{}/bin/rust-lld -flavor gnu \"$@\" || exit 1\necho run >> runs\n\
             [ $(wc -l < runs) = {stops_at} ] && sleep 600\nexit 0\n",
            sysroot.trim(),
            host.trim()
        );
        let linker = folder.join("ld");
        fs::write(&linker, script).unwrap();
        fs::set_permissions(&linker, fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = link(&folder);
        let link = command.env("SFRAME_LINK_LD", &linker).spawn().unwrap();
        let begin = Instant::now();
        let runs = || fs::read_to_string(folder.join("runs")).unwrap_or_default();
        while runs().lines().count() < stops_at {
            assert!(begin.elapsed() < Duration::from_secs(60), "{stops_at}");
            sleep(Duration::from_millis(10));
        }
        kill(link);
        assert!(!folder.join("image").exists(), "{stops_at}");
    }
}

#[test]
fn the_dependencies_are_those_of_the_image() {
    let folder = folder("whole_dependencies");
    assemble(&folder, TARGET, &functions(10));
    for switch in [
        &["--dependency-file=a b.d"][..],
        &["--dependency-file", "a b.d"],
    ] {
        let _ = fs::remove_file(folder.join("a b.d"));
        succeed(link(&folder).args(switch));
        let text = fs::read_to_string(folder.join("a b.d")).unwrap();
        assert!(text.starts_with("image:"), "{text}");
        assert!(!text.contains(".sframe-link.image"), "{text}");
    }
}

#[test]
fn a_device_is_not_replaced() {
    let folder = folder("whole_device");
    assemble(&folder, TARGET, &functions(10));
    // By a symbolic link, as the device itself could really be replaced.
    symlink("/dev/null", folder.join("image")).unwrap();
    succeed(&mut link(&folder));
    assert!(
        fs::symlink_metadata(folder.join("image"))
            .unwrap()
            .is_symlink()
    );
    fs::remove_file(folder.join("image")).unwrap();
    succeed(&mut link(&folder));
    symlink("/dev/full", folder.join("full")).unwrap();
    let full = folder.join("full");
    let made = sframe(
        &["make", "-o", full.to_str().unwrap()],
        &folder.join("image"),
    );
    assert_eq!(made.status.code(), Some(1));
    assert!(stderr(&made).contains("cannot write"), "{}", stderr(&made));
    assert!(fs::metadata(full).unwrap().file_type().is_char_device());
}

/// The largest size of a file stands for a full disk; the signal of the system at that limit ends the program, or is ignored.
#[test]
fn a_full_disk_leaves_what_was_there() {
    let folder = folder("whole_full");
    assemble(&folder, TARGET, &functions(10));
    succeed(&mut link(&folder));
    let alone = folder.join("alone");
    fs::create_dir(&alone).unwrap();
    let (input, other) = (alone.join("input"), alone.join("other"));
    fs::copy(folder.join("image"), &input).unwrap();
    let before = fs::read(&input).unwrap();
    for (output, ignored) in [
        (&input, true),
        (&other, true),
        (&input, false),
        (&other, false),
    ] {
        // Half a kilobyte, or a whole one.
        let script = format!(
            "{}ulimit -f 1; exec \"$0\" make \"$1\" -o \"$2\"",
            if ignored { "trap '' XFSZ; " } else { "" }
        );
        let mut make = Command::new("sh");
        let make = make.args(["-c", &script, env!("CARGO_BIN_EXE_sframe")]);
        let made = make.args([&input, output]).output().unwrap();
        match ignored {
            true => {
                assert_eq!(made.status.code(), Some(1), "{}", stderr(&made));
                let expected = format!("cannot write {}: File too large", output.display());
                assert!(stderr(&made).contains(&expected), "{}", stderr(&made));
                // Nothing half is left beside it either.
                assert_eq!(fs::read_dir(&alone).unwrap().count(), 1);
            }
            false => assert!(made.status.signal().is_some(), "{}", stderr(&made)),
        }
        assert!(fs::read(&input).unwrap() == before);
        assert!(!other.exists());
    }
    // With room it may replace its own input.
    let made = sframe(&["make", "-o", input.to_str().unwrap()], &input);
    assert!(made.status.success(), "{}", stderr(&made));
    assert!(fs::read(&input).unwrap().len() > before.len());
    assert!(sframe(&["check"], &input).status.success());
}
