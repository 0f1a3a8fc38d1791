//! Jumps by pointers that are not followed: what they lead to.

use super::support::Set::{A32, A64, X86};
use super::support::judge;

/// What a jump by a pointer leads to has lost the registers that the jump has.
#[test]
fn jumps_by_pointers_lead_on_with_their_registers() {
    let code = |enter: &str, frame: &str| {
        format!(
            "fn enter\n {enter}\n mov handlers(%rip), %rax\n jmp *%rax\n end\n fn op\n nop | {frame}\n ret\n end\n\
             .data\n handlers: .quad op\n saved: .quad 0"
        )
    };
    let other = "mov %rbp, saved(%rip)\n lea saved(%rip), %rbp";
    judge(X86, &code(other, "sp+8; not sp+8 fp=same"));
    judge(X86, &code("nop", "sp+8 fp=same"));
    judge(
        X86,
        &code("push %rbp\n mov %rsp, %rbp\n pop %rbp", "sp+8 fp=same"),
    );
    judge(
        A64,
        "fn enter\n mov x29, x0\n br x1\n end\n fn op\n nop | sp+0; not sp+0 fp=same\n ret\n end\n\
         .section .rodata\n .p2align 3\n .quad op",
    );
}

/// A switch of stacks that such a jump may lead to has the same frame on the loaded stack, but for the registers that are lost.
#[test]
fn a_switch_of_stacks_is_entered_by_jumps_with_other_registers() {
    let code = |restore: &str, rows: [&str; 2]| {
        let [popped, last] = rows;
        format!(
            "fn switch\n push %rbp | sp+8\n push %rbx | sp+16\n push %r12\n push %r13\n push %r14\n push %r15\n mov %rsp, (%rdi) | sp+56\n\
             mov %rsi, %rsp | sp+56\n pop %r15\n pop %r14 {popped}\n pop %r13\n pop %r12\n {restore}\n pop %rbp\n ret {last}\n end\n\
             fn enter\n mov %rdi, %rbp\n jmp *%rsi\n end\n\
             fn f\n push %rax\n call switch | sp+16\n pop %rax | sp+16\n ret\n end\n .data\n .quad switch"
        )
    };
    judge(
        X86,
        &code(
            "pop %rbx",
            ["| sp+48; not sp+56", "| sp+8; not sp+8 fp=same; not sp+16"],
        ),
    );
    // The caller's value of this register is known.
    judge(X86, &code("pop %rax", ["| not sp+48", "| not sp+8"]));
}

/// A jump to a sum leads to every instruction of its function.
#[test]
fn jumps_to_sums_lead_into_the_middle_of_blocks() {
    for sum in [
        "lea k(%rip), %rax\n add offset(%rip), %rax",
        "mov offset(%rip), %rax\n lea (%rax,%rdi,2), %rax",
    ] {
        judge(
            X86,
            &format!(
                "fn f\n push %rbp\n mov %rsp, %rbp\n cmp $4, %rdi\n jae 1f\n {sum}\n jmp *%rax\n\
                 1: push $0 | not sp+16\n push $0 | not sp+24\n push $0 | not sp+32\n nop | not sp+40\n leave\n ret\n end\n\
                 fn k\n call f\n ret\n end\n .data\n offset: .quad 1"
            ),
        );
    }
    judge(
        A64,
        "fn f\n stp x29, x30, [sp, #-16]!\n mov x29, sp\n cbz x0, 1f\n sub x9, x9, x0, lsl #2\n br x9\n\
         1: sub sp, sp, #16 | not sp+16 ra=c-8\n sub sp, sp, #16 | not sp+32 ra=c-8\n mov sp, x29\n ldp x29, x30, [sp], #16\n ret\n end",
    );
    judge(
        A32,
        "fn f\n push {r4, lr}\n cmp r0, #2\n bhs 1f\n add pc, r1, r0, lsl #2\n\
         1: sub sp, sp, #8 | not sp+8 ra=c-4\n sub sp, sp, #8 | not sp+16 ra=c-4\n add sp, sp, #16\n pop {r4, pc}\n end",
    );
}
