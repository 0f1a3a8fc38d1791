//! Functions for AArch64 whose call frame information lies in one way each, and the rows that hold instead.

use crate::common::proven::{function, prove, prove_linked, silent};

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
fn a_return_address_in_a_register_during_a_call() {
    let text = |callee: &str, body: &str| {
        [
            function(
                "_start",
                &format!(
                    "mov x2, x30\n bl {callee}\n mov x30, x2\n sub sp, sp, #16\n add sp, sp, #16\n ret"
                ),
            ),
            silent(callee, body),
        ]
    };
    // Whoever calls what LLVM's outliner has made knows that it leaves the register as it is.
    check(
        "outlined",
        &text("OUTLINED_FUNCTION_0", "add x9, x9, #1\n ret"),
        "0..8 agrees\n8..12 withdrawn: the location of the return address is unknown\n12..16 agrees\n16..20 mended sp+16 u u\n20..24 \
         agrees\n24..32 made sp+0 u u\n",
    );
    // Any other function may change it from one build to the next.
    check(
        "of_others",
        &text("other", "add x9, x9, #1\n ret"),
        "0..24 undecided: the stack depth at a function exit differs from the depth at the function entry\n24..32 made sp+0 u u\n",
    );
    check(
        "changed",
        &text("OUTLINED_FUNCTION_0", "mov x2, #1\n ret"),
        "0..24 undecided: the stack depth at a function exit differs from the depth at the function entry\n24..32 made sp+0 u u\n",
    );
    // There are two ways out, one of them unknown.
    check(
        "two_ways",
        &text("OUTLINED_FUNCTION_0", "cbz x9, 1f\n br x10\n 1: ret"),
        "0..24 undecided: the stack depth at a function exit differs from the depth at the function entry\n24..36 made sp+0 u u\n",
    );
    // The other way out is a function that changes the register.
    let [caller, callee] = text("OUTLINED_FUNCTION_0", "cbz x9, far\n ret");
    check(
        "conditional_tail_call",
        &[caller, callee, silent("far", "mov x2, #1\n ret")],
        "0..24 undecided: the stack depth at a function exit differs from the depth at the function entry\n24..32 made sp+0 u u\n32..40 made sp+0 u u\n",
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

#[test]
fn a_piece_moved_out_saves_into_the_callers_frame() {
    let text = [
        function(
            "_start",
            "sub sp, sp, #32\n str x30, [sp, #8]\n bl outlined\n mov x29, xzr\n nop\n ldp x29, x30, [sp]\n add sp, sp, #32\n ret",
        ),
        silent("outlined", "str x29, [sp]\n ret"),
    ];
    check(
        "moved_out",
        &text,
        "0..4 agrees\n4..8 mended sp+32 u u\n8..16 mended sp+32 u c-24\n16..24 mended sp+32 c-32 c-24\n24..28 mended sp+32 u u\n28..32 agrees\n32..40 made sp+0 u u\n",
    );
}

#[test]
fn a_loop_touches_each_page_of_a_large_frame() {
    let body = "sub x9, sp, #4, lsl #12\n 1: sub sp, sp, #1, lsl #12\n str xzr, [sp]\n cmp sp, x9\n b.ne 1b\n nop\n
         add sp, sp, #4, lsl #12\n ret";
    let text = [silent("_start", body)];
    // How deep the stack is in the loop only x9 tells, and the end of the loop that it is as deep as that then.
    check(
        "probe",
        &text,
        "0..4 made sp+0 u u\n4..32 made r9+16384 u u\n",
    );
}

#[test]
fn entries_of_linkage_tables_lead_to_what_never_returns() {
    let text = [
        function("_start", "str x30, [sp, #-16]!\n bl abort\n nop\n ret"),
        function(
            "returns",
            "str x30, [sp, #-16]!\n bl getpid\n ldr x30, [sp], #16\n ret",
        ),
    ];
    // Behind the first call the stack is not that of a return.
    let expected = "0..4 agrees\n4..8 mended sp+16 u c-16\n16..20 agrees\n20..28 mended sp+16 u c-16\n28..32 agrees\n64..80 made sp+0 u u\n80..96 made sp+0 u u\n";
    let found = prove_linked("a64_rows_plt", TARGET, &text.concat(), &["-shared"]);
    assert_eq!(found, expected);
}

#[test]
fn entries_of_linkage_tables_that_other_linkers_write() {
    // The words lie pages before the table and behind it; `bti c` stands before what takes its address.
    let text = [
        function("_start", "str x30, [sp, #-16]!\n bl before\n nop\n ret"),
        function("second", "str x30, [sp, #-16]!\n bl behind\n nop\n ret"),
        ".skip 0x5008\n .Lfirst: .xword abort\n .skip 0x7000\n
         .section .plt.sec, \"ax\", %progbits\n before: .inst 0xd503245f\n adrp x16, .Lfirst\n ldr x17, [x16, :lo12:.Lfirst]\n br x17\n
         behind: .inst 0xd503245f\n adrp x16, last\n ldr x17, [x16, :lo12:last]\n br x17\n
         .data\n .skip 0x6000\n last: .xword abort\n .text\n"
            .to_owned(),
    ];
    let switches = ["-shared", "-z", "notext"];
    let found = prove_linked("a64_rows_plt_others", TARGET, &text.concat(), &switches);
    let expected = "0..4 agrees\n4..8 mended sp+16 u c-16\n16..20 agrees\n20..24 mended sp+16 u c-16\n49200..49216 made sp+0 u u\n49216..49232 made sp+0 u u\n";
    assert_eq!(found, expected);
}
