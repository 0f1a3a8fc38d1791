//! Code that is not the kernel's, of which the runner is given the image: a user program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSection};
use qemu::build::{Kernel, linker};
use qemu::machine::Arch;
use setup::assemble;

use super::asked::Asked;
use super::lists::{expect_count, functions};
use crate::support::built::{image, target};
use crate::support::corrupt;
use crate::support::each::kernel_tests;
use crate::support::report::Report;
use crate::support::runner::run;
use crate::support::trace;

kernel_tests! { every:
    a_program_that_hangs_is_walked_by_its_own_image,
    what_called_the_kernel_is_walked_by_its_own_image,
}
kernel_tests! { every_in_long:
    another_program_says_nothing,
}
kernel_tests! { release:
    a_program_with_other_code_elsewhere_is_in_doubt,
    two_programs_with_the_same_code_are_both_named,
}

/// A program that calls `outer`, which calls `inner`, which ends with `last`.
fn source(arch: Arch, last: &str) -> String {
    let function = |name: &str, body: &str| {
        format!(
            ".globl {name}\n.type {name}, %function\n{name}:\n.cfi_startproc\n{body}\n.cfi_endproc\n.size {name}, . - {name}\n"
        )
    };
    let [start, outer, inner] = match arch {
        Arch::X86_64 => [
            ".cfi_undefined rip\n call outer\n 1: jmp 1b".to_owned(),
            " subq $24, %rsp\n.cfi_def_cfa_offset 32\n call inner\n addq $24, %rsp\n.cfi_def_cfa_offset 8\n ret"
                .to_owned(),
            format!(" subq $40, %rsp\n.cfi_def_cfa_offset 48\n {last}\n 1: jmp 1b"),
        ],
        Arch::Aarch64 => [
            ".cfi_undefined x30\n bl outer\n b .".to_owned(),
            " str x30, [sp, #-32]!\n.cfi_def_cfa_offset 32\n.cfi_offset x30, -32\n bl inner\n ldr x30, [sp], #32\n ret"
                .to_owned(),
            format!(" sub sp, sp, #48\n.cfi_def_cfa_offset 48\n {last}\n b ."),
        ],
    };
    let functions = [("_start", start), ("outer", outer), ("inner", inner)];
    let functions = functions.map(|(name, body)| function(name, &body));
    format!("{}.fill 256, 1, 0\n", functions.concat())
}

const SCRIPT: &str = "
ENTRY(_start)
SECTIONS {
    . = 0x400000;
    .text : { *(.text .text.*) }
    .eh_frame : { KEEP(*(.eh_frame)) }
}
";

/// Assembles and links the program; returns its image and its code.
fn program(folder: &Path, arch: Arch, last: &str) -> (PathBuf, Vec<u8>) {
    let triple = match arch {
        Arch::X86_64 => "x86_64-unknown-none",
        Arch::Aarch64 => "aarch64-unknown-none-softfloat",
    };
    assemble(folder, triple, &source(arch, last)).expect("it is assembled");
    fs::write(folder.join("program.ld"), SCRIPT).expect("a file can be written");
    let linker = linker::build(&target()).expect("sframe-link is built");
    let mut link = Command::new(linker);
    link.args("-T program.ld -o program input.o".split(' '));
    let output = link.current_dir(folder).output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
    let image = folder.join("program");
    let data = fs::read(&image).expect("the image is there");
    let file = object::File::parse(&*data).expect("it is ELF");
    let code = file.section_by_name(".text").expect("it has code");
    (image, code.data().expect("in the file").to_vec())
}

/// Boots a kernel that runs a program which ends with `runs`, and says with an image of one that ends with `known` where that is.
fn asked(kernel: Kernel, scenario: &str, runs: &str, known: &str) -> Asked {
    let [one, two] = [0, 1].map(|_| tempfile::tempdir().expect("a folder can be made"));
    let (_, code) = program(one.path(), kernel.arch, runs);
    let (symbols, _) = program(two.path(), kernel.arch, known);
    let copy = corrupt::overwritten(&image(kernel), one.path(), "user_program", &code);
    let [copy, symbols] = [&copy, &symbols].map(|path| path.to_str().expect("a path in UTF-8"));
    let words = [
        "--guest-timeout",
        "1",
        "--image",
        copy,
        "--symbols",
        symbols,
        scenario,
    ];
    Asked::of(run(words).expect(124))
}

