//! `sframe-link` by hand: what it passes on, and what it refuses.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{SCRIPT, folder, image, scripts, sframe, stderr, stdout, succeed};
use linker::image::Image;
use unwind::sframe::format::CHECKSUM_SIZE;

/// Links an assembled program by hand.
fn link(folder: &Path, script: &str, arguments: &[&str]) -> Output {
    fs::write(folder.join("image.ld"), script).unwrap();
    common::sframe_link()
        .current_dir(folder)
        .args([
            "-flavor",
            "gnu",
            "-T",
            "image.ld",
            "-L",
            &scripts(),
            "-o",
            "image",
        ])
        .args(arguments)
        .output()
        .unwrap()
}

const CALLS: &str = "
.globl _start
.type _start, %function
_start:
.cfi_startproc
 call callee
 hlt
.cfi_endproc
.size _start, . - _start
.type callee, %function
callee:
.cfi_startproc
 ret
.cfi_endproc
.size callee, . - callee
";

const TARGET: &str = "x86_64-unknown-linux-gnu";

fn assembled(name: &str, text: &str) -> (PathBuf, String) {
    let folder = folder(name);
    let object = common::assemble(&folder, TARGET, text);
    (folder, object.display().to_string())
}

/// A link that must fail with one line, and leave nothing behind that could be taken for an image.
fn refuses(folder: &Path, output: &Output, expected: &str) {
    assert_eq!(output.status.code(), Some(1), "{}", stderr(output));
    let errors = stderr(output);
    let own: Vec<&str> = errors
        .lines()
        .filter(|line| line.contains("sframe-link: error"))
        .collect();
    assert_eq!(own, [format!("sframe-link: error: {expected}")], "{errors}");
    assert!(!folder.join("image").exists());
}

#[test]
fn a_script_with_a_place_for_one_table_is_refused() {
    let (folder, object) = assembled("half_a_place", CALLS);
    let half = ".tables.sframe : { __sframe_start = .; KEEP(*(.tables.sframe)) __sframe_end = .; }";
    let output = link(
        &folder,
        &SCRIPT.replace("INCLUDE tables.ld", half),
        &[&object],
    );
    refuses(
        &folder,
        &output,
        "image: __symbols_start is not defined, so there is no place for .symbols: write INCLUDE tables.ld into the linker \
         script, after every section that holds code (sframe-link --sframe-script prints tables.ld)",
    );
}

#[test]
fn a_fragment_before_code_is_refused() {
    let (folder, object) = assembled("a_fragment_before_code", CALLS);
    let script = SCRIPT
        .replace("INCLUDE tables.ld", "")
        .replace(".text :", "INCLUDE tables.ld .text :");
    let output = link(&folder, &script, &[&object]);
    assert!(
        stderr(&output).contains(
            "sframe-link: error: image: _start is at 0xffffffff80100000 without tables and at 0xffffffff8010"
        ),
        "{}",
        stderr(&output)
    );
    assert!(!folder.join("image").exists());
}

#[test]
fn an_image_without_eh_frame_is_refused() {
    let (folder, object) = assembled("without_eh_frame", ".globl _start\n_start: ret\n");
    let output = link(&folder, SCRIPT, &[&object, "--sframe-repair=no"]);
    refuses(
        &folder,
        &output,
        "image: no .eh_frame to make tables from: compile with -C force-unwind-tables=yes, and keep the section in the \
         linker script",
    );
    // Names need none.
    let output = link(&folder, SCRIPT, &[&object, "--sframe=none"]);
    assert!(output.status.success(), "{}", stderr(&output));
    // The code itself tells, unless there is none.
    let output = link(&folder, SCRIPT, &[&object]);
    assert!(output.status.success(), "{}", stderr(&output));
    let dump = stdout(&sframe(&["dump"], &folder.join("image")));
    assert!(dump.contains("  _start\n"), "{dump}");
    let (folder, object) = assembled("without_code", ".globl _start\n_start = 0\n");
    let output = link(&folder, SCRIPT, &[&object]);
    refuses(
        &folder,
        &output,
        "image: no .eh_frame to make tables from, and no code that tells: compile with -C force-unwind-tables=yes, and \
         keep the section in the linker script",
    );
}

