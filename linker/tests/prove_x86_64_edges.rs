//! Functions for x86-64 that end, run on, jump or are entered in ways that compilers seldom use.

mod common;
#[path = "common/proven.rs"]
mod proven;

use proven::{function, prove, silent};

const TARGET: &str = "x86_64-unknown-linux-gnu";

fn check(name: &str, text: &[String], expected: &str) {
    let found = prove(&format!("x86_edges_{name}"), TARGET, &text.concat());
    assert_eq!(found, expected, "{}", text.concat());
}

const STOPS: &str = "1: jmp 1b";

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
        "0..7 agrees\n7..9 undecided: after a call that never returns\n9..11 made sp+8 u c-8\n",
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
            "0..6 agrees\n6..7 mended sp+16 u c-8\n7..8 mended sp+8 u c-8\n8..13 made sp+8 u c-8\n13..14 made sp+8 u c-8\n14..16 missing: nobody calls it and it never returns\n",
        ),
        (
            "stops",
            "jmp stops",
            "0..6 agrees\n8..13 made sp+8 u c-8\n13..14 made sp+8 u c-8\n14..16 made sp+8 u c-8\n",
        ),
        (
            "unknown",
            "jmp *%rax",
            "0..6 agrees\n8..10 made sp+8 u c-8\n10..11 made sp+8 u c-8\n11..13 missing: nobody calls it and it never returns\n",
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
        "0..5 undecided: a way out with another stack than at the entry\n",
    );
    // The right address at the wrong place.
    check(
        "ret_copy",
        &[function("_start", "push (%rsp)\n ret")],
        "0..4 undecided: a way out with another stack than at the entry\n",
    );
    // How deep the stack was nobody knows, and the rows say as much as before.
    check(
        "ret_base",
        &[function("_start", "sub %rax, %rsp\n ret")],
        "0..3 agrees\n3..4 undecided: stack pointer from a register or from memory\n",
    );
    // On another stack.
    check(
        "ret_lost",
        &[function("_start", "push %rbx\n mov (%rdi), %rsp\n ret")],
        "0..1 agrees\n1..4 mended sp+16 u c-8\n4..5 withdrawn: stack pointer from a register or from memory\n",
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
        "0..1 agrees\n1..4 mended sp+16 u c-8\n4..6 withdrawn: stack pointer from a register or from memory\n",
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
        "0..3 undecided: a way out with another stack than at the entry\n",
    );
    // Where it looks differs.
    check(
        "iret_two",
        &[silent(
            "_start",
            "push %rax\n test %edi, %edi\n je 1f\n pop %rax\n iretq\n 1: iretq",
        )],
        "0..10 missing: a way out with another stack than at the entry\n",
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
fn two_tables() {
    // The first one ends where the second one starts.
    check("two_tables", &[function("_start", "push %rbx\n movzbl %dil, %edi\n lea first(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n add %rdx, %rax\n jmp *%rax\n
        1: pop %rbx\n ret\n 2: push %rax\n movzbl %sil, %esi\n lea second(%rip), %rdx\n movslq (%rdx,%rsi,4), %rax\n add %rdx, %rax\n jmp *%rax\n 3: pop %rax\n pop %rbx\n ret\n 4: pop %rax\n jmp 1b"),
        ".section .rodata\n .p2align 2\n first: .long 1b - first, 2b - first\n second: .long 3b - second, 4b - second\n .long -1\n .text\n".to_owned()], "0..1 agrees\n1..22 mended sp+16 u c-8\n22..23 agrees\n23..24 mended sp+16 u c-8\n24..45 mended sp+24 u c-8\n45..46 mended sp+16 u c-8\n46..47 agrees\n47..48 mended sp+24 u c-8\n48..50 mended sp+16 u c-8\n");
    // An entry that leads into an instruction is none of the table.
    check("middle", &[function("_start", "push %rbx\n movzbl %dil, %edi\n lea first(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n add %rdx, %rax\n jmp *%rax\n 1: mov $0x5858, %eax\n pop %rbx\n ret\n"),
        ".section .rodata\n .p2align 2\n first: .long 1b - first, 1b + 1 - first, 1b - first\n .text\n".to_owned()], "0..1 agrees\n1..27 mended sp+16 u c-8\n27..28 agrees\n");
}

#[test]
fn contexts() {
    // It says what will be, not what is, as longjmp does.
    check(
        "context",
        &[function(
            "_start",
            "mov 8(%rdi), %r8\n .cfi_def_cfa r8, 0\n nop\n mov %r8, %rsp\n jmp *%rax",
        )],
        "0..4 agrees\n4..10 undecided: stack pointer from a register or from memory\n",
    );
    check(
        "context_memory",
        &[function(
            "_start",
            "nop\n .cfi_escape 0x0f, 3, 0x75, 0x08, 0x06\n nop\n ret",
        )],
        "0..1 agrees\n1..3 undecided: stack pointer from a register or from memory\n",
    );
    // A register that nobody follows.
    check(
        "huge",
        &[function(
            "_start",
            "nop\n .cfi_escape 0x0c, 60, 0\n nop\n ret",
        )],
        "0..1 agrees\n1..3 undecided: stack pointer from a register or from memory\n",
    );
    // The caller's frame pointer is nowhere.
    check(
        "fp_lost",
        &[function("_start", "mov (%rdi), %rbp\n nop\n ret")],
        "0..3 agrees\n3..5 undecided: frame pointer not followed\n",
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
        "0..6 agrees\n6..10 undecided: frame pointer not followed\n10..11 agrees\n",
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
        "0..8 agrees\n8..10 withdrawn: return address not followed\n",
    );
    // A barrier overwrites nothing.
    check(
        "lock",
        &[function("_start", "lock orq $0, (%rsp)\n ret")],
        "0..7 agrees\n",
    );
}