const fn stays(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "1: jmp 1b",
        Arch::Aarch64 => "b .",
    }
}

const fn calls(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "int $64",
        // Of an unknown number the checker believes nothing: it may be `clone`.
        Arch::Aarch64 => "mov x8, #64\n svc #0",
    }
}

/// Fails unless the program's part is there, from `inner` on. Nobody says where its stack begins.
#[track_caller]
fn expect_program(report: &Report, place: &str) {
    let pc = report.frames[0].address;
    let says =
        format!("{place}, stopped at {pc:#018x}: program, tables verified, no stacks declared");
    assert_eq!(report.panicked, says);
    assert_eq!(
        report.names(),
        ["inner", "outer", "_start"],
        "{}",
        report.text
    );
    let letters: String = report.frames.iter().map(|frame| frame.letter).collect();
    assert_eq!(letters, "prr", "{}", report.text);
    let end = "end of backtrace: outermost function reached, from frame 2 on in doubt (it is unknown whether the stack begins at address 0x0000000000402000), 3 frames";
    assert_eq!(report.end, end);
}

fn a_program_that_hangs_is_walked_by_its_own_image(kernel: Kernel) {
    let stays = stays(kernel.arch);
    let asked = asked(kernel, "user-call", stays, stays);
    expect_count(&asked, 1);
    expect_program(&asked.reports[0], "cpu 0 in user mode");
}

/// The kernel's part is complete, as without that image.
fn what_called_the_kernel_is_walked_by_its_own_image(kernel: Kernel) {
    let calls = calls(kernel.arch);
    let asked = asked(kernel, "hang-system-call", calls, calls);
    expect_count(&asked, 2);
    let [in_kernel, behind] = [0, 1].map(|part| &asked.reports[part]);
    let spins = functions(&["spin", "waits::stay_in_call"]);
    let expected = format!("{spins}r kernel::user::called\n= trap\n-- interrupted\np -");
    let pc = behind.frames[0].address;
    let end = format!("user code reached at {pc:#018x}, complete for the kernel, ");
    trace::expect_whole(kernel, in_kernel, &expected, &end);
    expect_program(behind, "cpu 0 in user code");
}

/// Linked for the same addresses, it is not what runs, and memory says so.
fn another_program_says_nothing(kernel: Kernel) {
    let (runs, known) = (stays(kernel.arch), calls(kernel.arch));
    let asked = asked(kernel, "user-call", runs, known);
    assert!(
        asked
            .text
            .contains("\ncpu 0 is in user mode, at 0x00000000004000"),
        "{}",
        asked.text
    );
    assert!(asked.reports.is_empty(), "{}", asked.text);
}

/// Another build of the program has the same code around the program counter.
fn a_program_with_other_code_elsewhere_is_in_doubt(kernel: Kernel) {
    let [runs, known] = ["1", "2"].map(|byte| {
        let stays = stays(kernel.arch);
        format!("{stays}\n .fill 128, 1, 0\n .fill 16, 1, {byte}")
    });
    let asked = asked(kernel, "user-call", &runs, &known);
    let says = ": program, tables verified, the code at address 0x0000000000400000 differs from the linked code, ";
    assert!(asked.text.contains(says), "{}", asked.text);
}

/// Of two images with the same code, nothing shows which one runs: both are named.
fn two_programs_with_the_same_code_are_both_named(kernel: Kernel) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (program, code) = program(folder.path(), kernel.arch, stays(kernel.arch));
    let other = folder.path().join("other");
    fs::copy(&program, &other).expect("it can be copied");
    let copy = corrupt::overwritten(&image(kernel), folder.path(), "user_program", &code);
    let mut words: Vec<_> = ["--guest-timeout", "1"].map(AsRef::as_ref).into();
    for (option, path) in [
        ("--image", &copy),
        ("--symbols", &program),
        ("--symbols", &other),
    ] {
        words.extend([option.as_ref(), path.as_os_str()]);
    }
    words.push("user-call".as_ref());
    let asked = Asked::of(run(words).expect(124));
    let says = ": program or other, tables verified, no stacks declared\n";
    assert!(asked.text.contains(says), "{}", asked.text);
}
