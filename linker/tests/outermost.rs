//! Functions without a caller: the entry of an image, and those that a link names.

use std::fs;
use std::path::Path;

use crate::common::{SCRIPT, folder, scripts, sframe, stderr, stdout};
use object::{Object, ObjectSection};

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
    let output = crate::common::sframe_link()
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
    crate::common::assemble(&folder, TARGET, PROGRAM);
    let (linked, said, names) = link(&folder, &[]);
    assert!(linked, "{said}");
    assert_eq!(names, ["_start"], "{said}");
    assert!(
        said.contains("no unwind rows in .sframe for second_cpu"),
        "{said}"
    );
    assert!(
        !said.contains("no unwind rows in .sframe for _start"),
        "{said}"
    );
    let named = [
        "--sframe-outermost=second_cpu",
        "--sframe-outermost=kernel::task",
    ];
    let (linked, said, names) = link(&folder, &named);
    assert!(linked, "{said}");
    assert_eq!(names, ["_start", "second_cpu", "kernel::task"], "{said}");
    assert!(!said.contains("no unwind rows in .sframe for"), "{said}");
    // Its mangled name is one, too.
    let (_, said, names) = link(&folder, &["--sframe-outermost=_RNvC6kernel4task"]);
    assert_eq!(names, ["_start", "kernel::task"], "{said}");
    let (linked, said, _) = link(&folder, &["--sframe-outermost=nobody"]);
    let expected = "sframe-link: error: image: --sframe-outermost=nobody: the image contains no function with this name";
    assert!(!linked && said.contains(expected), "{said}");
}

/// What is known of an entry says more: where its frame begins.
#[test]
fn an_entry_with_rows_keeps_them() {
    let folder = folder("outermost_rows");
    crate::common::assemble(&folder, TARGET, PROGRAM);
    let (linked, said, names) = link(&folder, &["-e", "first"]);
    assert!(linked, "{said}");
    assert_eq!(names, Vec::<String>::new(), "{said}");
}

/// A program of assembly with these functions after its entry.
fn program(functions: &str) -> String {
    format!(
        "
.type _start, %function
.globl _start
_start:
.cfi_startproc
.cfi_undefined rip
 call first
 hlt
.cfi_endproc
.size _start, . - _start
.type first, %function
first:
{functions}
"
    )
}

#[test]
fn of_two_functions_with_a_name_none_is_chosen() {
    let folder = folder("outermost_twice");
    let functions = program(
        " ret
.size first, . - first
.type _ZN6kernel4task17h0123456789abcdefE, %function
_ZN6kernel4task17h0123456789abcdefE:
 hlt
.size _ZN6kernel4task17h0123456789abcdefE, . - _ZN6kernel4task17h0123456789abcdefE
.type _ZN6kernel4task17hfedcba9876543210E, %function
_ZN6kernel4task17hfedcba9876543210E:
 hlt
.size _ZN6kernel4task17hfedcba9876543210E, . - _ZN6kernel4task17hfedcba9876543210E
",
    );
    crate::common::assemble(&folder, TARGET, &functions);
    let (linked, said, _) = link(&folder, &["--sframe-outermost=kernel::task"]);
    let expected = "--sframe-outermost=kernel::task: 2 functions have the name, at 0x";
    assert!(!linked && said.contains(expected), "{said}");
    assert!(said.contains("; pass the mangled name of one"), "{said}");
    let mangled = "--sframe-outermost=_ZN6kernel4task17hfedcba9876543210E";
    let (linked, said, names) = link(&folder, &[mangled]);
    assert!(linked, "{said}");
    assert_eq!(names, ["_start", "kernel::task"], "{said}");
}

/// Code after a label without a size belongs to another function if anything but a symbol says so: its call frame information, a call of it,
/// or debug information.
#[test]
fn of_a_label_without_a_size_other_functions_stay_as_they_are() {
    let folder = folder("outermost_label");
    let functions = program(
        " call .Lcalled
 ret
.size first, . - first
task:
 mov $0x1000, %rsp
 hlt
.Ldescribed:
.cfi_startproc
 push %rbx
.cfi_def_cfa_offset 16
 call .Lcalled
 pop %rbx
.cfi_def_cfa_offset 8
 ret
.cfi_endproc
more:
 nop
 hlt
.Lcalled:
 sub $24, %rsp
 add $24, %rsp
 ret
",
    );
    crate::common::assemble(&folder, TARGET, &functions);
    let rows = |switches: &[&str]| {
        let (linked, said, names) = link(&folder, switches);
        assert!(linked, "{said}");
        let dump = stdout(&sframe(&["dump"], &folder.join("image")));
        // Without the addresses.
        let cfa = |cfa: &str| dump.matches(&format!("  sp+{cfa} ")).count();
        (names, cfa("16"), cfa("32"))
    };
    let (_, described, called) = rows(&[]);
    assert_eq!((described, called), (1, 1));
    let named = ["--sframe-outermost=task", "--sframe-outermost=more"];
    let expected = ["_start", "task", "more"].map(String::from).to_vec();
    assert_eq!(rows(&named), (expected, described, called));
}

