//! Addresses of the stack and of code that arithmetic computes without a constant distance.

use super::support::Set::{A32, A64, T32, X86};
use super::support::judge;

/// Code that aligns its stack in a different register has not switched to another stack: its jumps lead to its own instructions.
#[test]
fn an_aligned_stack_is_not_another_stack() {
    for align in [
        "lea -64(%rsp), %rax\n and $-64, %rax\n mov %rax, %rsp",
        "lea -64(%rsp), %rax\n shr $6, %rax\n shl $6, %rax\n mov %rax, %rsp",
        "lea -64(%rsp), %rax\n and $-64, %rax\n push %rax\n pop %rsp",
        "lea -64(%rsp), %rax\n andn %rax, %rcx, %rdx\n mov %rdx, %rsp",
        "movq %rsp, %xmm0\n movq %xmm0, %rax\n mov %rax, %rsp",
    ] {
        judge(
            X86,
            &format!(
                "fn f\n push %rbx\n mov %rsp, %rbx\n test %edi, %edi\n js 2f\n {align}\n movzwl T(,%rdi,2), %eax\n lea f(%rax), %rax\n jmp *%rax\n\
                 2: sub $16, %rsp\n nop | not sp+32\n one: nop | not sp+32\n mov %rbx, %rsp\n pop %rbx\n ret\n end\n fn k\n call f\n ret\n end\n\
                 .section .rodata\n T: .short one - f, one - f"
            ),
        );
    }
    for align in [
        "sub x9, sp, #64\n and x9, x9, #-64\n mov sp, x9",
        "mov x9, sp\n bic x9, x9, x2\n mov sp, x9",
        "mov x9, sp\n sub x9, x9, w2, uxtw\n mov sp, x9",
        "mov x9, sp\n fmov d0, x9\n fmov x9, d0\n mov sp, x9",
    ] {
        judge(
            A64,
            &format!(
                "fn f\n stp x19, x30, [sp, #-16]!\n mov x19, sp\n cbnz x1, 2f\n {align}\n adr x3, 1f\n add x3, x3, x0, lsl #4\n br x3\n\
                 1: mov sp, x19\n ldp x19, x30, [sp], #16\n ret\n 2: sub sp, sp, #16\n nop | not sp+32 ra=c-8\n nop | not sp+32 ra=c-8\n mov sp, x19\n ldp x19, x30, [sp], #16\n ret\n end\n\
                 fn k\n bl f\n ret\n end"
            ),
        );
    }
}

/// A register that is loaded while the stack pointer is unknown is lost if the stack pointer is known again at the exit.
#[test]
fn a_register_that_is_loaded_from_an_unknown_stack_is_lost_behind_it() {
    for enter in [
        "lea -64(%rsp), %rax\n and $-64, %rax\n mov %rax, %rsp",
        "mov work(%rip), %rsp\n push %rdi\n sub $16, %rsp",
    ] {
        judge(
            X86,
            &format!(
                "fn outer\n sub $8, %rsp\n call wrap\n nop | sp+16; not sp+16 fp=same\n add $8, %rsp\n ret\n end\n\
                 fn wrap\n test %edi, %edi\n je 1f\n jmp inner\n 1: ret\n end\n\
                 fn inner\n mov %rsp, %r11\n {enter}\n mov 8(%rsp), %rbp\n mov %r11, %rsp\n ret\n end\n .data\n work: .quad 0"
            ),
        );
    }
    judge(
        A64,
        "fn outer\n str x30, [sp, #-16]!\n bl wrap\n nop | sp+16 ra=c-16; not sp+16 ra=c-16 fp=same\n ldr x30, [sp], #16\n ret\n end\n\
         fn wrap\n cbz x0, 1f\n b inner\n 1: ret\n end\n\
         fn inner\n mov x10, sp\n sub x9, sp, #64\n and x9, x9, #-64\n mov sp, x9\n ldr x29, [sp, #8]\n mov sp, x10\n ret\n end",
    );
    judge(
        A32,
        "fn outer\n push {r3, lr}\n bl wrap\n nop | sp+8 ra=c-4; not sp+8 ra=c-4 fp=same\n pop {r3, pc}\n end\n\
         fn wrap\n cmp r0, #0\n beq 1f\n b inner\n 1: bx lr\n end\n\
         fn inner\n mov r12, sp\n sub r3, sp, #64\n bic r3, r3, #63\n mov sp, r3\n ldr r11, [sp, #8]\n mov sp, r12\n bx lr\n end",
    );
}

