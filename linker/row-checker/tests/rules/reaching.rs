//! Which instructions set the registers from which an indirect jump computes its target.

use super::support::Set::{A64, X86};
use super::support::judge;

/// A register may get its value in different blocks, through copies, and behind calls that return elsewhere.
#[test]
fn every_instruction_that_sets_the_register_of_a_jump_counts() {
    let tables =
        "fn k\n call f\n ret\n end\n .section .rodata\n A: .long one - A\n B: .long two - B";
    for (name, jump) in [
        // The entry is copied in another block than the one with its load. An older entry is in the register of the jump.
        (
            "a copy",
            "lea A(%rip), %r9\n movslq (%r9,%rdi,4), %rax\n add %r9, %rax\n lea B(%rip), %r8\n movslq (%r8,%rdx,4), %rcx\n add %r8, %rcx\n\
             test %esi, %esi\n je 4f\n nop\n 4: mov %rcx, %rax\n jmp *%rax",
        ),
        (
            "two blocks",
            "lea A(%rip), %r9\n movslq (%r9,%rdi,4), %rax\n add %r9, %rax\n test %esi, %esi\n je 4f\n lea B(%rip), %r8\n\
             movslq (%r8,%rdx,4), %rax\n add %r8, %rax\n 4: jmp *%rax",
        ),
        (
            "a thunk",
            "push %rbx\n lea A(%rip), %rbx\n test %edi, %edi\n je 4f\n lea B(%rip), %rbx\n call thunk\n 4: movslq (%rbx,%rsi,4), %rax\n\
             add %rbx, %rax\n pop %rbx\n jmp *%rax",
        ),
        (
            "a pushed address",
            "lea A(%rip), %rdx\n test %edi, %edi\n je 4f\n lea B(%rip), %rdx\n lea 4f(%rip), %rcx\n push %rcx\n ret\n\
             4: movslq (%rdx,%rsi,4), %rax\n add %rdx, %rax\n jmp *%rax",
        ),
    ] {
        judge(
            X86,
            &format!(
                "fn f\n test %edi, %edi\n js 3f\n push %rbx\n {jump}\n one: pop %rbx\n ret\n 3: nop\n nop # {name}\n two: nop | not sp+8\n ret\n\
                 thunk: call 6f\n 5: pause\n jmp 5b\n 6: mov %rax, (%rsp)\n ret\n end\n {tables}"
            ),
        );
    }
}

/// An address that a jump uses may also be stored as a pointer.
#[test]
fn an_address_of_a_jump_may_also_be_stored() {
    judge(
        X86,
        "fn f\n push %rbx\n lea 1f(%rip), %rcx\n mov %rcx, hook(%rip)\n jmp *%rcx\n 1: nop | not sp+16\n pop %rbx\n ret\n end\n\
         fn g\n jmp *hook(%rip)\n end\n fn k\n call f\n call g\n ret\n end\n .data\n hook: .quad 0",
    );
    judge(
        X86,
        "fn f\n push %rbx\n lea 1f(%rip), %rcx\n mov %rcx, hook(%rip)\n lea T(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n add %rcx, %rax\n\
         jmp *%rax\n 1: nop | not sp+16\n pop %rbx\n ret\n end\n fn g\n jmp *hook(%rip)\n end\n fn k\n call f\n call g\n ret\n end\n\
         .data\n hook: .quad 0\n .section .rodata\n T: .long 0, 0",
    );
}

/// Each of these indices is multiplied by three or more.
#[test]
fn an_index_that_is_a_sum_of_two_registers_may_not_count_entries() {
    for index in [
        "lea (%rdi,%rdi,4), %rax\n lea (%rdi,%rax,2), %rax",
        "shl $63, %rdi\n mov %rdi, %rax",
        "lea 0x1234, %rdi\n imul %rdi, %rax",
    ] {
        judge(
            X86,
            &format!(
                "fn f\n test %edi, %edi\n js 3f\n push %rbx\n lea A(%rip), %rdx\n {index}\n movslq (%rdx,%rax,4), %rax\n add %rdx, %rax\n jmp *%rax\n\
                 one: pop %rbx\n ret\n 3: nop\n nop\n two: nop | not sp+8\n ret\n end\n fn k\n call f\n ret\n end\n\
                 .section .rodata\n A: .long one - A\n .zero 40\n .long two - A"
            ),
        );
    }
    for index in [
        "lsl x1, x0, #3\n sub x1, x1, x0",
        "add x1, x0, x1, lsl #1",
        "mov w1, #0\n bfi w1, w0, #2, #8",
        ".inst 0x53280c01 // ubfm w1, w0, #40, #3, which is unallocated",
    ] {
        judge(
            A64,
            &format!(
                "fn f\n cbz x0, 3f\n str x30, [sp, #-16]!\n adr x2, A\n {index}\n ldrsw x1, [x2, x1, lsl #2]\n add x1, x1, x2\n br x1\n\
                 one: ldr x30, [sp], #16\n ret\n 3: nop\n nop\n two: nop | not sp+0\n ret\n end\n fn k\n bl f\n ret\n end\n\
                 .section .rodata\n .p2align 2\n A: .word one - A\n .zero 40\n .word two - A"
            ),
        );
    }
}
