//! Jumps, calls and other ways into and out of functions for x86-64, and what is found out about their rows.

use crate::common::proven::{function, prove, silent};

const TARGET: &str = "x86_64-unknown-linux-gnu";

fn check(name: &str, text: &[String], expected: &str) {
    let found = prove(&format!("x86_flow_{name}"), TARGET, &text.concat());
    assert_eq!(found, expected, "{}", text.concat());
}

#[test]
fn tail_calls_return_with_the_stack_as_at_the_entry() {
    let text = [
        function("_start", "push %rbx\n pop %rbx\n jmp other"),
        function("indirect", "push %rbx\n pop %rbx\n jmp *%rax"),
        silent("other", "ret"),
    ];
    // The jumps have 5 and 2 bytes.
    let expected = "0..1 agrees\n1..2 mended sp+16 u c-8\n2..8 agrees\n8..9 mended sp+16 u c-8\n9..11 agrees\n11..12 made sp+8 u c-8\n";
    check("tail", &text, expected);
}

#[test]
fn a_jump_to_somewhere_with_another_stack_proves_nothing() {
    let text = [function("_start", "push %rbx\n jmp *%rax")];
    check(
        "unknown",
        &text,
        "0..3 undecided: the code contains an indirect jump with unknown targets\n",
    );
    let text = [
        function("_start", "call silent\n ret"),
        silent("silent", "push %rbx\n jmp *%rax"),
    ];
    let expected =
        "0..6 agrees\n6..9 missing: the code contains an indirect jump with unknown targets\n";
    check("unknown_silent", &text, expected);
}

/// A jump table of offsets, one for each of the functions' last three returns.
fn table(head: &str) -> String {
    let body = format!(
        "{head}\n lea table(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n add %rdx, %rax\n push %rbx\n jmp *%rax\n
         1: pop %rbx\n ret\n 2: push %rcx\n pop %rcx\n pop %rbx\n ret\n 3: pop %rbx\n ret"
    );
    function("_start", &body)
        + ".section .rodata\n .p2align 2\n table: .long 1b - table, 2b - table, 3b - table\n .long -1\n .text\n"
}

#[test]
fn jump_tables_end_where_a_comparison_or_the_entries_do() {
    // The push lies at 23, the jump at 24: 26, 28 and 32 are its goals.
    let compared = table("cmp $2, %rdi\n ja 4f\n jmp 5f\n 4: ret\n 5:");
    check(
        "compared",
        &[compared],
        "0..24 agrees\n24..27 mended sp+16 u c-8\n27..28 agrees\n28..29 mended sp+16 u c-8\n29..30 mended sp+24 u c-8\n30..31 mended sp+16 u c-8\n31..32 agrees\n32..33 mended sp+16 u c-8\n33..34 agrees\n",
    );
    // The type bounds the index; the entry behind the last one leads out of the function. All lies 5 bytes lower.
    check(
        "typed",
        &[table("movzbl %dil, %edi")],
        "0..19 agrees\n19..22 mended sp+16 u c-8\n22..23 agrees\n23..24 mended sp+16 u c-8\n24..25 mended sp+24 u c-8\n25..26 mended sp+16 u c-8\n26..27 agrees\n27..28 mended sp+16 u c-8\n28..29 agrees\n",
    );
}

#[test]
fn all_entries_of_a_table_are_ways_wherever_they_lead() {
    // Four entries, as many as two bits have values, but a comparison says so. Two of them lead from a piece back into the
    // function, to where nothing else leads.
    let text = [
        function(
            "_start",
            "push %rbx\n cmp $3, %rdi\n jbe start.cold\n pop %rbx\n ret\n back: pop %rcx\n pop %rbx\n ret",
        ),
        function(
            "start.cold",
            ".cfi_def_cfa_offset 16\n push %rcx\n lea table(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n add %rdx, %rax\n jmp *%rax\n
             own: pop %rcx\n pop %rbx\n ret",
        ),
        ".section .rodata\n .p2align 2\n table: .long own - table, back - table, own - table, back - table\n .text\n"
            .to_owned(),
    ];
    check(
        "pieces",
        &text,
        "0..1 agrees\n1..12 mended sp+16 u c-8\n12..13 agrees\n13..14 mended sp+24 u c-8\n14..15 mended sp+16 u c-8\n15..17 agrees\n17..34 mended sp+24 u c-8\n34..35 agrees\n35..36 mended sp+8 u c-8\n",
    );
}

