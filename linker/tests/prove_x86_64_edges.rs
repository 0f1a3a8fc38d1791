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

#[test]
fn code_that_never_runs_changes_nothing() {
    // It jumps into the middle of what runs, with a deeper stack.
    check("dead_middle", &[function("_start", "push %rbx\n .cfi_def_cfa_offset 16\n test %edi, %edi\n je 3f\n nop\n 2: nop\n pop %rbx\n .cfi_def_cfa_offset 8\n ret\n
        .cfi_def_cfa_offset 16\n 3: call stops\n push %rax\n .cfi_def_cfa_offset 24\n jmp 2b"), silent("stops", STOPS)], "0..17 agrees\n17..19 made sp+8 u c-8\n");
}

#[test]
fn callers_of_tail_calls_without_rows() {
    // Rows are made behind a call if the callee may return.
    let caller = [
        function("_start", "call caller\n ret"),
        silent("caller", "push %rbx\n call first\n pop %rbx\n ret"),
    ];
    check(
        "caller_unknown",
        &[
            caller.concat(),
            silent("first", "jmp second"),
            silent("second", "jmp *%rax"),
        ],
        "0..6 agrees\n6..7 made sp+8 u c-8\n7..13 made sp+16 u c-8\n13..14 made sp+8 u c-8\n14..19 made sp+8 u c-8\n19..21 made sp+8 u c-8\n",
    );
    check(
        "caller_stops",
        &[
            caller.concat(),
            silent("first", "jmp second"),
            silent("second", STOPS),
        ],
        "0..6 agrees\n6..7 made sp+8 u c-8\n7..12 made sp+16 u c-8\n14..19 made sp+8 u c-8\n19..21 made sp+8 u c-8\n",
    );
    check(
        "caller_undeclared",
        &[
            caller.concat(),
            function(
                "first",
                ".cfi_signal_frame\n .cfi_def_cfa r10, 16\n .cfi_register rip, rcx\n ret",
            ),
        ],
        "0..6 agrees\n6..7 made sp+8 u c-8\n7..13 made sp+16 u c-8\n13..14 made sp+8 u c-8\n",
    );
}

#[test]
fn what_only_its_own_row_says_is_no_function() {
    // A piece that nobody is seen to enter.
    check(
        "piece",
        &[
            function("_start", "ret"),
            function("_start.cold", ".cfi_def_cfa_offset 16\n nop\n ret"),
        ],
        "0..1 agrees\n",
    );
    // One without a name.
    check(
        "piece_without_name",
        &[
            function("_start", "ret"),
            ".cfi_startproc\n .cfi_def_cfa_offset 16\n nop\n ret\n .cfi_endproc\n".to_owned(),
        ],
        "0..1 agrees\n",
    );
    // What only a symbol calls a function, with a way out that leads nowhere.
    check(
        "odd",
        &[
            function("_start", "ret"),
            function(
                "odd",
                ".cfi_def_cfa_offset 16\n push %rbx\n test %edi, %edi\n je 1f\n ret\n 1: pop %rbx\n ret",
            ),
        ],
        "0..1 agrees\n",
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
        "0..4 agrees\n4..7 undecided: stack pointer from a register or from memory\n7..8 mended sp+8 u c-8\n8..11 agrees\n",
    );
}

#[test]
fn ways_that_share_code() {
    // One has saved the frame pointer and lost it, the other still has it: until it is loaded again.
    let saves = "push %rbp\n .cfi_def_cfa_offset 16\n";
    let loses = "push %rbp\n .cfi_def_cfa_offset 16\n xor %ebp, %ebp\n .cfi_offset rbp, -16\n jmp shared_inside";
    let shared =
        "nop\n shared_inside = .\n nop\n nop\n pop %rbp\n .cfi_def_cfa_offset 8\n nop\n ret";
    check(
        "share_behind",
        &[
            function("_start", &format!("{saves}{shared}")),
            function("other", loses),
        ],
        "0..2 agrees\n2..5 undecided: entered by jumps with another stack\n5..12 agrees\n",
    );
    check(
        "share_before",
        &[
            function("_start", loses),
            function("other", &format!("{saves}{shared}")),
        ],
        "0..7 agrees\n7..10 undecided: entered by jumps with another stack\n10..12 agrees\n",
    );
    let wrong = "push %rbp\n";
    let shared = "nop\n .cfi_def_cfa_offset 16\n shared_inside = .\n nop\n nop\n pop %rbp\n .cfi_def_cfa_offset 8\n nop\n ret";
    check(
        "share_start",
        &[
            function("_start", loses),
            function("other", &format!("{wrong}{shared}")),
        ],
        "0..6 agrees\n6..7 mended sp+16 u c-8\n7..10 undecided: entered by jumps with another stack\n10..12 agrees\n",
    );
    check(
        "share_start_behind",
        &[
            function("_start", &format!("{wrong}{shared}")),
            function("other", loses),
        ],
        "0..1 agrees\n1..2 mended sp+16 u c-8\n2..5 undecided: entered by jumps with another stack\n5..12 agrees\n",
    );
}

#[test]
fn tables_that_lead_astray() {
    let head = "push %rbx\n lea table(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n add %rdx, %rax\n jmp *%rax\n";
    let bounded =
        format!("cmp $2, %rdi\n ja 1f\n {head} 1: ud2\n 2: mov $0x5858, %eax\n pop %rbx\n ret");
    // The comparison says that there are three entries, and one of them leads to another function, which returns with a word
    // too much on the stack then.
    check("astray_out", &[function("_start", &bounded), silent("other", "ret"), ".section .rodata\n .p2align 2\n table: .long 2b - table, 2b - table, other - table\n .text\n".to_owned()], "0..32 undecided: a way out with another stack than at the entry\n32..33 missing: a way out with another stack than at the entry\n");
    // Without rows nothing says where instructions start, but that no two share bytes.
    let guessed = format!("movzbl %dil, %edi\n {head} 2: mov $0x585858, %eax\n pop %rbx\n ret");
    for (name, middle, expected) in [
        (
            "astray_middle",
            "2b + 2",
            "0..6 agrees\n6..34 missing: indirect jump without a known table\n",
        ),
        (
            "astray_not",
            "2b",
            "0..6 agrees\n6..11 made sp+8 u c-8\n11..33 made sp+16 u c-8\n33..34 made sp+8 u c-8\n",
        ),
    ] {
        let table = format!(
            ".section .rodata\n .p2align 2\n table: .long 2b - table, {middle} - table\n .long -1\n .text\n"
        );
        check(
            name,
            &[
                function("_start", "call silent\n ret"),
                silent("silent", &guessed),
                table,
            ],
            expected,
        );
    }
    // Bytes between them that never run are no matter.
    let with_gap = format!("{guessed}\n nop\n 3: pop %rbx\n ret");
    check("astray_gap", &[function("_start", "call silent\n ret"), silent("silent", &with_gap), ".section .rodata\n .p2align 2\n table: .long 2b - table, 3b - table\n .long -1\n .text\n".to_owned()], "0..6 agrees\n6..11 made sp+8 u c-8\n11..33 made sp+16 u c-8\n33..34 made sp+8 u c-8\n35..36 made sp+16 u c-8\n36..37 made sp+8 u c-8\n");
}

/// A piece that was moved away belongs to its function: nothing but its end bounds the table, whose entries lead to both.
#[test]
fn a_table_in_a_piece_of_a_function() {
    let text = [
        function("_start", "call f\n ret"),
        function("f", "test %edi, %edi\n js f.cold\n 1: nop\n ret\n 2: ret"),
        function(
            "f.cold",
            "movzbl %dil, %edi\n lea table(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n add %rdx, %rax\n jmp *%rax\n 3: ret",
        ),
        ".section .rodata\n .p2align 2\n table: .long 1b - table, 2b - table, 3b - table\n .long -1\n .text\n"
            .to_owned(),
    ];
    check("table_in_piece", &text, "0..38 agrees\n");
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
        "0..1 agrees\n1..3 undecided: stack pointer from a register or from memory\n",
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
            "0..14 agrees\n14..15 undecided: stack pointer from a register or from memory\n15..17 agrees\n",
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
            "0..3 agrees\n3..8 undecided: stack pointer from a register or from memory\n8..10 agrees\n",
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
        "0..6 agrees\n6..12 made sp+8 u c-8\n12..17 missing: stack pointer from a register or from memory\n17..19 made sp+8 u c-8\n19..20 missing: stack pointer from a register or from memory\n",
    );
}

/// Three functions share code, and leave it at different places: what each found is told of exactly its instructions.
#[test]
fn code_that_functions_share_and_leave_one_after_the_other() {
    let shared = "nop\n first: nop\n second: cmp $0, %eax\n je 1f\n cmp $0, %ecx\n je 1f\n nop\n ret\n 1: nop\n ret";
    let text = [
        function("_start", "call shared\n call one\n call other\n ret"),
        function("one", "mov $1, %eax\n mov $0, %ecx\n jmp first"),
        function("other", "mov $0, %eax\n jmp second"),
        function("shared", shared),
    ];
    check("shared", &text, "0..51 agrees\n");
    // Without rows of its own.
    let text = [text[..3].concat(), silent("shared", shared)];
    check(
        "shared_silent",
        &text,
        "0..35 agrees\n35..36 made sp+8 u c-8\n36..37 made sp+8 u c-8\n37..42 made sp+8 u c-8\n42..47 made sp+8 u c-8\n47..49 made sp+8 u c-8\n49..51 made sp+8 u c-8\n",
    );
}
