//! Functions for AArch64 whose call frame information lies in one way each, and the rows that hold instead.

mod common;
#[path = "common/proven.rs"]
mod proven;

use proven::{function, prove, silent};

const TARGET: &str = "aarch64-unknown-none-softfloat";

fn check(name: &str, text: &[String], expected: &str) {
    let found = prove(&format!("a64_rows_{name}"), TARGET, &text.concat());
    assert_eq!(found, expected, "{}", text.concat());
}

#[test]
fn a_frame_that_nobody_mentions() {
    let text = [function(
        "_start",
        "stp x29, x30, [sp, #-32]!\n mov x29, sp\n ldp x29, x30, [sp], #32\n ret",
    )];
    // The registers still hold what was saved until they are written to.
    check(
        "unmentioned",
        &text,
        "0..4 agrees\n4..8 mended sp+32 u u\n8..12 mended sp+32 c-32 u\n12..16 agrees\n",
    );
}

#[test]
fn a_return_address_that_a_call_overwrites() {
    let text = [
        function(
            "_start",
            "str x30, [sp, #-16]!\n .cfi_def_cfa_offset 16\n bl other\n ldr x30, [sp], #16\n .cfi_def_cfa_offset 0\n ret",
        ),
        silent("other", "ret"),
    ];
    // While the callee runs x30 is its own.
    check(
        "link",
        &text,
        "0..4 agrees\n4..12 mended sp+16 u c-16\n12..16 agrees\n16..20 made sp+0 u u\n",
    );
}

#[test]
fn a_signed_return_address() {
    let text = [function(
        "_start",
        "paciasp\n str x30, [sp, #-16]!\n .cfi_def_cfa_offset 16\n .cfi_offset x30, -16\n mov x30, xzr\n ldr x30, [sp], #16\n
         .cfi_def_cfa_offset 0\n .cfi_restore x30\n autiasp\n ret",
    )];
    let text = [".arch armv8.3-a\n".to_owned(), text.concat()];
    // The rows know where it is, but not that it is signed.
    check(
        "signed",
        &text,
        "0..4 agrees\n4..8 mended sp+0 u u[s]\n8..12 mended sp+16 u u[s]\n12..16 mended sp+16 u c-16[s]\n16..20 mended sp+0 u u[s]\n20..24 agrees\n",
    );
}

#[test]
fn a_leaf_with_a_switch() {
    let text = [
        function(
            "_start",
            "cmp x0, #2\n b.hi 4f\n adrp x8, table\n add x8, x8, :lo12:table\n adr x9, 1f\n ldrb w10, [x8, x0]\n
             add x9, x9, x10, lsl #2\n br x9\n 1: ret\n 2: sub sp, sp, #16\n add sp, sp, #16\n ret\n 3: ret\n 4: ret",
        ),
        ".section .rodata\n table: .byte 0, 1, 4\n .text\n".to_owned(),
    ];
    check(
        "switch",
        &text,
        "0..40 agrees\n40..44 mended sp+16 u u\n44..56 agrees\n",
    );
}

#[test]
fn room_of_unknown_size() {
    let text = [function(
        "_start",
        "stp x29, x30, [sp, #-16]!\n .cfi_def_cfa_offset 16\n .cfi_offset x29, -16\n .cfi_offset x30, -8\n mov x29, sp\n
         sub sp, sp, x0\n nop\n mov sp, x29\n ldp x29, x30, [sp], #16\n ret",
    )];
    // The stack pointer tells nothing from 12 on, until it is back at 20; the last row never comes.
    let expected =
        "0..12 agrees\n12..20 mended fp+16 c-16 u\n20..24 agrees\n24..28 mended sp+0 u u\n";
    check("alloca", &text, expected);
}

#[test]
fn functions_choose_the_same_row_for_what_they_share() {
    let text = [
        // Its return address is in x30 and on the stack, where the row of the call has it.
        function(
            "_start",
            "str x30, [sp, #-16]!\n bl other\n ldr x30, [sp]\n b shared",
        ),
        function("twin", "sub sp, sp, #16\n b shared"),
        function("shared", "add sp, sp, #16\n ret"),
        silent("other", "ret"),
    ];
    let expected = "0..4 agrees\n4..16 mended sp+16 u c-16\n16..20 agrees\n20..28 mended sp+16 u u\n28..32 agrees\n32..36 made sp+0 u u\n";
    check("shared", &text, expected);
}
