//! What `sframe` prints.

use crate::common::{folder, image, sframe, stderr, stdout};

const PROGRAM: &str = "
.globl _start
.type _start, %function
_start:
.cfi_startproc
.cfi_undefined rip
 call callee
 hlt
.cfi_endproc
.size _start, . - _start
.type callee, %function
callee:
.cfi_startproc
 push %rbp
.cfi_def_cfa_offset 16
.cfi_offset rbp, -16
 pop %r11
.cfi_def_cfa_offset 8
.cfi_same_value rbp
 ret
.cfi_endproc
.size callee, . - callee
";

#[test]
fn json_has_a_line_for_the_header_and_for_each_function() {
    let (path, _) = image(&folder("json"), "x86_64-unknown-linux-gnu", PROGRAM);
    let output = sframe(&["dump", "--json"], &path);
    assert_eq!(
        stdout(&output),
        r#"{"section":".sframe","version":3,"flags":5,"abi":"amd64","functions":2,"rows":4,"unproven":[]}
{"start":18446744071563116544,"size":6,"pc_type":"inc","kind":"default","signal":false,"pauth_key":"a","rep_size":0,"rows":[{"offset":0,"cfa":"undefined","ra":"undefined","fp":"undefined","ra_signed":false}]}
{"start":18446744071563116550,"size":4,"pc_type":"inc","kind":"default","signal":false,"pauth_key":"a","rep_size":0,"rows":[{"offset":0,"cfa":"sp+8","ra":"f","fp":"u","ra_signed":false},{"offset":1,"cfa":"sp+16","ra":"f","fp":"c-16","ra_signed":false},{"offset":3,"cfa":"sp+8","ra":"f","fp":"u","ra_signed":false}]}
"#
    );
}