#[test]
fn what_the_linker_says_is_passed_on() {
    let (folder, object) = assembled("passed_on", CALLS);
    let output = link(&folder, SCRIPT, &[&object, "missing.o"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("missing.o"), "{}", stderr(&output));
    // A warning of both links is shown once.
    let output = link(&folder, SCRIPT, &[&object, "-e", "nowhere"]);
    assert!(output.status.success());
    assert_eq!(
        stderr(&output).matches("nowhere").count(),
        1,
        "{}",
        stderr(&output)
    );
    // No image, no tables.
    let output = link(&folder, "", &[&object, "-r"]);
    assert!(output.status.success(), "{}", stderr(&output));
    // rust-lld's own answer.
    let version = succeed(common::sframe_link().arg("--version"));
    assert!(stdout(&version).starts_with("LLD "), "{}", stdout(&version));
}

#[test]
fn arguments_may_come_in_a_response_file() {
    let (folder, object) = assembled("response_file", CALLS);
    fs::write(folder.join("my script.ld"), SCRIPT).unwrap();
    fs::write(
        folder.join("arguments"),
        format!(
            "-T 'my script.ld'\n-L\"{}\"\n--sframe-stats\n-o my\\ image {object}\n",
            scripts()
        ),
    )
    .unwrap();
    let mut command = common::sframe_link();
    let output = succeed(
        command
            .current_dir(&folder)
            .args(["-flavor", "gnu", "@arguments"]),
    );
    assert!(
        stderr(&output).contains(".sframe: 2 functions, 2 rows (1 stored)"),
        "{}",
        stderr(&output)
    );
    assert!(
        sframe(&["check"], &folder.join("my image"))
            .status
            .success()
    );
}

#[test]
fn another_linker_can_be_named() {
    let (folder, object) = assembled("another_linker", CALLS);
    let mut command = common::sframe_link();
    let output = command
        .env("SFRAME_LINK_LD", "/nowhere/lld")
        .args([
            object,
            "-o".to_owned(),
            folder.join("image").display().to_string(),
        ])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let expected = ": cannot run the linker /nowhere/lld: No such file or directory (os error 2)\n";
    assert!(stderr(&output).ends_with(expected), "{}", stderr(&output));
}

#[test]
fn a_damaged_section_is_noticed_by_check() {
    let folder = folder("a_damaged_section");
    let (path, _) = image(&folder, TARGET, CALLS);
    let data = fs::read(&path).unwrap();
    let section = Image::parse(&data)
        .unwrap()
        .section(".sframe")
        .unwrap()
        .unwrap();
    let at = section.offset as usize;
    let damaged = |offset: usize, value: u8| {
        let mut data = data.clone();
        data[at + offset] = value;
        let path = folder.join("damaged");
        fs::write(&path, data).unwrap();
        sframe(&["check"], &path)
    };
    // The CFA's offset of the only row: the last byte before the checksum. Then the first function's size, and the magic
    // number.
    let output = damaged(section.data.len() - CHECKSUM_SIZE - 1, 16);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).contains("4 addresses compared: 4 differences"),
        "{}",
        stdout(&output)
    );
    let output = damaged(28 + 8, 1);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).contains("0xffffffff80100000: the function's size is another"),
        "{}",
        stdout(&output)
    );
    let output = damaged(0, 0);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("bad magic"), "{}", stderr(&output));
    // Its rows lie outside: a table from which nothing can be kept.
    let made = damaged_and_made(&folder, &data, at + 28 + 12, 0xff);
    assert!(
        made.contains("the rows of function 0 lie outside"),
        "{made}"
    );
    let made = damaged_and_made(&folder, &data, at + 2, 9);
    assert!(made.contains("unknown version 9"), "{made}");

    // A name: the blob's checksum is wrong.
    let symbols = Image::parse(&data)
        .unwrap()
        .section(".symbols")
        .unwrap()
        .unwrap();
    let byte = symbols.offset as usize + 60;
    let mut changed = data.clone();
    changed[byte] ^= 1;
    let path = folder.join("damaged");
    fs::write(&path, changed).unwrap();
    let expected = format!("section .symbols at offset {}: ", symbols.offset);
    let output = sframe(&["check"], &path);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
    // What it says of an address comes from elsewhere, and that is said.
    let start = "0xffffffff80100000";
    let output = Command::new(env!("CARGO_BIN_EXE_sframe"))
        .args(["lookup".as_ref(), path.as_os_str(), start.as_ref()])
        .output()
        .unwrap();
    assert!(
        stdout(&output).contains("_start+0x0"),
        "{}",
        stdout(&output)
    );
    assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
}

