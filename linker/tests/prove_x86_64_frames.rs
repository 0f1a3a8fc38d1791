//! Functions for x86-64 whose call frame information lies in one way each, and the rows that hold instead: "CFA, frame
//! pointer, return address" by offsets of instructions.

use crate::common::proven::{function, prove, silent};

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// One function, and what is found out about it.
fn one(name: &str, body: &str, expected: &str) {
    let found = prove(&format!("x86_{name}"), TARGET, &function("_start", body));
    assert_eq!(found, expected, "{body}");
}

#[test]
fn a_save_that_nobody_mentions() {
    // push %rbp; mov; pop; ret: 1, 3, 1 and 1 bytes. Before the mov, rbp is still the caller's.
    one(
        "unmentioned",
        "push %rbp\n mov %rsp, %rbp\n pop %rbp\n ret",
        "0..1 agrees\n1..4 mended sp+16 u c-8\n4..5 mended sp+16 c-16 c-8\n5..6 agrees\n",
    );
}

#[test]
fn a_row_too_early_and_too_late() {
    one(
        "early",
        ".cfi_def_cfa_offset 16\n .cfi_offset rbp, -16\n push %rbp\n nop\n pop %rbp\n .cfi_def_cfa_offset 8\n .cfi_restore rbp\n ret",
        // Its first row is not that of a call, and it has a symbol.
        "0..1 mended sp+8 u c-8\n1..4 agrees\n",
    );
    one(
        "late",
        "push %rbp\n nop\n .cfi_def_cfa_offset 16\n .cfi_offset rbp, -16\n nop\n pop %rbp\n nop\n .cfi_def_cfa_offset 8\n .cfi_restore rbp\n ret",
        "0..1 agrees\n1..2 mended sp+16 u c-8\n2..4 agrees\n4..5 mended sp+8 u c-8\n5..6 agrees\n",
    );
}

#[test]
fn an_epilogue_without_rows() {
    one(
        "epilogue",
        "push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset rbp, -16\n sub $32, %rsp\n .cfi_def_cfa_offset 48\n test %edi, %edi\n
         je 1f\n add $32, %rsp\n pop %rbp\n ret\n 1: ud2",
        // The row 48 holds from 5 to the end; the stack is 16 deep at 13 and 8 at 14.
        "0..13 agrees\n13..14 mended sp+16 u c-8\n14..15 mended sp+8 u c-8\n15..17 agrees\n",
    );
}

#[test]
fn flags_and_numbers_on_the_stack() {
    one(
        "pushed",
        "pushfq\n pop %rax\n push $3\n push $0x12345\n push (%rdi)\n add $24, %rsp\n ret",
        "0..1 agrees\n1..2 mended sp+16 u c-8\n2..4 agrees\n4..9 mended sp+16 u c-8\n9..11 mended sp+24 u c-8\n11..15 mended sp+32 u c-8\n15..16 agrees\n",
    );
}

#[test]
fn leave_and_room_of_unknown_size() {
    one(
        "alloca",
        "push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset rbp, -16\n mov %rsp, %rbp\n sub %rdi, %rsp\n nop\n leave\n ret",
        // The frame pointer leads to the frame where the stack pointer does not.
        "0..7 agrees\n7..9 mended fp+16 c-16 c-8\n9..10 mended sp+8 u c-8\n",
    );
    one(
        "realigned",
        "push %rbp\n mov %rsp, %rbp\n and $-64, %rsp\n sub $64, %rsp\n nop\n mov %rbp, %rsp\n pop %rbp\n ret",
        "0..1 agrees\n1..4 mended sp+16 u c-8\n4..8 mended sp+16 c-16 c-8\n8..17 mended fp+16 c-16 c-8\n17..18 agrees\n",
    );
}

#[test]
fn a_stack_pointer_from_memory() {
    one(
        "switch",
        "push %rbp\n mov (%rdi), %rsp\n nop\n pop %rbp\n ret",
        "0..1 agrees\n1..4 mended sp+16 u c-8\n4..7 withdrawn: the stack pointer is loaded from a register or from memory\n",
    );
}

#[test]
fn a_probe_loop_and_a_red_zone() {
    one(
        "probe",
        "lea -8192(%rsp), %r11\n .cfi_def_cfa r11, 8200\n 1: sub $4096, %rsp\n movq $0, (%rsp)\n cmp %r11, %rsp\n jne 1b\n
         .cfi_def_cfa_register rsp\n add $8192, %rsp\n .cfi_def_cfa_offset 8\n ret",
        "0..36 agrees\n",
    );
    one(
        "red_zone",
        "mov %rbp, -8(%rsp)\n .cfi_offset rbp, -16\n xor %ebp, %ebp\n mov -8(%rsp), %rbp\n .cfi_restore rbp\n ret",
        // Below the stack pointer an interrupt overwrites it: nothing leads there, and a walk that
        // follows such a row takes what is in the register.
        "0..7 agrees\n7..12 mended sp+8 r16+0 c-8\n12..13 agrees\n",
    );
}

#[test]
fn a_loop_that_jumps_into_the_block_that_runs() {
    one(
        "loop",
        "push %rbp\n push %rbx\n nop\n 1: mov $1, %ebp\n dec %rdi\n jne 1b\n pop %rbx\n pop %rbp\n ret",
        // rbp is the caller's on the first way to 3 only: what is saved at -16 is so on both.
        "0..1 agrees\n1..2 mended sp+16 u c-8\n2..3 mended sp+24 u c-8\n3..14 mended sp+24 c-16 c-8\n14..15 mended sp+16 c-16 c-8\n15..16 agrees\n",
    );
}

#[test]
fn a_call_of_what_returns_is_gone_on_behind() {
    let text = [
        function("_start", "push %rbp\n call callee\n pop %rbp\n ret"),
        silent("callee", "push %rbx\n pop %rbx\n ret"),
    ];
    assert_eq!(
        prove("x86_returns", TARGET, &text.concat()),
        "0..1 agrees\n1..7 mended sp+16 u c-8\n7..8 agrees\n8..9 made sp+8 u c-8\n9..10 made sp+16 u c-8\n10..11 made sp+8 u c-8\n"
    );
}

#[test]
fn behind_a_call_that_does_not_return_there_may_be_another_function() {
    let text = [
        silent("_start", "push %rax\n call fails"),
        silent("next", "push %rbx\n pop %rbx\n ret"),
        silent("filled", "push %rax\n call fails\n int3\n int3"),
        silent("last", "ret"),
        silent("fails", "push %rax\n call stops"),
        silent("stops", "1: jmp 1b"),
    ];
    let found = prove("x86_no_return", TARGET, &text.concat());
    // 6 bytes, 3, 8, 1, 6 and 2. What is called is entered by a call; the fillings are nobody's.
    assert_eq!(
        found,
        "0..6 missing: no call of the function was found, and no path through the function returns
6..7 made sp+8 u c-8
7..8 made sp+16 u c-8
8..9 made sp+8 u c-8
9..15 missing: no call of the function was found, and no path through the function returns
17..18 made sp+8 u c-8
18..19 made sp+8 u c-8
19..24 made sp+16 u c-8
24..26 made sp+8 u c-8
"
    );
}
