//! Rows that name the frame's place in unusual ways.

use super::*;

#[test]
fn contexts() {
    // It says what will be, not what is, as longjmp does.
    check(
        "context",
        &[function(
            "_start",
            "mov 8(%rdi), %r8\n .cfi_def_cfa r8, 0\n nop\n mov %r8, %rsp\n jmp *%rax",
        )],
        "0..4 agrees\n4..10 undecided: the stack pointer is loaded from a register or from memory\n",
    );
    check(
        "context_memory",
        &[function(
            "_start",
            "nop\n .cfi_escape 0x0f, 3, 0x75, 0x08, 0x06\n nop\n ret",
        )],
        "0..1 agrees\n1..3 undecided: the stack pointer is loaded from a register or from memory\n",
    );
    // A register that nobody follows.
    check(
        "huge",
        &[function(
            "_start",
            "nop\n .cfi_escape 0x0c, 60, 0\n nop\n ret",
        )],
        "0..1 agrees\n1..3 undecided: the stack pointer is loaded from a register or from memory\n",
    );
    // The caller's frame pointer is nowhere.
    check(
        "fp_lost",
        &[function("_start", "mov (%rdi), %rbp\n nop\n ret")],
        "0..3 agrees\n3..5 undecided: the location of the caller's frame pointer is unknown\n",
    );
    // It is on the stack, so the register is the wrong place.
    check(
        "fp_saved",
        &[function(
            "_start",
            "push %rbp\n .cfi_def_cfa_offset 16\n mov (%rdi), %rbp\n nop\n pop %rbp\n .cfi_def_cfa_offset 8\n ret",
        )],
        "0..4 agrees\n4..6 mended sp+16 c-16 c-8\n6..7 agrees\n",
    );
    // Only another register has it.
    check(
        "fp_parked",
        &[function(
            "_start",
            "mov %rbp, %r10\n mov (%rdi), %rbp\n nop\n mov %r10, %rbp\n ret",
        )],
        "0..6 agrees\n6..10 undecided: the location of the caller's frame pointer is unknown\n10..11 agrees\n",
    );
    // Of two copies the one next to the caller's frame is the saved register.
    check(
        "fp_copy",
        &[function(
            "_start",
            "sub $40, %rsp\n .cfi_def_cfa_offset 48\n mov %rbp, 8(%rsp)\n mov %rbp, 24(%rsp)\n xor %ebp, %ebp\n nop\n mov 24(%rsp), %rbp\n add $40, %rsp\n .cfi_def_cfa_offset 8\n ret",
        )],
        "0..16 agrees\n16..22 mended sp+48 c-24 c-8\n22..27 agrees\n",
    );
    // Nothing leads to the caller any more.
    check(
        "ra_overwritten",
        &[function("_start", "movq $0, (%rsp)\n nop\n hlt")],
        "0..8 agrees\n8..10 withdrawn: the location of the return address is unknown\n",
    );
    // A barrier overwrites nothing.
    check(
        "lock",
        &[function("_start", "lock orq $0, (%rsp)\n ret")],
        "0..7 agrees\n",
    );
}

#[test]
fn places_that_rows_name_wrongly() {
    // The word on the stack is an address there, but not that of the caller's frame.
    check(
        "saved_wrong",
        &[function(
            "_start",
            "lea 16(%rsp), %r10\n push %r10\n .cfi_escape 0x0f, 3, 0x77, 0x00, 0x06\n nop\n pop %r10\n .cfi_def_cfa rsp, 8\n ret",
        )],
        "0..7 agrees\n7..10 mended sp+16 u c-8\n10..11 agrees\n",
    );
    // Nobody follows that many registers.
    check(
        "huge_48",
        &[function(
            "_start",
            "nop\n .cfi_escape 0x0c, 48, 0\n nop\n ret",
        )],
        "0..1 agrees\n1..3 undecided: the stack pointer is loaded from a register or from memory\n",
    );
    // A handler with a stack of its own alignment.
    check(
        "handler_realigned",
        &[silent(
            "_start",
            "push %rbp\n mov %rsp, %rbp\n and $-64, %rsp\n nop\n mov %rbp, %rsp\n pop %rbp\n iretq",
        )],
        "0..1 made (sp+24) u (sp+0)\n1..4 made (sp+32) u (sp+8)\n4..8 made (sp+32) (sp+0) (sp+8)\n8..12 made (fp+32) (fp+0) (fp+8)\n12..13 made (sp+32) (sp+0) (sp+8)\n13..15 made (sp+24) u (sp+0)\n",
    );
}

