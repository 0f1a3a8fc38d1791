//! Kernels that declare no stack, as most do: the walk from outside, and profiles.

mod ends;
mod vectors;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use qemu::build::linker;
use qemu::machine::Arch;
use setup::assemble;

use crate::ask::asked::Asked;
use crate::support::built::target;
use crate::support::report::Report;
use crate::support::runner::run;
use crate::support::tiny::{self, Act};

const SCRIPT: &str = "
ENTRY(_start)
SECTIONS {
    . = 0x40200000;
    .text : { *(.text .text.*) }
    .eh_frame : { KEEP(*(.eh_frame)) }
    .data : { *(.data .data.*) }
    .bss : { *(.bss .bss.*) }
}
";

/// Sets the stack pointer to the end of a stack.
const BEGIN: &str = "adrp x0, stack_end\n add x0, x0, :lo12:stack_end\n mov sp, x0";

/// A function, with what describes it.
fn function(name: &str, body: &str) -> String {
    format!(
        ".globl {name}\n.type {name}, %function\n{name}:\n.cfi_startproc\n{body}\n.cfi_endproc\n.size {name}, . - {name}\n"
    )
}

/// A function that saves the link register, calls another one, and returns.
fn calling(name: &str, calls: &str) -> String {
    let body = format!(
        "str x30, [sp, #-16]!\n.cfi_def_cfa_offset 16\n.cfi_offset x30, -16\n {calls}\n \
         ldr x30, [sp], #16\n.cfi_def_cfa_offset 0\n.cfi_restore x30\n ret"
    );
    function(name, &body)
}

/// A kernel for AArch64 of these functions and this data, linked by a linker.
fn linked(folder: &Path, functions: &[String], data: &str, linker: &Path) -> PathBuf {
    linked_by(folder, functions, data, linker, SCRIPT)
}

/// The same kernel, linked with another script.
fn linked_by(
    folder: &Path,
    functions: &[String],
    data: &str,
    linker: &Path,
    script: &str,
) -> PathBuf {
    let text = format!("{}{data}", functions.concat());
    assemble(folder, "aarch64-unknown-none-softfloat", &text).expect("it is assembled");
    fs::write(folder.join("kernel.ld"), script).expect("a file can be written");
    let mut link = Command::new(linker);
    link.args("-T kernel.ld -o kernel input.o".split(' '));
    let output = link.current_dir(folder).output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
    folder.join("kernel")
}

/// The same kernel, linked by sframe-link, whose stack has so many bytes.
fn kernel(folder: &Path, functions: &[String], stack: u64) -> PathBuf {
    linked(folder, functions, &stack_of(stack), &sframe_link())
}

fn sframe_link() -> PathBuf {
    linker::build(&target()).expect("sframe-link is built")
}

/// The same kernel, linked by GNU ld, so that it has no tables.
fn unmodified(folder: &Path, functions: &[String], stack: u64) -> PathBuf {
    linked(folder, functions, &stack_of(stack), &gnu_ld())
}

fn gnu_ld() -> PathBuf {
    let (ld, package) = ("aarch64-linux-gnu-ld", "binutils-aarch64-linux-gnu");
    setup::program(ld, package, &target()).expect("a linker is to be had")
}

/// A stack of so many bytes.
fn stack_of(size: u64) -> String {
    format!(".bss\n.balign 16\n.skip {size}\n.globl stack_end\nstack_end:\n")
}

/// What the runner writes of a kernel that hangs.
fn asked(image: &Path) -> (String, Report) {
    let image = image.to_str().expect("a path in UTF-8");
    let asked = Asked::of(run(["--guest-timeout", "1", "--image", image]).expect(124));
    let report = asked.reports.first().expect("a list").clone();
    (asked.text, report)
}