/// Functions that skip instructions after their call jump to an address that they compute from the return address.
#[test]
fn jumps_to_a_changed_return_address_are_no_returns() {
    for skip in [
        "add x9, x30, w0, uxtw #2\n br x9",
        "orr x9, x30, x0\n br x9",
        "lsr x9, x30, #2\n lsl x9, x9, #2\n br x9",
        "csel x9, x30, x0, eq\n br x9",
    ] {
        judge(
            A64,
            &format!(
                "fn f\n stp x29, x30, [sp, #-16]!\n mov x29, sp\n bl skip\n sub sp, sp, #32\n nop | not sp+48 ra=c-8\n mov sp, x29\n\
                 ldp x29, x30, [sp], #16\n ret\n end\n fn skip\n {skip}\n end"
            ),
        );
    }
    for (set, skip) in [
        (A32, "add r3, lr, r0, lsr #1\n bx r3"),
        (A32, "orr r3, lr, r0\n bx r3"),
        (
            T32,
            "bic r3, lr, #1\n adds r3, r3, r0\n orr r3, r3, #1\n bx r3",
        ),
    ] {
        judge(
            set,
            &format!(
                "fn f\n push {{r4, lr}}\n mov r4, sp\n bl skip\n sub sp, sp, #32\n nop | not sp+40 ra=c-4\n mov sp, r4\n pop {{r4, pc}}\n end\n\
                 fn skip\n {skip}\n end"
            ),
        );
    }
}

/// Code that checks its stack pointer without a free register adds a register to it, and computes both from the sum.
#[test]
fn a_register_that_was_added_to_the_stack_pointer_is_subtracted_again() {
    for (sum, between, back, row) in [
        (
            "add sp, sp, x19",
            "sub x19, sp, x19",
            "sub x19, sp, x19\n sub sp, sp, x19",
            "sp+32 fp=same; not sp+16",
        ),
        (
            "add x9, sp, x19",
            "add x9, x9, #16",
            "sub x9, x9, x19\n mov sp, x9",
            "sp+16; not sp+32",
        ),
        // Not the same register, not its entry value, not its whole value, and a sum instead of a difference.
        (
            "add x9, sp, x19",
            "nop",
            "sub x9, x9, x20\n mov sp, x9",
            "not sp+32",
        ),
        (
            "add x9, sp, x19",
            "add x19, x19, #16",
            "sub x9, x9, x19\n mov sp, x9",
            "not sp+32",
        ),
        (
            "add x9, sp, x19, lsl #1",
            "nop",
            "sub x9, x9, x19\n mov sp, x9",
            "not sp+32",
        ),
        (
            "add x9, sp, x19",
            "nop",
            "sub x9, x9, x19, lsl #1\n mov sp, x9",
            "not sp+32",
        ),
        (
            "add x9, sp, x19",
            "nop",
            "add x9, x9, x19\n mov sp, x9",
            "not sp+32",
        ),
        // Paths on which the sum differs.
        (
            "add x9, sp, x19\n cbz x0, 1f\n add x9, x9, #16\n 1:",
            "nop",
            "sub x9, x9, x19\n mov sp, x9",
            "not sp+32; not sp+16",
        ),
    ] {
        judge(
            A64,
            &format!(
                "fn f\n sub sp, sp, #32\n {sum}\n {between}\n {back}\n nop | {row}\n 2: b 2b\n end\n fn k\n bl f\n ret\n end"
            ),
        );
    }
}

/// While the stack pointer is such a sum, an interrupt overwrites an unknown part of the stack.
#[test]
fn a_sum_in_the_stack_pointer_loses_the_words_of_the_stack() {
    for (sum, row) in [
        (
            "add x9, sp, x19\n sub x9, x9, x19\n mov sp, x9",
            "sp+16 ra=c-8",
        ),
        ("add sp, sp, x19\n sub sp, sp, x19", "not sp+16 ra=c-8"),
    ] {
        judge(
            A64,
            &format!(
                "fn f\n stp x29, x30, [sp, #-16]!\n mov x30, x0\n {sum}\n nop | {row}\n 2: b 2b\n end\n fn k\n bl f\n ret\n end"
            ),
        );
    }
}

/// A sum that is loaded from the stack is not the stack pointer of another stack.
#[test]
fn a_sum_that_was_saved_is_no_other_stack() {
    judge(
        X86,
        "fn f\n lea (%rsp,%rbx), %rax\n push %rax\n pop %rsp\n ret\n end\n\
         fn k\n sub $8, %rsp\n call f\n nop | not sp+16\n add $8, %rsp\n ret\n end",
    );
}