/// What `sframe make` says of a file with this byte in it.
fn damaged_and_made(folder: &Path, data: &[u8], at: usize, value: u8) -> String {
    let mut data = data.to_vec();
    data[at..at + 4].fill(value);
    let path = folder.join("damaged");
    fs::write(&path, data).unwrap();
    let output = sframe(
        &["make", "-o", folder.join("made").to_str().unwrap()],
        &path,
    );
    assert_eq!(output.status.code(), Some(1));
    stderr(&output)
}

/// Assembly that carries no other table than `.sframe`: its rows are taken from there, whether the object file is on the
/// command line or in an archive, unless the linker removed the function or cannot tell it from another.
#[test]
fn tables_of_inputs_are_merged() {
    let function = |name: &str, body: &str| {
        format!(
            ".section .text.{name},\"ax\",@progbits\n.type {name}, %function\n{name}:\n.cfi_startproc\n{body}\n\
             .cfi_endproc\n.size {name}, . - {name}\n"
        )
    };
    let only = ".cfi_sections .sframe\n";
    let (folder, main) = assembled(
        "merged",
        &(".globl _start\n".to_owned()
            + &function("_start", " call one\n call two\n call local\n hlt")
            + &function("local", " ret")),
    );
    let one = format!(
        "{only}.globl one\n{}{}{}.text\n.Lnameless:\n.cfi_startproc\n nop\n.cfi_endproc\n",
        function(
            "one",
            " push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset rbp, -16\n call local\n pop %rbp\n\
             .cfi_def_cfa_offset 8\n .cfi_restore rbp\n ret"
        ),
        function("local", " ret"),
        function("unused", " ret"),
    );
    let one = common::assemble(&common::folder("merged_one"), TARGET, &one);
    let two = format!(
        "{only}.globl two\n{}",
        function(
            "two",
            " sub $16, %rsp\n .cfi_def_cfa_offset 24\n add $16, %rsp\n .cfi_def_cfa_offset 8\n ret"
        )
    );
    let two_folder = common::folder("merged_two");
    common::assemble(&two_folder, TARGET, &two);
    let archive = two_folder.join("libtwo.rlib");
    succeed(
        common::rustc()
            .env("RUSTC_BOOTSTRAP", "1")
            .args([
                "--target",
                TARGET,
                "-Cpanic=abort",
                "--crate-type=rlib",
                "-o",
            ])
            .arg(&archive)
            .arg(two_folder.join("assembler.rs")),
    );
    let script = SCRIPT.replace("*(.text .text.*)", "KEEP(*(.text._start)) *(.text .text.*)");
    let inputs = [
        main.as_str(),
        one.to_str().unwrap(),
        archive.to_str().unwrap(),
        "--gc-sections",
    ];
    let output = link(&folder, &script, &inputs);
    let errors = stderr(&output);
    assert!(output.status.success(), "{errors}");
    for expected in [
        format!(
            "local of {}: several functions have that name",
            one.display()
        ),
        format!(
            "code without a name in {}, 1 bytes: it is not known where the linker put it",
            one.display()
        ),
    ] {
        let expected = format!("sframe-link: warning: .sframe of an input not used: {expected}\n");
        assert!(errors.contains(&expected), "{errors}");
    }
    let image = folder.join("image");
    let names = |file: &Path| -> Vec<String> {
        let dump = stdout(&sframe(&["dump"], file));
        let functions = dump.lines().filter(|line| line.contains("func idx"));
        functions
            .map(|line| line.rsplit(' ').next().unwrap().to_owned())
            .collect()
    };
    // Where the input's rows cannot be used, the code says what they are.
    assert_eq!(names(&image), ["_start", "local", "one", "local", "two"]);
    assert!(stdout(&sframe(&["dump"], &image)).contains("sp+16     c-16      f\n"));
    let check = sframe(&["check"], &image);
    let text = stdout(&check);
    assert!(check.status.success(), "{text}");
    assert!(!text.contains("not compared: only .sframe"), "{text}");
    // Without the code only what has a name of its own can be used. Nothing else but the code can be compared with it.
    let output = link(
        &folder,
        &script,
        &[&inputs[..], &["--sframe-repair=no"]].concat(),
    );
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(names(&image), ["_start", "local", "one", "two"]);
    let check = sframe(&["check"], &image);
    let text = stdout(&check);
    assert!(check.status.success(), "{text}");
    // The second `local` has no row, and the code shows which it could have.
    assert!(text.contains(" 1 without description\n"), "{text}");
    // Made again, what only the table says is kept.
    let again = folder.join("again");
    let made = |repair: &str| {
        let made = sframe(
            &[
                "make",
                "--sframe-repair",
                repair,
                "-o",
                again.to_str().unwrap(),
            ],
            &image,
        );
        assert!(made.status.success(), "{}", stderr(&made));
        stdout(&made)
    };
    let said = made("no");
    assert!(
        said.contains("of them only in .sframe: 2 functions, 6 rows\n"),
        "{said}"
    );
    assert_eq!(names(&again), ["_start", "local", "one", "two"]);
    let said = made("yes");
    assert!(
        said.contains("of them only in .sframe: 2 functions, 6 rows\n"),
        "{said}"
    );
    assert!(
        said.contains("of them made from the code: 1 functions, 1 rows\n"),
        "{said}"
    );
    assert_eq!(names(&again), ["_start", "local", "one", "local", "two"]);
}