#[test]
fn a_deep_recursion_is_followed_to_its_end_and_shown_in_few_lines() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    // 501 frames of 4,080 bytes, which are read within the limit also on a busy host; the last one waits.
    let start = format!(".cfi_undefined x30\n {BEGIN}\n mov x0, #500\n bl dive\n b .");
    let dive = "sub sp, sp, #4080\n.cfi_def_cfa_offset 4080\n str x30, [sp, #8]\n.cfi_offset x30, -4072\n \
        1: cbz x0, 1b\n sub x0, x0, #1\n bl dive\n ldr x30, [sp, #8]\n.cfi_restore x30\n \
        add sp, sp, #4080\n.cfi_def_cfa_offset 0\n ret";
    let functions = [function("_start", &start), function("dive", dive)];
    let (text, report) = asked(&kernel(folder.path(), &functions, 4 << 20));
    assert_eq!(
        report.end, "end of backtrace: complete, 502 frames",
        "{text}"
    );
    let names = report.names();
    assert_eq!(names.last(), Some(&"_start"), "{text}");
    assert!((3..10).contains(&names.len()), "{text}");
    let left_out = format!("{} frames left out", 502 - names.len());
    assert!(text.contains(&left_out), "{text}");
}

#[test]
fn a_made_up_return_address_has_its_own_name() {
    for is_outermost in [false, true] {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let start = format!(
            ".cfi_undefined x30\n {BEGIN}\n adrp x30, over\n add x30, x30, :lo12:over\n b thread"
        );
        let over = if is_outermost {
            ".cfi_undefined x30\n b ."
        } else {
            "b ."
        };
        let functions = [
            function("_start", &start),
            function("over", over),
            calling("thread", "bl serve"),
            function("serve", "b ."),
        ];
        let (text, report) = asked(&kernel(folder.path(), &functions, 4096));
        // Not `_start`, which is placed before it.
        let names = &["serve", "thread", "over"][..if is_outermost { 3 } else { 2 }];
        assert_eq!(report.names(), names, "{text}");
        assert!(
            report
                .end
                .contains("no call instruction precedes the return address 0x"),
            "{text}"
        );
        assert!(!report.end.contains("complete, "), "{text}");
        if is_outermost {
            assert!(text.contains(" p over+0x0/"), "{text}");
        }
    }
}

/// Data after the stack contains addresses of code where tasks went to sleep. If no symbol marks the end of the stack, the code that loads the stack
/// pointer does.
#[test]
fn no_frame_is_found_behind_the_end_of_a_stack() {
    let plain = |name: &str, body: &str| {
        format!(
            ".globl {name}\n.type {name}, %function\n{name}: {body}\n.size {name}, . - {name}\n"
        )
    };
    let saved =
        |body: &str| format!("stp x29, x30, [sp, #-32]!\n {body}\n ldp x29, x30, [sp], #32\n ret");
    let literal = "ldr x0, =stack_end\n mov sp, x0";
    for (name, begin) in [
        ("stack_end", BEGIN),
        (".Lstack_end", BEGIN),
        (".Lstack_end", literal),
    ] {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let begin = begin.replace("stack_end", name);
        let functions = [
            // Nobody calls the kernel's main function.
            plain(
                "_start",
                &format!("{begin}\n mov x29, #0\n mov x30, #0\n b kernel_main\n .ltorg"),
            ),
            plain("kernel_main", "bl work\n b ."),
            plain("work", &saved("bl wait")),
            plain("wait", "b ."),
            plain("reader", &saved("bl sleep\nslept: nop")),
            plain("sleep", "ret"),
        ];
        let data = format!(
            ".data\n.balign 16\nstack_start: .skip 4096\n{name}:\n.quad 0, slept, 0, slept\n"
        );
        let image = linked(folder.path(), &functions, &data, &gnu_ld());
        let (text, report) = asked(&image);
        assert_eq!(report.names(), ["wait", "work", "kernel_main"], "{text}");
        assert!(report.end.contains("incomplete: "), "{text}");
    }
}

/// Jumps by a pointer in memory, which nothing proves to lead where it does.
const NOTE: &str = "adrp x2, pointer
 ldr x2, [x2, :lo12:pointer]
 br x2
1: add x1, x1, #1
 add x1, x1, #1
 ret
 .pushsection .data
 .balign 8
 pointer: .quad 1b
 .popsection";

