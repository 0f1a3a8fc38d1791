//! Calls of the operating system that continue on another stack, or on a stack that another process has used.

use super::support::Set::{A32, A64, T32, X86};
use super::support::judge;

/// `clone` continues twice, once on another stack. Its caller goes on as behind any call.
#[test]
fn a_new_task_has_no_caller() {
    // musl's
    judge(
        X86,
        "red 128\n fn clone\n xor %eax, %eax\n mov $56, %al\n mov %rdi, %r11\n mov %rdx, %rdi\n mov %r8, %rdx\n mov %r9, %r8\n mov 8(%rsp), %r10\n mov %r11, %r9\n\
         and $-16, %rsi\n sub $8, %rsi\n mov %rcx, (%rsi)\n syscall | sp+8\n test %eax, %eax | not sp+8\n jnz 1f\n xor %ebp, %ebp | not sp+8\n pop %rdi\n\
         call *%r9 | not sp+8; not sp+0\n mov %eax, %edi\n xor %eax, %eax\n mov $60, %al\n syscall\n hlt\n 1: ret\n end\n\
         fn f\n push %rbx\n call clone | sp+16\n pop %rbx | sp+16\n ret | sp+8\n end",
    );
    for (number, is_once) in [
        ("mov $56, %eax", false),
        ("mov $435, %eax", false),
        ("mov $0x40000038, %eax", false),
        ("mov %edi, %eax", false),
        ("mov $57, %eax", true),
        ("xor %eax, %eax", true),
        ("mov $39, %rax", true),
    ] {
        let row = if is_once {
            "sp+16; not sp+8"
        } else {
            "not sp+16"
        };
        judge(
            X86,
            &format!(
                "fn f\n push %rbx\n {number}\n syscall | sp+16\n nop | {row}\n pop %rbx\n ret\n end"
            ),
        );
    }
    judge(
        X86,
        "fn f\n push %rbx\n mov $120, %eax\n int $0x80 | sp+16\n nop | not sp+16\n mov $56, %eax\n pop %rbx\n ret\n end\n\
         fn g\n push %rbx\n mov $56, %eax\n int $0x80 | sp+16\n pop %rbx | sp+16\n ret\n end",
    );
    for (number, row) in [
        ("mov x8, #220", "not sp+0"),
        ("mov x8, #435", "not sp+0"),
        ("mov x8, x0", "not sp+0"),
        ("mov x8, #221", "sp+0"),
        ("mov w8, #221", "sp+0"),
    ] {
        judge(
            A64,
            &format!(
                "fn f\n {number}\n svc #0 | sp+0\n cbz x0, 1f | {row}\n ret | {row}\n 1: mov x29, #0 | {row}\n blr x1\n end"
            ),
        );
    }
    for set in [A32, T32] {
        for (number, row) in [
            ("movs r7, #120", "not sp+8 ra=c-4"),
            ("movw r7, #435", "not sp+8 ra=c-4"),
            ("movs r7, #1", "sp+8 ra=c-4; not sp+0"),
            ("nop", "not sp+8 ra=c-4"),
        ] {
            judge(
                set,
                &format!(
                    "fn f\n push {{r7, lr}}\n {number}\n svc #0 | sp+8 ra=c-4\n nop | {row}\n pop {{r7, pc}}\n end"
                ),
            );
        }
    }
}

/// Linux ignores the number in `svc`, except that of an older interface.
#[test]
fn the_number_in_the_instruction_does_not_matter() {
    for (number, row) in [("mov x8, #220", "not sp+0"), ("mov x8, #64", "sp+0")] {
        judge(
            A64,
            &format!("fn f\n {number}\n svc #1 | sp+0\n nop | {row}\n ret\n end"),
        );
    }
    for (number, row) in [
        ("movs r7, #120", "not sp+8 ra=c-4"),
        ("movs r7, #4", "sp+8 ra=c-4"),
    ] {
        judge(
            T32,
            &format!(
                "fn f\n push {{r7, lr}}\n {number}\n svc #1\n nop | {row}\n pop {{r7, pc}}\n end"
            ),
        );
    }
    judge(
        A32,
        "fn f\n push {r7, lr}\n mov r7, #4\n svc #0x900078\n nop | not sp+8 ra=c-4\n pop {r7, pc}\n end",
    );
}

/// The parent of `vfork` continues after its child has used the stack below the stack pointer.
#[test]
fn words_below_the_stack_pointer_are_lost_in_vfork() {
    for (number, row) in [
        ("58", "not sp+0"),
        ("0x4000003a", "not sp+0"),
        ("57", "sp+0"),
    ] {
        judge(
            X86,
            &format!(
                "red 128\n fn vfork\n pop %rdx | sp+8\n mov ${number}, %eax\n syscall | sp+0\n push %rdx | {row}\n ret\n end"
            ),
        );
    }
}

/// `exit` does not continue in a program of an operating system.
#[test]
fn the_last_call_of_a_program_does_not_continue() {
    for (red, row) in [("red 128", "sp+8; not sp+16"), ("", "not sp+8")] {
        judge(
            X86,
            &format!(
                "{red}\n fn f\n test %edi, %edi\n jz 1f\n push %rbx\n mov $60, %eax\n syscall | sp+16\n 1: nop | {row}\n ret\n end"
            ),
        );
    }
}
