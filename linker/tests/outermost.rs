//! Functions without a caller: the entry of an image, and those that a link names.

mod common;

use std::fs;
use std::path::Path;

use common::{SCRIPT, folder, scripts, sframe, stderr, stdout};

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// An entry and a second one that make a stack, and of which nothing else is known; and one with rows.
const PROGRAM: &str = "
.type _start, %function
.globl _start
_start:
 mov $0x1000, %rsp
 call first
 hlt
.size _start, . - _start
second_cpu:
 mov $0x2000, %rsp
 call first
 hlt
.type first, %function
first:
.cfi_startproc
 call _RNvC6kernel4task
 ret
.cfi_endproc
.size first, . - first
.type _RNvC6kernel4task, %function
_RNvC6kernel4task:
.cfi_startproc
 push %rbx
.cfi_def_cfa_offset 16
 pop %rbx
.cfi_def_cfa_offset 8
 ret
.cfi_endproc
.size _RNvC6kernel4task, . - _RNvC6kernel4task
";

/// Links, and returns the exit status, what was said, and the rows at the start of each function.
fn link(folder: &Path, switches: &[&str]) -> (bool, String, Vec<String>) {
    fs::write(folder.join("image.ld"), SCRIPT).unwrap();
    let output = common::sframe_link()
        .current_dir(folder)
        .args(["-T", "image.ld", "-L", &scripts(), "-o", "image", "input.o"])
        .args(switches)
        .output()
        .unwrap();
    let image = folder.join("image");
    if !output.status.success() {
        return (false, stderr(&output), Vec::new());
    }
    let check = sframe(&["check", "--coverage=0"], &image);
    assert!(
        check.status.success(),
        "{}{}",
        stdout(&check),
        stderr(&check)
    );
    let dump = stdout(&sframe(&["dump"], &image));
    let has_no_caller = |part: &&str| part.contains("RA undefined");
    let functions = dump.split("func idx").skip(1).filter(has_no_caller);
    let names = functions.map(|part| {
        part.lines()
            .next()
            .unwrap()
            .rsplit(' ')
            .next()
            .unwrap()
            .to_owned()
    });
    (true, stderr(&output), names.collect())
}

#[test]
fn the_entry_and_what_is_named_have_no_caller() {
    let folder = folder("outermost");
    common::assemble(&folder, TARGET, PROGRAM);
    let (linked, said, names) = link(&folder, &[]);
    assert!(linked, "{said}");
    assert_eq!(names, ["_start"], "{said}");
    assert!(said.contains("left out of .sframe: second_cpu"), "{said}");
    assert!(!said.contains("left out of .sframe: _start"), "{said}");
    let named = [
        "--sframe-outermost=second_cpu",
        "--sframe-outermost=kernel::task",
    ];
    let (linked, said, names) = link(&folder, &named);
    assert!(linked, "{said}");
    assert_eq!(names, ["_start", "second_cpu", "kernel::task"], "{said}");
    assert!(!said.contains("left out of .sframe"), "{said}");
    // Its mangled name is one, too.
    let (_, said, names) = link(&folder, &["--sframe-outermost=_RNvC6kernel4task"]);
    assert_eq!(names, ["_start", "kernel::task"], "{said}");
    let (linked, said, _) = link(&folder, &["--sframe-outermost=nobody"]);
    let expected =
        "sframe-link: error: image: --sframe-outermost=nobody: there is no function of that name";
    assert!(!linked && said.contains(expected), "{said}");
}

/// What is known of an entry says more: where its frame begins.
#[test]
fn an_entry_with_rows_keeps_them() {
    let folder = folder("outermost_rows");
    common::assemble(&folder, TARGET, PROGRAM);
    let (linked, said, names) = link(&folder, &["-e", "first"]);
    assert!(linked, "{said}");
    assert_eq!(names, Vec::<String>::new(), "{said}");
}
