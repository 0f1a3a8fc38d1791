//! How functions end, run on and are left.

use super::*;

#[test]
fn behind_a_call_that_never_returns() {
    // What is said there is right, should it ever run.
    check(
        "dead_agrees",
        &[
            function(
                "_start",
                "push %rbx\n .cfi_def_cfa_offset 16\n call stops\n pop %rbx\n .cfi_def_cfa_offset 8\n ret",
            ),
            silent("stops", STOPS),
        ],
        "0..8 agrees\n8..10 made sp+8 u c-8\n",
    );
    // From 7 on it is not, and nobody can tell.
    check(
        "dead_differs",
        &[
            function(
                "_start",
                "push %rbx\n .cfi_def_cfa_offset 16\n call stops\n pop %rbx\n nop\n ret",
            ),
            silent("stops", STOPS),
        ],
        "0..7 agrees\n7..9 undecided: the code follows a call that never returns\n9..11 made sp+8 u c-8\n",
    );
    // It jumps to where another way leads, too, with a deeper stack: that changes nothing there.
    check(
        "dead_joins",
        &[
            function(
                "_start",
                "push %rbx\n .cfi_def_cfa_offset 16\n test %edi, %edi\n je 1f\n call stops\n push %rax\n .cfi_def_cfa_offset 24\n jmp 1f\n .cfi_def_cfa_offset 16\n 1: pop %rbx\n .cfi_def_cfa_offset 8\n ret",
            ),
            silent("stops", STOPS),
        ],
        "0..15 agrees\n15..17 made sp+8 u c-8\n",
    );
    // Where nothing is said nothing is made.
    check(
        "dead_silent",
        &[
            function("_start", "call silent\n ret"),
            silent("silent", "push %rbx\n call stops\n pop %rbx\n ret"),
            silent("stops", STOPS),
        ],
        "0..6 agrees\n6..7 made sp+8 u c-8\n7..12 made sp+16 u c-8\n14..16 made sp+8 u c-8\n",
    );
}

#[test]
fn code_that_runs_on() {
    // As if it had jumped to the next one.
    check(
        "runs_on",
        &[
            function("_start", "push %rbx\n pop %rbx"),
            silent("next", "ret"),
        ],
        "0..1 agrees\n1..2 mended sp+16 u c-8\n2..3 made sp+8 u c-8\n",
    );
    // With a frame it cannot.
    check(
        "runs_on_frame",
        &[function("_start", "push %rbx\n nop"), silent("next", "ret")],
        "0..1 agrees\n1..2 mended sp+16 u c-8\n2..3 made sp+8 u c-8\n",
    );
    // What runs on into a function that returns does so, too: the row behind the call is wrong.
    check(
        "runs_on_called",
        &[
            function(
                "_start",
                "push %rbx\n .cfi_def_cfa_offset 16\n call first\n .cfi_def_cfa_offset 24\n pop %rbx\n ret",
            ),
            silent("first", "nop"),
            silent("next", "ret"),
        ],
        "0..6 agrees\n6..7 mended sp+16 u c-8\n7..8 mended sp+8 u c-8\n8..9 made sp+8 u c-8\n9..10 made sp+8 u c-8\n",
    );
}

#[test]
fn tail_calls() {
    let caller =
        "push %rbx\n .cfi_def_cfa_offset 16\n call first\n .cfi_def_cfa_offset 24\n pop %rbx\n ret";
    // Whether the code goes on behind the call tells only where the jump leads; if it does, the row there is wrong.
    for (name, body, expected) in [
        (
            "returns",
            "jmp returns",
            "0..6 agrees\n6..7 mended sp+16 u c-8\n7..8 mended sp+8 u c-8\n8..13 made sp+8 u c-8\n13..14 made sp+8 u c-8\n14..16 missing: \
             no call of the function was found, and no path through the function returns\n",
        ),
        (
            "stops",
            "jmp stops",
            "0..6 agrees\n8..13 made sp+8 u c-8\n13..14 made sp+8 u c-8\n14..16 made sp+8 u c-8\n",
        ),
        (
            "unknown",
            "jmp *%rax",
            "0..6 agrees\n8..10 made sp+8 u c-8\n10..11 made sp+8 u c-8\n11..13 missing: no call of the function was found, and no path through the function returns\n",
        ),
    ] {
        check(
            &format!("tail_{name}"),
            &[
                function("_start", caller),
                silent("first", body),
                silent("returns", "ret"),
                silent("stops", STOPS),
            ],
            expected,
        );
    }
}