/// The outermost function is reached in each sample, and nothing is in doubt but the stack, and the row of one function. By the runner's own command, and by one of the
/// kernel's own.
#[test]
fn a_profile_names_what_is_not_declared() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let off = "mov w0, #8\n movk w0, #0x8400, lsl #16\n hvc #0\n b .";
    // The code does not show where the stack begins.
    let begin = format!("{BEGIN}\n mrs x1, mpidr_el1\n and x1, x1, #0xff\n sub sp, sp, x1, lsl #4");
    let start =
        format!(".cfi_undefined x30\n {begin}\n movz x0, #0x100, lsl #16\n bl serve\n {off}");
    let functions = [
        function("_start", &start),
        calling("serve", "1: bl count\n bl note\n subs x0, x0, #1\n b.ne 1b"),
        function("count", "add x1, x1, #1\n ret"),
        function("note", NOTE),
    ];
    let image = kernel(folder.path(), &functions, 4096);
    let image = image.to_str().expect("a path in UTF-8");
    let profile = folder.path().join("profile.folded");
    let profile = profile.to_str().expect("a path in UTF-8");
    let options = [
        "--profile-rate",
        "100",
        "--image",
        image,
        "--profile",
        profile,
    ];
    let given = format!("qemu-system-aarch64 -M virt -cpu max -nographic -kernel {image}");
    let given: Vec<_> = ["--"].into_iter().chain(given.split(' ')).collect();
    for given in [&[][..], &given] {
        let ran = run(options.iter().chain(given)).expect(0);
        let ran =
            ran.expect_words(" samples have all callers, but the start of their stack is unknown");
        assert!(!ran.words.contains("incomplete"), "{}", ran.words);
        let folded = fs::read_to_string(profile).expect("it is written");
        for serves in [
            "[undeclared stack];_start;serve",
            "[undeclared stack, in doubt];_start;serve;note ",
        ] {
            assert!(folded.contains(serves), "{folded}");
        }
        assert!(!folded.contains("[incomplete]"), "{folded}");
        fs::remove_file(profile).expect("it is there");
    }
}

/// The stack is declared, so that only the row of one function is in doubt.
#[test]
fn a_profile_tells_a_doubt_from_a_list_that_ends_too_early() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let off = "mov w0, #8\n movk w0, #0x8400, lsl #16\n hvc #0\n b .";
    let start =
        format!(".cfi_undefined x30\n {BEGIN}\n movz x0, #0x10, lsl #16\n bl serve\n {off}");
    let functions = [
        function("_start", &start),
        calling("serve", "1: bl note\n subs x0, x0, #1\n b.ne 1b"),
        function("note", NOTE),
    ];
    let declared = ".data\n.balign 8\n.globl STACKS_BOOT\nSTACKS_BOOT: .quad stack_end - 4096, 1, 4096, 0, 4096\n";
    let data = stack_of(4096) + declared;
    let linker = linker::build(&target()).expect("sframe-link is built");
    let image = linked(folder.path(), &functions, &data, &linker);
    let profile = folder.path().join("profile.folded");
    let [image, file] = [&image, &profile].map(|path| path.to_str().expect("a path in UTF-8"));
    let words = ["--profile-rate", "100", "--image", image, "--profile", file];
    let ran = run(words).expect(0);
    let ran = ran.expect_words(" samples end at the outermost function, but are in doubt");
    assert!(!ran.words.contains("incomplete"), "{}", ran.words);
    let folded = fs::read_to_string(profile).expect("it is written");
    for stack in ["\n_start;serve ", "[in doubt];_start;serve;note "] {
        assert!(format!("\n{folded}").contains(stack), "{folded}");
    }
}

/// The command boots a kernel at another address than that of the image.
#[test]
fn a_profile_reports_that_no_sample_is_in_the_image() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let booted = tiny::image(folder.path(), Arch::Aarch64, &[Act::Spin]);
    let off = "mov w0, #8\n movk w0, #0x8400, lsl #16\n hvc #0\n b .";
    let functions = [function("_start", &format!(".cfi_undefined x30\n {off}"))];
    let script = SCRIPT.replace("0x40200000", "0x40300000");
    let image = linked_by(folder.path(), &functions, "", &gnu_ld(), &script);
    let profile = folder.path().join("profile.folded");
    let [booted, image, file] =
        [&booted, &image, &profile].map(|path| path.to_str().expect("a path in UTF-8"));
    let words = format!(
        "--guest-timeout 1 --profile-rate 10 --image {image} --profile {file} -- qemu-system-aarch64 -M virt -cpu max -nographic \
         -kernel {booted}"
    );
    run(words.split(' '))
        .expect(124)
        .expect_words("no sample is in the code of the image");
}
