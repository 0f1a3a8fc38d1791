//! Where code goes on when an exception comes out of a call: no jump leads there, only the tables of compilers do.

use crate::common::proven::{function, prove, silent};

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A function whose call at 1, of 5 bytes, lands at 8; `area` says so.
fn check(name: &str, area: &str, expected: &str) {
    let body =
        ".cfi_lsda 0x1b, sites\n push %rbx\n call other\n pop %rbx\n ret\n 2: pop %rbx\n nop\n ret";
    let text = [
        function("_start", body),
        silent("other", "ret"),
        format!(".section .gcc_except_table, \"a\", %progbits\n .byte 0\n sites: {area}\n .text\n"),
    ];
    let found = prove(&format!("landing_{name}"), TARGET, &text.concat());
    assert_eq!(found, expected, "{area}");
}

const LANDED: &str = "0..1 agrees\n1..7 mended sp+16 u c-8\n7..8 agrees\n8..9 mended sp+16 u c-8\n9..11 agrees\n11..12 made sp+8 u c-8\n";
const NOT_LANDED: &str =
    "0..1 agrees\n1..7 mended sp+16 u c-8\n7..8 agrees\n11..12 made sp+8 u c-8\n";

#[test]
fn numbers_of_each_format() {
    // Bases of pads and of types, which are not there; then the format and the size of what follows: start and length of the
    // calls, where they land, and what is done there.
    for (name, format, size, numbers) in [
        ("address", 0, 25, ".quad 1, 5, 8"),
        ("uleb", 1, 4, ".byte 1, 5, 8"),
        ("udata2", 2, 7, ".short 1, 5, 8"),
        ("udata4", 3, 13, ".long 1, 5, 8"),
        ("udata8", 4, 25, ".quad 1, 5, 8"),
        ("sleb", 9, 4, ".byte 1, 5, 8"),
        ("sdata2", 10, 7, ".short 1, 5, 8"),
        ("sdata4", 11, 13, ".long 1, 5, 8"),
        ("sdata8", 12, 25, ".quad 1, 5, 8"),
    ] {
        let area = format!(".byte 0xff, 0xff, {format}, {size}\n {numbers}\n .byte 0");
        check(name, &area, LANDED);
    }
    for (name, format) in [("unknown", 5), ("relative", 0x13)] {
        let area = format!(".byte 0xff, 0xff, {format}, 13\n .long 1, 5, 8\n .byte 0");
        check(name, &area, NOT_LANDED);
    }
}

#[test]
fn negative_numbers() {
    // From a base behind the function.
    for (name, format, size, numbers) in [
        ("sleb", 9, 4, ".byte 1, 5, 0x78"),
        ("sdata2", 10, 7, ".short 1, 5, -8"),
        ("sdata4", 11, 13, ".long 1, 5, -8"),
    ] {
        let area = format!(
            ".byte 4\n .quad _start + 16\n .byte 0xff, {format}, {size}\n {numbers}\n .byte 0"
        );
        check(&format!("negative_{name}"), &area, LANDED);
    }
}

#[test]
fn pads_count_from_a_base() {
    for (name, base) in [
        ("absolute", ".byte 4\n .quad _start + 4"),
        ("relative", ".byte 0x1b\n 3: .long _start + 4 - 3b"),
        ("relative_8", ".byte 0x14\n 3: .quad _start + 4 - 3b"),
    ] {
        let area = format!("{base}\n .byte 0xff, 1, 4, 1, 5, 4, 0");
        check(&format!("base_{name}"), &area, LANDED);
    }
    // Counted from something else.
    let area = ".byte 0x34\n .quad _start + 4\n .byte 0xff, 1, 4, 1, 5, 4, 0";
    check("base_unknown", area, NOT_LANDED);
}

#[test]
fn only_calls_with_a_pad_land() {
    // With types of exceptions, and calls before and behind.
    let sites = ".byte 0xff, 0x9b, 40, 1, 12, 0, 1, 0, 0, 1, 5, 8, 1, 6, 2, 0, 0";
    check("types", sites, LANDED);
    check("none", ".byte 0xff, 0xff, 1, 4, 1, 5, 0, 0", NOT_LANDED);
    check("before", ".byte 0xff, 0xff, 1, 4, 0, 1, 8, 0", NOT_LANDED);
    check("behind", ".byte 0xff, 0xff, 1, 4, 6, 5, 8, 0", NOT_LANDED);
    // It says that it is longer than it is.
    check("cut", ".byte 0xff, 0xff, 1, 120, 1, 5, 8, 0", NOT_LANDED);
}

#[test]
fn arguments_are_taken_off_on_the_way() {
    let body = ".cfi_lsda 0x1b, sites\n push %rbx\n call other\n push $1\n .cfi_escape 0x2e, 8\n call other\n add $8, %rsp\n
         .cfi_escape 0x2e, 0\n pop %rbx\n ret\n 2: pop %rbx\n ret";
    let text = [
        function("_start", body),
        silent("other", "ret"),
        ".section .gcc_except_table, \"a\", %progbits\n sites: .byte 0xff, 0xff, 1, 4, 1, 12, 19, 0\n .text\n".to_owned(),
    ];
    // Both calls land at 19, with the same stack.
    let found = prove("landing_arguments", TARGET, &text.concat());
    assert_eq!(
        found,
        "0..1 agrees\n1..8 mended sp+16 u c-8\n8..17 mended sp+24 u c-8\n17..18 mended sp+16 u c-8\n18..19 agrees\n19..20 mended sp+16 u c-8\n20..21 agrees\n21..22 made sp+8 u c-8\n"
    );
}
