//! Code that returns from the handler of a signal.

use super::support::Set::{self, A64, X86};
use super::support::judge;

/// Judges such code in a program of an operating system: `before` are instructions, `call` the system call.
fn judge_restorer(set: Set, before: &str, call: &str, rest: &str) {
    judge(
        set,
        &format!(
            "red 128\n fde trap\n fn restore trap\n {before}\n {call}\n end\n endfde\n{rest}\n .section .rodata\n .p2align 3\n .quad restore"
        ),
    );
}

const X86_ROW: &str = "(sp+160) ra=(sp+168) fp=(sp+120)";
const A64_ROW: &str = "(sp+560) ra=(sp+568) fp=(sp+544)";

/// The kernel has saved the interrupted registers at constant distances: a row with other distances is refused, also the first one.
#[test]
fn rows_of_returns_from_signals_follow_from_the_system_call() {
    for first in ["mov $15, %eax", "mov $15, %rax"] {
        let before = format!(
            "{first} | {X86_ROW}; not (sp+168) ra=(sp+168); not (sp+160) ra=(sp+160) fp=(sp+120); not (sp+160) ra=(sp+168) fp=(sp+128);\
             not (sp+160) ra=(sp+168) fp=same; not (sp+24) ra=(sp+0); not sp+8"
        );
        let call = format!("syscall | {X86_ROW}; not (sp+152) ra=(sp+160) fp=(sp+112)");
        judge_restorer(X86, &before, &call, "");
    }
    let before =
        "pop %rcx | (sp+168) ra=(sp+176) fp=(sp+128); not (sp+160) ra=(sp+168)\n mov $15, %eax";
    judge_restorer(X86, before, &format!("syscall | {X86_ROW}"), "");
    let before = format!(
        "mov x8, #139 | {A64_ROW}; not (sp+568) ra=(sp+568); not (sp+560) ra=(sp+560) fp=(sp+544); not (sp+560) ra=(sp+568) fp=(sp+552);\
         not (sp+560) ra=(sp+568) fp=same; not sp+0"
    );
    let call = format!("svc #0 | {A64_ROW}; not (sp+552) ra=(sp+560)");
    judge_restorer(A64, &before, &call, "");
}

/// Call frame information starts one byte early, in padding: the return address of the handler is the start of the code.
#[test]
fn the_byte_before_a_return_from_a_signal_has_its_row() {
    let wrong = "not (sp+168) ra=(sp+176); not (sp+160) ra=(sp+168) fp=same";
    judge(
        X86,
        &format!(
            "red 128\n fn before\n ret\n end\n .byte 0x0f, 0x1f, 0x80, 0, 0, 0\n fde trap\n rows trap\n .byte 0 | {X86_ROW}; {wrong}\n\
             restore: mov $15, %rax | {X86_ROW}; {wrong}\n syscall | {X86_ROW}; {wrong}\n endfde\n .balign 16\n\
             fn f\n lea restore(%rip), %rdi | sp+8\n ret\n end"
        ),
    );
}

/// Called code, and code that does something else, are not taken for returns from signals.
#[test]
fn other_system_calls_do_not_return_from_signals() {
    let caller = "fn f\n call restore\n ret\n end\n fn k\n call f\n ret\n end";
    let before = format!("mov $15, %eax | not {X86_ROW}");
    judge_restorer(X86, &before, &format!("syscall | not {X86_ROW}"), caller);
    for (before, call) in [
        ("mov $16, %eax", "syscall"),
        ("mov %edi, %eax", "syscall"),
        ("mov %rdi, %rsp\n mov $15, %eax", "syscall"),
    ] {
        let text = format!("{before} | not sp+8");
        judge_restorer(X86, &text, call, "");
    }
}

/// The system call does not continue.
#[test]
fn a_return_from_a_signal_does_not_continue() {
    judge(
        X86,
        &format!(
            "red 128\n fn k\n call next\n ret\n end\n fn restore trap\n mov $15, %eax | {X86_ROW}\n syscall | {X86_ROW}\n\
             fn next\n nop | sp+8; not sp+16\n ret\n end\n .section .rodata\n .quad restore"
        ),
    );
}