#[test]
fn ways_out() {
    // It takes arguments off the stack.
    check(
        "ret_n",
        &[function("_start", "push %rbx\n pop %rbx\n ret $16")],
        "0..5 undecided: the stack depth at a function exit differs from the depth at the function entry\n",
    );
    // The right address at the wrong place.
    check(
        "ret_copy",
        &[function("_start", "push (%rsp)\n ret")],
        "0..4 undecided: the stack depth at a function exit differs from the depth at the function entry\n",
    );
    // How deep the stack was nobody knows, and the rows say as much as before.
    check(
        "ret_base",
        &[function("_start", "sub %rax, %rsp\n ret")],
        "0..3 agrees\n3..4 undecided: the stack pointer is loaded from a register or from memory\n",
    );
    // On another stack.
    check(
        "ret_lost",
        &[function("_start", "push %rbx\n mov (%rdi), %rsp\n ret")],
        "0..1 agrees\n1..4 mended sp+16 u c-8\n4..5 withdrawn: the stack pointer is loaded from a register or from memory\n",
    );
    // Retpolines return to where a table leads.
    check(
        "ret_table",
        &[
            function(
                "_start",
                "cmp $1, %edi\n ja 3f\n mov %edi, %ecx\n lea table(%rip), %rdx\n movslq (%rdx,%rcx,4), %rax\n add %rdx, %rax\n push %rbx\n push %rax\n ret\n 1: pop %rbx\n ret\n 2: nop\n pop %rbx\n 3: ret",
            ),
            ".section .rodata\n table: .long 1b - table, 2b - table\n .text\n".to_owned(),
        ],
        "0..22 agrees\n22..23 mended sp+16 u c-8\n23..24 mended sp+24 u c-8\n24..25 mended sp+16 u c-8\n25..26 agrees\n26..28 mended sp+16 u c-8\n28..29 agrees\n",
    );
    check(
        "jump_lost",
        &[function(
            "_start",
            "push %rbx\n mov (%rdi), %rsp\n jmp *%rax",
        )],
        "0..1 agrees\n1..4 mended sp+16 u c-8\n4..6 withdrawn: the stack pointer is loaded from a register or from memory\n",
    );
}

#[test]
fn interrupts() {
    let declared =
        ".cfi_signal_frame\n .cfi_def_cfa rsp, 40\n .cfi_offset rip, -40\n .cfi_offset rsp, -16\n";
    // What was pushed lies where the processor looks.
    check(
        "iret_deep",
        &[function("_start", &format!("{declared} push %rbp\n iretq"))],
        "0..3 undecided: the stack depth at a function exit differs from the depth at the function entry\n",
    );
    // Where it looks differs.
    check(
        "iret_two",
        &[silent(
            "_start",
            "push %rax\n test %edi, %edi\n je 1f\n pop %rax\n iretq\n 1: iretq",
        )],
        "0..10 missing: the stack depth at a function exit differs from the depth at the function entry\n",
    );
    // What is called is entered by a call.
    check(
        "iret_called",
        &[
            function("_start", "call first\n ret"),
            silent("first", "push %rax\n pop %rax\n iretq"),
        ],
        "0..6 agrees\n6..7 made sp+8 u c-8\n7..8 made sp+16 u c-8\n8..10 made sp+8 u c-8\n",
    );
    // The frame pointer lies next to what the processor has left.
    check(
        "value",
        &[function(
            "_start",
            ".cfi_signal_frame\n .cfi_def_cfa rsp, 48\n .cfi_offset rip, -40\n .cfi_offset rbp, -48\n push %rax\n xor %ebp, %ebp\n pop %rax\n hlt",
        )],
        "0..1 agrees\n1..4 mended sp+56 c-48 c-40\n4..5 agrees\n",
    );
    // All is in registers, as after sysenter.
    check(
        "register",
        &[function(
            "_start",
            ".cfi_signal_frame\n .cfi_def_cfa r10, 0\n .cfi_register rip, rcx\n push %rax\n nop\n pop %rax\n hlt",
        )],
        "0..4 agrees\n",
    );
}

#[test]
fn functions_one_behind_the_other() {
    // The second one's first row is wrong; that says nothing against the first one.
    check(
        "neighbours",
        &[
            function("_start", "nop\n mov (%rdi), %rsp\n nop\n jmp *%rax"),
            function(
                "early",
                ".cfi_def_cfa_offset 16\n push %rbx\n nop\n pop %rbx\n .cfi_def_cfa_offset 8\n ret",
            ),
        ],
        "0..4 agrees\n4..7 undecided: the stack pointer is loaded from a register or from memory\n7..8 mended sp+8 u c-8\n8..11 agrees\n",
    );
}
