//! Where the list of a stack ends that nobody declares, and whose end no symbol and no constant tells.

use super::{asked, calling, function, gnu_ld, linked, sframe_link};

/// Sets the stack pointer to the end of the lower one of two stacks.
const LOWER: &str =
    "ldr x0, =stacks_end\n mov x1, #1\n lsl x1, x1, #12\n sub sp, x0, x1\n mov x29, #0";

/// Two stacks. The upper one contains the addresses of code where tasks went to sleep.
const STACKS: &str = ".data\n.balign 4096\n.globl stacks\n.type stacks, %object\nstacks: .skip 4096\n\
    .rept 256\n.quad 0, slept\n.endr\n.size stacks, . - stacks\nstacks_end:\n";

/// Functions that every kernel has: one waits, and the other one is the function that tasks were in.
fn others() -> [String; 4] {
    [
        calling("work", "bl wait"),
        function("wait", "b ."),
        calling("reader", "bl sleep\nslept: nop"),
        function("sleep", "ret"),
    ]
}

/// A function without rows.
fn plain(name: &str, body: &str) -> String {
    format!(".globl {name}\n.type {name}, %function\n{name}: {body}\n.size {name}, . - {name}\n")
}

#[test]
fn boot_code_of_another_cpu_has_no_callers() {
    let boot = [
        plain("_start", "b second"),
        plain(
            "second",
            &format!("{LOWER}\n bl work\n1: wfe\n b 1b\n .ltorg"),
        ),
    ];
    let folder = tempfile::tempdir().expect("a folder can be made");
    let functions = [&boot[..], &others()].concat();
    let image = linked(folder.path(), &functions, STACKS, &gnu_ld());
    let (text, report) = asked(&image);
    assert_eq!(report.names(), ["wait", "work", "second"], "{text}");
    let end = "end of backtrace: incomplete: no unwind row for address 0x";
    assert!(report.end.starts_with(end), "{text}");
    assert!(report.end.contains("3 frames"), "{text}");
}

#[test]
fn a_null_return_address_ends_the_list() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let start = plain(
        "_start",
        &format!("{LOWER}\n mov x30, #0\n b work\n .ltorg"),
    );
    let functions = [&[start][..], &others()].concat();
    let image = linked(folder.path(), &functions, STACKS, &gnu_ld());
    let (text, report) = asked(&image);
    assert_eq!(report.names(), ["wait", "work"], "{text}");
    let end = "end of backtrace: incomplete: the return address is null, ";
    assert!(report.end.starts_with(end), "{text}");
}

/// In the words of a report that such a kernel writes itself.
#[test]
fn the_outermost_function_of_an_undeclared_stack_is_reached_in_doubt() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let start = format!(".cfi_undefined x30\n {LOWER}\n bl work\n b .\n .ltorg");
    let functions = [&[function("_start", &start)][..], &others()].concat();
    let data = STACKS.replace(".rept 256", ".rept 0");
    let image = linked(folder.path(), &functions, &data, &sframe_link());
    let (text, report) = asked(&image);
    assert_eq!(report.names(), ["wait", "work", "_start"], "{text}");
    let end = "end of backtrace: outermost function reached, from frame 2 on in doubt (it is unknown whether the stack begins at address 0x";
    assert!(report.end.starts_with(end), "{text}");
}