#[test]
fn nobody_comes_back_to_a_piece_of_another_function() {
    let frame = "push %rbp\n mov %rsp, %rbp\n";
    let text = [
        function(
            "_start",
            &format!("{frame} test %edi, %edi\n jne start.cold\n pop %rbp\n ret"),
        ),
        function(
            "other",
            &format!(
                "{frame} push %rbx\n test %edi, %edi\n jne other.cold\n warm: pop %rbx\n pop %rbp\n ret"
            ),
        ),
        function(
            "start.cold",
            ".cfi_def_cfa rbp, 16\n .cfi_offset rbp, -16\n call *%rax",
        ),
        function(
            "other.cold",
            ".cfi_def_cfa rbp, 16\n .cfi_offset rbp, -16\n jmp warm",
        ),
    ];
    check(
        "never_back",
        &text,
        "0..1 agrees\n1..4 mended sp+16 u c-8\n4..13 mended sp+16 c-16 c-8\n13..15 agrees\n15..18 mended sp+16 u c-8\n18..19 mended sp+16 c-16 c-8\n19..28 mended sp+24 c-16 c-8\n28..29 mended sp+16 c-16 c-8\n29..34 agrees\n",
    );
}

#[test]
fn a_way_out_with_another_stack_proves_nothing() {
    let text = [function(
        "_start",
        "push %rbx\n test %edi, %edi\n je 1f\n pop %rbx\n 1: ret",
    )];
    // The return is reached with two depths, so with none.
    check(
        "depths",
        &text,
        "0..1 agrees\n1..6 mended sp+16 u c-8\n6..7 withdrawn: code paths with different stack depths join\n",
    );
    let text = [function("_start", "push %rbx\n ret")];
    check(
        "unbalanced",
        &text,
        "0..2 undecided: the stack depth at a function exit differs from the depth at the function entry\n",
    );
}

#[test]
fn what_others_jump_into_with_a_frame_is_a_piece_of_them() {
    let text = [
        function("_start", "push %rbx\n jmp shared"),
        function("twin", "push %rbx\n nop\n jmp shared"),
        // It has a label and no call: an epilogue that both share.
        silent("shared", "pop %rbx\n ret"),
    ];
    check(
        "shared",
        &text,
        "0..1 agrees\n1..6 mended sp+16 u c-8\n6..7 agrees\n7..13 mended sp+16 u c-8\n13..14 made sp+16 u c-8\n14..15 made sp+8 u c-8\n",
    );
}

#[test]
fn a_named_piece_is_not_entered_by_a_call() {
    // What leads there is not known: it may have any stack, and so its row stands.
    let text = |suffix: &str| {
        [
            function("_RNvC1a1f", "push %rbx\n jmp *%rax"),
            function(
                &format!("_RNvC1a1f{suffix}"),
                ".cfi_def_cfa_offset 16\n pop %rbx\n .cfi_def_cfa_offset 8\n ret",
            ),
        ]
    };
    let expected = "0..3 undecided: the code contains an indirect jump with unknown targets\n";
    for suffix in [".cold", ".cold.1", ".warm"] {
        check("named_piece", &text(suffix), expected);
    }
    // By its name alone it is a function, and then its row is wrong.
    let function = "0..3 undecided: the code contains an indirect jump with unknown targets\n3..5 undecided: the stack depth at a function exit differs from the depth at the function entry\n";
    check("named_function", &text("_x"), function);
}

#[test]
fn handlers_of_interrupts() {
    let saved = "cld\n add $8, %rsp\n iretq";
    let text = [
        // rip lies at the stack pointer, the interrupted stack pointer 24 bytes above.
        silent("_start", "push %rax\n pop %rax\n iretq"),
        // 8 bytes of error code below them.
        silent("with_code", saved),
    ];
    check(
        "handlers",
        &text,
        "0..1 made (sp+24) u (sp+0)\n1..2 made (sp+32) u (sp+8)\n2..4 made (sp+24) u (sp+0)\n4..9 made (sp+32) u (sp+8)\n9..11 made (sp+24) u (sp+0)\n",
    );
}

