//! How code is entered, and by whom.

use super::*;

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
        "0..2 agrees\n2..5 undecided: jumps reach the code with different stack depths\n5..12 agrees\n",
    );
    check(
        "share_before",
        &[
            function("_start", loses),
            function("other", &format!("{saves}{shared}")),
        ],
        "0..7 agrees\n7..10 undecided: jumps reach the code with different stack depths\n10..12 agrees\n",
    );
    let wrong = "push %rbp\n";
    let shared = "nop\n .cfi_def_cfa_offset 16\n shared_inside = .\n nop\n nop\n pop %rbp\n .cfi_def_cfa_offset 8\n nop\n ret";
    check(
        "share_start",
        &[
            function("_start", loses),
            function("other", &format!("{wrong}{shared}")),
        ],
        "0..6 agrees\n6..7 mended sp+16 u c-8\n7..10 undecided: jumps reach the code with different stack depths\n10..12 agrees\n",
    );
    check(
        "share_start_behind",
        &[
            function("_start", &format!("{wrong}{shared}")),
            function("other", loses),
        ],
        "0..1 agrees\n1..2 mended sp+16 u c-8\n2..5 undecided: jumps reach the code with different stack depths\n5..12 agrees\n",
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