#[test]
fn a_callee_that_leaves_a_number() {
    // How deep the stack is then is known.
    check(
        "number",
        &[
            function(
                "_start",
                "push %rbx\n call size\n sub %rbx, %rsp\n nop\n add %rbx, %rsp\n pop %rbx\n ret",
            ),
            silent("size", "mov $32, %ebx\n ret"),
        ],
        "0..1 agrees\n1..9 mended sp+16 u c-8\n9..13 mended sp+48 u c-8\n13..14 mended sp+16 u c-8\n14..15 agrees\n15..21 made sp+8 u c-8\n",
    );
}

/// Rows that take the caller's stack pointer from memory that no frame is counted from: a context, to which the code may
/// switch. What lies there as a place in this frame can be held against them.
#[test]
fn rows_that_take_the_frame_from_memory() {
    for (name, load, expected) in [
        (
            "context",
            "mov %rdi, %rax",
            "0..14 agrees\n14..15 undecided: the stack pointer is loaded from a register or from memory\n15..17 agrees\n",
        ),
        (
            "wrong",
            "mov %rbp, %rax",
            "0..14 agrees\n14..15 mended sp+24 c-16 c-8\n15..17 agrees\n",
        ),
        ("right", "lea 16(%rbp), %rax", "0..18 agrees\n"),
    ] {
        // CFA = *(rbp - 8).
        let body = format!(
            "push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset rbp, -16\n mov %rsp, %rbp\n .cfi_def_cfa_register rbp\n {load}\n push %rax\n
             .cfi_escape 0x0f, 3, 0x76, 0x78, 0x06\n nop\n .cfi_def_cfa rbp, 16\n leave\n .cfi_def_cfa rsp, 8\n .cfi_same_value rbp\n ret"
        );
        let text = [function("_start", "call f\n ret"), function("f", &body)];
        check(&format!("from_memory_{name}"), &text, expected);
    }
}

/// The row of a call holds while the callee runs, which may change the register that it counts from.
#[test]
fn rows_of_calls_that_count_from_what_the_callee_changes() {
    for (name, above, expected) in [
        (
            "right",
            8,
            "0..3 agrees\n3..8 undecided: the stack pointer is loaded from a register or from memory\n8..10 agrees\n",
        ),
        (
            "wrong",
            24,
            "0..3 agrees\n3..8 mended sp+8 u c-8\n8..10 agrees\n",
        ),
    ] {
        let body = format!(
            "mov %rsp, %rax\n .cfi_def_cfa rax, {above}\n call other\n .cfi_def_cfa rsp, 8\n ret"
        );
        let text = [function("_start", &body), function("other", "ret")];
        check(&format!("call_counts_{name}"), &text, expected);
    }
}

#[test]
fn a_comparison_tells_the_stack_pointer_where_the_branch_is_not_taken() {
    let text = [
        function("_start", "call silent\n ret"),
        silent(
            "silent",
            "mov %rsp, %rax\n mov %rdi, %rsp\n cmp %rax, %rsp\n jne 1f\n nop\n ret\n 1: hlt",
        ),
    ];
    check(
        "told_sp",
        &text,
        "0..6 agrees\n6..12 made sp+8 u c-8\n12..17 missing: the stack pointer is loaded from a register or from memory\n17..19 made sp+8 u \
         c-8\n19..20 missing: the stack pointer is loaded from a register or from memory\n",
    );
}