/// The entry would return, but for the function that it calls.
#[test]
fn handlers_that_call_what_never_returns() {
    let text = [
        silent("_start", "push %rax\n call stays\n pop %rax\n iretq"),
        silent(
            "with_code",
            "push %rax\n call stays\n pop %rax\n add $8, %rsp\n iretq",
        ),
        // Behind a further call, or a branch, anything may stand.
        silent("calls", "push %rax\n call stays\n call stays\n iretq"),
        silent("stays", "jmp stays"),
    ];
    check(
        "dead_return",
        &text,
        "\
0..1 made (sp+24) u (sp+0)
1..6 made (sp+32) u (sp+8)
6..9 missing: the code follows a call that never returns
9..10 made (sp+32) u (sp+8)
10..15 made (sp+40) u (sp+16)
15..22 missing: the code follows a call that never returns
22..28 missing: no call of the function was found, and no path through the function returns
35..40 made sp+8 u c-8
",
    );
}

#[test]
fn handlers_that_never_return() {
    let halts = "1: hlt\n jmp 1b";
    let text = [
        function("_start", "call called\n ret"),
        function("without", &format!("push %rdx\n cld\n {halts}")),
        // The first word is for the error code, the last one for a boundary of 16 bytes.
        function(
            "with",
            &format!("push %rax\n push %rdx\n push %rax\n sub $16, %rsp\n cld\n {halts}"),
        ),
        // It is no handler, as it is called.
        silent("called", &format!("push %rdx\n cld\n {halts}")),
        // Nor is this one, though nothing is seen to call it.
        function(
            "copies",
            &format!(
                "push %rax\n mov %rsi, %rcx\n cld\n .cfi_adjust_cfa_offset 8\n rep movsb\n {halts}"
            ),
        ),
    ];
    check(
        "endless_handlers",
        &text,
        "0..6 agrees\n6..7 mended (sp+24) u (sp+0)\n7..12 mended (sp+32) u (sp+8)\n12..13 mended (sp+40) u (sp+16)\n13..14 mended (sp+48) u (sp+24)\n14..18 mended (sp+56) u (sp+32)\n18..22 mended (sp+72) u (sp+48)\n22..23 made sp+8 u c-8\n23..27 made sp+16 u c-8\n27..28 agrees\n28..32 mended sp+16 u c-8\n32..37 agrees\n",
    );
}

#[test]
fn an_effect_on_the_callers_frame() {
    let text = [
        function(
            "_start",
            "push %rbp\n call enter\n nop\n mov %rbp, %rsp\n pop %rbp\n ret",
        ),
        // Makes its caller's frame pointer; it keeps nothing of the one before.
        silent("enter", "lea 8(%rsp), %rbp\n ret"),
    ];
    check(
        "effect",
        &text,
        "0..1 agrees\n1..11 mended sp+16 c-16 c-8\n11..12 agrees\n12..17 made sp+8 u c-8\n17..18 made sp+8 r16+0 c-8\n",
    );
}

#[test]
fn a_return_by_a_jump_is_not_followed_and_nothing_is_claimed() {
    let text = [
        function("_start", "call enter\n nop\n pop %rbp\n ret"),
        silent("enter", "pop %rax\n push %rbp\n xor %ebp, %ebp\n jmp *%rax"),
    ];
    check(
        "jump_back",
        &text,
        "0..8 undecided: the stack depth at a function exit differs from the depth at the function entry\n8..14 missing: the code contains an indirect jump with unknown targets\n",
    );
}

#[test]
fn trap_code_is_what_it_declares() {
    let text = [function(
        "_start",
        ".cfi_signal_frame\n .cfi_def_cfa rsp, 40\n .cfi_offset rip, -40\n .cfi_offset rsp, -16\n push %rbp\n nop\n
         .cfi_adjust_cfa_offset 8\n .cfi_rel_offset rbp, 0\n xor %ebp, %ebp\n pop %rbp\n iretq",
    )];
    check(
        "declared",
        &text,
        "0..1 agrees\n1..2 mended (sp+32) u (sp+8)\n2..5 agrees\n5..7 mended (sp+24) u (sp+0)\n",
    );
}

#[test]
fn behind_bytes_that_are_no_instruction_anything_may_follow() {
    let text = [function(
        "_start",
        "push %rbx\n test %edi, %edi\n je 1f\n .byte 0x06\n 1: pop %rbx\n ret",
    )];
    check(
        "no_instruction",
        &text,
        "0..5 undecided: the code contains bytes that are not a valid instruction\n6..8 undecided: the code contains bytes that are not a valid instruction\n",
    );
}