#[test]
fn addresses_get_names_and_rules() {
    let (path, _) = image(&folder("lookup"), "x86_64-unknown-linux-gnu", PROGRAM);
    let output = sframe(&["lookup", "0xffffffff80100000", "ffffffff80100008"], &path);
    assert!(output.status.success());
    assert_eq!(
        stdout(&output),
        "0xffffffff80100000: _start+0x0/0x6, RA undefined\n\
         0xffffffff80100008: callee+0x2/0x4, cfa sp+16, ra f, fp c-16\n"
    );
    let output = sframe(&["lookup", "10"], &path);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stdout(&output),
        "0x10: no name, no function in the unwind table contains the address\n"
    );
    let output = sframe(&["lookup", "main"], &path);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("invalid value 'main'"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn sizes_are_those_of_the_sections() {
    let (path, _) = image(&folder("stats"), "x86_64-unknown-linux-gnu", PROGRAM);
    let text = stdout(&sframe(&["stats"], &path));
    // Header 28, index 2 × 16, attributes 2 × 5, rows: 2 + 3 + 4 + 3, the proof 8, the checksum of the code 24, the address 12, checksum 8.
    for expected in [
        "code                              10",
        ".sframe                          134",
        "sizes in .sframe: header: 28 bytes, functions: 32 bytes, rows: 22 bytes (4 rows, 4 rows after deduplication), list of unproven rows: 8 bytes, checksums of the code: 24 bytes, address of the table: 12 bytes, checksum of the table: 8 bytes",
        "functions: 2, unwind rows: 4, ",
        "left out: nothing",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

/// Tables of LLVM's own, in an object file: each function in a section of its own, so that only relocations say where it
/// is. They are compared with the `.eh_frame` of the same file.
#[test]
fn object_files_are_laid_out() {
    let folder = folder("object_files");
    let source = folder.join("library.rs");
    let text = "#[unsafe(no_mangle)] pub fn fill(list: &mut Vec<u64>, next: fn(u64) -> u64) {
        for index in 0..list.len() { list[index] = next(list[index]); println!(\"{}\", list[index]); }
    }
    #[unsafe(no_mangle)] pub fn fibonacci(n: u64) -> u64 {
        if n < 2 { n } else { fibonacci(n - 1) + fibonacci(n - 2) }
    }";
    std::fs::write(&source, text).unwrap();
    let object = folder.join("library.o");
    crate::common::succeed(
        crate::common::rustc()
            .args([
                "--edition=2024",
                "--crate-type=lib",
                "--emit=obj",
                "-Cforce-unwind-tables=yes",
            ])
            .args([
                "-Cllvm-args=--gsframe",
                "--target=x86_64-unknown-linux-gnu",
                "-o",
            ])
            .arg(&object)
            .arg(&source),
    );
    let check = sframe(&["check"], &object);
    assert!(
        check.status.success(),
        "{}{}",
        stdout(&check),
        stderr(&check)
    );
    let said = stdout(&check);
    let compared = said.lines().find(|line| line.contains(" addresses: "));
    let functions: usize = compared
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let dump = stdout(&sframe(&["dump"], &object));
    assert!(dump.contains("    Version: 2\n"), "{dump}");
    let mut starts: Vec<&str> = dump
        .lines()
        .filter_map(|line| line.split("pc = ").nth(1)?.split(',').next())
        .collect();
    assert_eq!(starts.len(), functions);
    starts.sort_unstable();
    starts.dedup();
    assert_eq!(starts.len(), functions, "each has an address of its own");
    for name in ["  fill\n", "  fibonacci\n"] {
        assert!(dump.contains(name), "{dump}");
    }
}

/// Calls and jumps to other sections and to other files, a jump table, and a call by a word that the linker makes.
const BRANCHES: [(&str, &str); 2] = [
    (
        "as",
        "
.cfi_sections .eh_frame, .sframe
.section .text.frame, \"ax\"
.globl frame
.type frame, @function
frame:
.cfi_startproc
 sub $56, %rsp
 .cfi_adjust_cfa_offset 56
 call local
 call other_file@PLT
 call *other_file@GOTPCREL(%rip)
 test %eax, %eax
 jne frame.cold
 add $56, %rsp
 .cfi_adjust_cfa_offset -56
 ret
.cfi_endproc
.size frame, . - frame
.section .text.unlikely, \"ax\"
.type frame.cold, @function
frame.cold:
.cfi_startproc
.cfi_def_cfa_offset 64
 call other_file@PLT
 add $56, %rsp
 .cfi_adjust_cfa_offset -56
 jmp other_file@PLT
.cfi_endproc
.size frame.cold, . - frame.cold
.section .text.local, \"ax\"
.type local, @function
local:
.cfi_startproc
 push %rbx
 .cfi_adjust_cfa_offset 8
 .cfi_offset rbx, -16
 cmp $2, %edi
 ja 1f
 mov %edi, %edi
 lea table(%rip), %rdx
 movslq (%rdx,%rdi,4), %rax
 add %rdx, %rax
 jmp *%rax
.Lone:
 call other_file@PLT
.Ltwo:
 nop
1:
 pop %rbx
 .cfi_adjust_cfa_offset -8
 jmp other_file@PLT
.cfi_endproc
.size local, . - local
.section .rodata, \"a\"
.balign 4
table: .long .Lone - table, .Ltwo - table, .Lone - table
",
    ),
    (
        "aarch64-linux-gnu-as",
        "
.cfi_sections .eh_frame, .sframe
.section .text.frame, \"ax\"
.globl frame
.type frame, @function
frame:
.cfi_startproc
 stp x29, x30, [sp, #-64]!
 .cfi_def_cfa_offset 64
 .cfi_offset x29, -64
 .cfi_offset x30, -56
 bl local
 bl other_file
 adrp x1, :got:other_file
 ldr x1, [x1, :got_lo12:other_file]
 blr x1
 ldp x29, x30, [sp], #64
 .cfi_def_cfa_offset 0
 .cfi_restore x29
 .cfi_restore x30
 cbnz w0, frame.cold
 ret
.cfi_endproc
.size frame, . - frame
.section .text.unlikely, \"ax\"
.type frame.cold, @function
frame.cold:
.cfi_startproc
 b other_file
.cfi_endproc
.size frame.cold, . - frame.cold
.section .text.local, \"ax\"
.type local, @function
local:
.cfi_startproc
 stp x29, x30, [sp, #-16]!
 .cfi_def_cfa_offset 16
 .cfi_offset x29, -16
 .cfi_offset x30, -8
 cmp w0, #2
 b.hi 1f
 adrp x1, table
 add x1, x1, :lo12:table
 ldrb w1, [x1, w0, uxtw]
 adr x2, .Lone
 add x1, x2, w1, sxtb #2
 br x1
.Lone:
 bl other_file
.Ltwo:
 nop
1:
 ldp x29, x30, [sp], #16
 .cfi_def_cfa_offset 0
 .cfi_restore x29
 .cfi_restore x30
 b other_file
.cfi_endproc
.size local, . - local
.section .rodata, \"a\"
table: .byte 0, 1, 0
",
    ),
];

/// GNU ld marks the table of an object file as sorted, although the addresses of the sections are not chosen yet.
#[test]
fn functions_of_object_files_have_no_order() {
    let folder = folder("object_order");
    let function = |name: &str, section: &str| {
        format!(
            ".section {section}, \"ax\"\n.type {name}, @function\n{name}:\n.cfi_startproc\n nop\n ret\n.cfi_endproc\n.size {name}, . - {name}\n"
        )
    };
    let text = ["b", "a", "c"]
        .map(|name| function(name, &format!(".text.{name}")))
        .concat();
    std::fs::write(folder.join("input.s"), function("first", ".text.z") + &text).unwrap();
    let tool = |name| {
        let mut command = crate::common::tool(name, "binutils");
        command.current_dir(&folder);
        command
    };
    crate::common::succeed(tool("as").args(["--gsframe", "-o", "input.o", "input.s"]));
    std::fs::write(
        folder.join("order.ld"),
        "SECTIONS { .text.a : { *(.text.a) } .text.z : { *(.text.z) } .text.b : { *(.text.b) } }",
    )
    .unwrap();
    crate::common::succeed(tool("ld").args(["-r", "-T", "order.ld", "-o", "all.o", "input.o"]));
    let check = sframe(&["check", "--coverage", "0"], &folder.join("all.o"));
    let said = stdout(&check);
    assert!(
        check.status.success() && said.contains(": 0 differences"),
        "{said}"
    );
}

/// Rows of an object file are compared with its code as it will be: each call and jump with where it leads.
#[test]
fn code_of_object_files_is_followed_through_its_relocations() {
    for (assembler, text) in BRANCHES {
        let package = match assembler {
            "as" => "binutils",
            _ => "binutils-aarch64-linux-gnu",
        };
        let folder = folder(&format!("branches_{assembler}"));
        let object = folder.join("input.o");
        std::fs::write(folder.join("input.s"), text).unwrap();
        let mut assembler = crate::common::tool(assembler, package);
        crate::common::succeed(assembler.arg("-o").arg(&object).arg(folder.join("input.s")));
        let check = sframe(&["check", "--coverage", "0"], &object);
        let said = stdout(&check);
        assert!(check.status.success(), "{said}{}", stderr(&check));
        for expected in [
            "verified functions: 3 of 3 (100.00 %), functions with unwind rows that sframe-link corrected: 0",
            "contradicts the code at 0 places (0 bytes)\nthe unwind table contradicts the code at 0 places",
            ": 0 differences",
        ] {
            assert!(said.contains(expected), "{expected}: {said}");
        }
    }
}
