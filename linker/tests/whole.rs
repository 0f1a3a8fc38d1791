//! What is written is whole, or what was there before: links are killed, disks are full, and outputs are devices.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

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

/// The link is killed before each change that it or its linker makes to a file.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[test]
fn a_killed_link_leaves_the_last_image_or_none() {
    let folder = folder("whole_killed");
    let image = folder.join("image");
    assemble(&folder, TARGET, &functions(300));
    succeed(&mut link(&folder));
    let last = fs::read(&image).unwrap();
    assemble(&folder, TARGET, &functions(700));
    succeed(&mut link(&folder));
    let new = fs::read(&image).unwrap();
    assert!(new != last);

    for before in [Some(&last), None] {
        let mut changes = BTreeMap::new();
        let mut is_new = false;
        for number in 0.. {
            match before {
                Some(last) => fs::write(&image, last).unwrap(),
                None => fs::remove_file(&image).unwrap_or_default(),
            }
            let killed = crate::common::changes::kill_at(&mut link(&folder), &folder, number);
            let found = fs::read(&image).ok();
            let Some(change) = killed else { break };
            // The new image is there from its renaming on.
            is_new |= found.as_ref() == Some(&new);
            let expected = if is_new { Some(&new) } else { before };
            assert!(found.as_ref() == expected, "{number}: {change}");
            *changes.entry((change, is_new)).or_insert(0) += 1;
        }
        assert!(fs::read(&image).unwrap() == new);
        crate::common::say(format_args!("killed before {changes:#?}"));
        let count = |change: &str| changes.get(&(change.to_owned(), false));
        // Both links, the tables, and the final name.
        let twice = count("rename to image.sframe-link.image");
        assert_eq!(twice, Some(&2), "{changes:?}");
        assert!(
            count("pwrite image.sframe-link.image") >= Some(&1),
            "{changes:?}"
        );
        assert_eq!(count("rename to image"), Some(&1), "{changes:?}");
    }
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
        // It stops itself.
        let script = format!(
            "#!/bin/sh\n{}/lib/rustlib/{}/bin/rust-lld -flavor gnu \"$@\" || exit 1\necho run >> runs\n\
             [ $(wc -l < runs) = {stops_at} ] && echo stops > /proc/$PPID/fd/1 && kill -STOP $$\nexit 0\n",
            sysroot.trim(),
            host.trim()
        );
        let linker = folder.join("ld");
        fs::write(&linker, script).unwrap();
        fs::set_permissions(&linker, fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = link(&folder);
        command
            .env("SFRAME_LINK_LD", &linker)
            .stdout(Stdio::piped());
        let mut link = command.spawn().unwrap();
        let mut lines = BufReader::new(link.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "stops", "{stops_at}");
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
        let words = text.split_whitespace().filter(|word| *word != "\\");
        let files = words.map(|word| word.trim_end_matches(':'));
        // Others than the image.
        assert!(files.clone().count() > 2, "{text}");
        for file in files {
            assert!(folder.join(file).exists(), "{file}: {text}");
        }
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