/// A linker that writes a line for each run.
fn counting_linker(folder: &Path) -> PathBuf {
    let ask = |argument: &str| stdout(&succeed(common::rustc().arg("--print").arg(argument)));
    let (sysroot, host) = (ask("sysroot"), ask("host-tuple"));
    let script = format!(
        "#!/bin/sh\necho run >> runs\nexec {}/lib/rustlib/{}/bin/rust-lld -flavor gnu \"$@\"\n",
        sysroot.trim(),
        host.trim()
    );
    let path = folder.join("counting-ld");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_second_link_is_left_out_when_the_last_image_has_the_room() {
    // Enough functions for a table whose size is rounded up.
    let functions = |count: usize| -> String {
        let one = |index| {
            format!(
                ".type f{index}, %function\nf{index}: .cfi_startproc\n push %rbp\n.cfi_def_cfa_offset 16\n pop %rbp\n\
                 .cfi_def_cfa_offset 8\n ret\n.cfi_endproc\n.size f{index}, . - f{index}\n"
            )
        };
        (0..count).map(one).collect()
    };
    let folder = folder("one_link");
    let linker = counting_linker(&folder);
    let linker = format!("--sframe-linker={}", linker.display());
    let linked = |count: usize| {
        let object = common::assemble(&folder, TARGET, &(CALLS.to_owned() + &functions(count)));
        let _ = fs::remove_file(folder.join("runs"));
        let output = link(
            &folder,
            SCRIPT,
            &[&object.display().to_string(), &linker, "--symbols=none"],
        );
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(sframe(&["check"], &folder.join("image")).status.success());
        let runs = fs::read_to_string(folder.join("runs"))
            .unwrap()
            .lines()
            .count();
        (runs, fs::read(folder.join("image")).unwrap())
    };
    let fresh = |count: usize| {
        fs::remove_file(folder.join("image")).unwrap();
        linked(count)
    };
    let (runs, first) = linked(400);
    assert_eq!(runs, 2);
    let (runs, again) = linked(400);
    assert_eq!(runs, 1);
    assert!(first == again);
    // One function more still has room; with many more it takes a second link.
    let (runs, one_more) = linked(401);
    assert_eq!(runs, 1);
    let (runs, many_more) = linked(500);
    assert_eq!(runs, 2);
    // None of it shows in the image.
    assert!(fresh(401) == (2, one_more));
    assert!(fresh(500) == (2, many_more));
}
