//! Instructions that seldom touch the stack, and addresses that code has in unusual places.

use super::support::Set::{A64, X86};
use super::support::judge;

/// The stack pointer and the frame pointer are changed by instructions that compilers do not use for frames.
#[test]
fn registers_are_changed_by_any_instruction() {
    for (instruction, rows) in [
        ("cmove %rdi, %rsp", "fp+16; not sp+16"),
        ("xchg %rsp, %rax", "fp+16; r0+16; not sp+16"),
        ("mov %esp, %esp", "fp+16; not sp+16"),
        ("mov %ebp, %ebp", "sp+16; not fp+16"),
        ("xadd %rbp, %rax", "sp+16; not fp+16"),
        ("mov $8, %bp", "sp+16; not fp+16"),
        ("shl $1, %rbp", "sp+16; not fp+16"),
        ("cpuid\n mov %rbx, %rbp", "sp+16; not fp+16"),
        ("movq %xmm0, %rbp", "sp+16; not fp+16"),
        ("pushw $1", "sp+18; not sp+24; not sp+16"),
    ] {
        judge(
            X86,
            &format!(
                "fn f\n push %rbp\n mov %rsp, %rbp\n {instruction}\n nop | {rows}\n leave\n ret\n end"
            ),
        );
    }
    for (instruction, rows) in [
        ("mov w29, w29", "sp+16 ra=c-8; not fp+16 ra=c-8"),
        (
            "add wsp, wsp, #16",
            "fp+16 ra=c-8; not sp+16 ra=c-8; not sp+0 ra=c-8",
        ),
        ("bfi x29, x1, #0, #8", "sp+16 ra=c-8; not fp+16 ra=c-8"),
        ("and sp, x9, #-16", "fp+16 ra=c-8; not sp+16 ra=c-8"),
        ("ldr x1, [sp], #8", "sp+8 ra=c-8; not sp+16 ra=c-8"),
        ("ldr x1, [x29, #8]!", "fp+8 ra=c-8; not fp+16 ra=c-8"),
    ] {
        judge(
            A64,
            &format!(
                "fn f\n stp x29, x30, [sp, #-16]!\n mov x29, sp\n {instruction}\n nop | {rows}\n ret\n end"
            ),
        );
    }
}

/// Code names addresses as constants of any form, and tables may be between the functions.
#[test]
fn addresses_in_code_are_named() {
    judge(
        X86,
        "fn f\n push %rbx\n inside: nop | not sp+16; not sp+8\n pop %rbx\n ret\n end\n fn g\n lea inside, %rax\n ret\n end",
    );
    judge(
        A64,
        "fn f\n sub sp, sp, #16\n inside: nop | not sp+16\n add sp, sp, #16\n ret\n end\n fn g\n ldr x0, =inside\n ret\n .ltorg\n end",
    );
    let x86 = |jump: &str, table: &str| {
        judge(
            X86,
            &format!(
                "fn f\n push %rbp\n mov %rsp, %rbp\n cmp %rdi, %rsi\n je one\n push $1\n lea T(%rip), %rdx\n {jump}\n\
             one: cld | not sp+16; not sp+24\n leave\n ret\n end\n .p2align 3\n T: {table}"
            ),
        );
    };
    x86("jmp *(%rdx,%rdi,8)", ".quad one, one");
    x86(
        "movslq (%rdx,%rdi,4), %rax\n add %rdx, %rax\n jmp *%rax",
        ".long one - T, one - T",
    );
    judge(
        A64,
        "fn f\n stp x29, x30, [sp, #-16]!\n mov x29, sp\n cbz x0, one\n sub sp, sp, #16\n adr x1, T\n ldr x1, [x1, x0, lsl #3]\n br x1\n\
         one: nop | not sp+16 ra=c-8; not sp+32 ra=c-8\n mov sp, x29\n ldp x29, x30, [sp], #16\n ret\n end\n .p2align 3\n T: .quad one, one",
    );
}

/// A walk reads the row at the last byte of a call: each row that holds at a byte of an instruction must follow.
#[test]
fn rows_that_start_inside_of_an_instruction_must_follow() {
    for (first, inside) in [
        ("sp+16; not sp+24", "sp+16; not sp+24"),
        ("not sp+16", "not sp+24"),
        ("not sp+16", "not sp+8"),
    ] {
        judge(
            X86,
            &format!(
                "fn f\n push %rbx\n .byte 0xe8 | {first}\n .long g - . - 4 | {inside}\n pop %rbx | sp+16\n ret\n end\n fn g\n ret\n end"
            ),
        );
    }
}