/// A static function without call frame information and without a symbol, which is called by a pointer only.
#[test]
fn of_a_label_without_a_size_functions_of_debug_information_stay_as_they_are() {
    let folder = folder("outermost_subprogram");
    let assembly = "
.globl _start
.type _start, %function
_start:
 call task
 hlt
.size _start, . - _start
.globl task
task:
 mov $0x1000, %rsp
 hlt
";
    crate::common::assemble(&folder, TARGET, assembly);
    let source = "static int local(int x) { return x + 1; }\nint (*const pointer)(int) = local;\n";
    fs::write(folder.join("local.c"), source).unwrap();
    for (command, arguments) in [
        (
            "gcc",
            &[
                "-c",
                "-O1",
                "-g",
                "-fno-asynchronous-unwind-tables",
                "-fno-pic",
                "local.c",
            ][..],
        ),
        ("objcopy", &["--strip-symbol=local", "local.o"]),
    ] {
        let package = match command {
            "gcc" => "gcc",
            _ => "binutils",
        };
        let mut command = crate::common::tool(command, package);
        crate::common::succeed(command.current_dir(&folder).args(arguments));
    }
    // An address of data is none of a declared function's without a symbol.
    let (linked, said, _) = link(&folder, &["local.o", "--sframe-outermost=task"]);
    assert!(linked, "{said}");
    let dump = stdout(&sframe(&["dump"], &folder.join("image")));
    let task = dump.lines().find(|line| line.ends_with("  task"));
    // Eight bytes, and padding.
    assert!(
        task.is_some_and(|line| line.contains("size = 8 bytes")),
        "{dump}"
    );
}

/// A variable is no function, and neither is a label in one.
#[test]
fn what_is_no_function_cannot_be_named() {
    let folder = folder("outermost_variable");
    let functions = program(
        " nop
inside:
 ret
.size first, . - first
.data
.type variable, %object
variable:
 .quad 0
.size variable, 8
unsized: .quad 0
",
    );
    crate::common::assemble(&folder, TARGET, &functions);
    for (name, why) in [
        ("variable", "the image contains no function with this name"),
        ("unsized", "the image contains no function with this name"),
        (
            "inside",
            "the name is a label inside a function, not a function",
        ),
    ] {
        let (linked, said, _) = link(&folder, &[&format!("--sframe-outermost={name}")]);
        let expected = format!("--sframe-outermost={name}: {why}");
        assert!(!linked && said.contains(&expected), "{said}");
    }
}

/// One description is for several functions: what a link names is a part of it.
#[test]
fn a_part_of_what_is_described_as_one_may_have_no_caller() {
    let folder = folder("outermost_part");
    let functions = program(
        ".cfi_startproc
 call task
 ret
.size first, . - first
.type task, %function
task:
 nop
 hlt
.size task, . - task
label:
 nop
last:
 ret
.cfi_endproc
.size last, . - last
",
    );
    crate::common::assemble(&folder, TARGET, &functions);
    let (linked, said, names) = link(&folder, &["--sframe-outermost=task"]);
    assert!(linked, "{said}");
    assert_eq!(names, ["_start", "task"], "{said}");
    let check = stdout(&sframe(&["check"], &folder.join("image")));
    assert!(
        check.contains("2 bytes, task: the function is declared to have no caller\n"),
        "{check}"
    );
}

/// A row without a caller in the middle of a function is no declaration, and ends a trace as complete: it must not pass.
#[test]
fn a_row_without_a_caller_that_nothing_explains_is_a_difference() {
    let folder = folder("outermost_lie");
    let functions = program(
        ".cfi_startproc
 nop
.cfi_undefined rip
 nop
.cfi_endproc
.size first, . - first
",
    );
    crate::common::assemble(&folder, TARGET, &functions);
    let (linked, said, _) = link(&folder, &[]);
    assert!(linked, "{said}");
    let file = folder.join("image");
    let mut data = fs::read(&file).unwrap();
    let section = {
        let elf = object::File::parse(&*data).unwrap();
        let frames = elf.section_by_name(".eh_frame").unwrap();
        frames.file_range().unwrap()
    };
    let section = &mut data[section.0 as usize..][..section.1 as usize];
    // DW_CFA_advance_loc 1, DW_CFA_undefined of register 16, which becomes two DW_CFA_nop.
    let place = section
        .windows(3)
        .position(|three| three == [0x41, 0x07, 0x10]);
    section[place.unwrap() + 1..][..2].fill(0);
    fs::write(&file, data).unwrap();
    let check = sframe(&["check"], &file);
    assert_eq!(check.status.code(), Some(1), "{}", stdout(&check));
    let text = stdout(&check);
    assert!(
        text.contains(": the unwind row is Row { offset: 1, cfa: Undefined, "),
        "{text}"
    );
    assert!(text.contains(" addresses: 1 differences\n"), "{text}");
}
