//! Jumps by pointers that are not followed: what they lead to.

use super::support::Set::{A32, A64, T32, X86};
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

/// A jump to an address that arithmetic computes leads to every instruction of its function. The arithmetic may be in a different block.
#[test]
fn jumps_to_computed_addresses_lead_into_the_middle_of_blocks() {
    for sum in [
        "lea k(%rip), %rax\n add offset(%rip), %rax",
        "mov offset(%rip), %rax\n lea (%rax,%rdi,2), %rax",
        "lea k(%rip), %rcx\n add %rdi, %rcx\n mov %rcx, %rax",
        "mov %rdi, %rax\n imul $3, %rax, %rax",
        "mov (%rsi), %rax\n neg %rax",
        "mov (%rsi), %rax\n mul %rdi",
        "lea k(%rip), %rcx\n add %rdi, %rcx\n mov %rcx, %rax\n test %rsi, %rsi\n je 4f\n nop\n 4:",
        "mov %rdi, -8(%rbp)\n mov -8(%rbp), %rax\n test %rsi, %rsi\n je 4f\n nop\n 4:",
        "mov (%rsi), %rax\n xor %rdi, %rax",
        "mov (%rsi), %rax\n add %rdi, %rax\n test %rsi, %rsi\n je 4f\n nop\n 4:",
        "lea (%rsi,%rdi,2), %rax\n test %rsi, %rsi\n je 4f\n nop\n 4:",
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
    for sum in [
        "sub x9, x9, x0, lsl #2",
        "msub x9, x0, x1, x9",
        "eor x9, x9, x0",
        "csinc x9, x9, x0, eq",
        "ldr x9, [x1]\n csinv x9, x9, x2, eq",
        "sub x9, x9, x0, lsl #2\n movk x9, #0, lsl #48",
        "sub x9, x9, x0, lsl #2\n str x9, [sp]\n ldr x9, [sp]",
        "sub x9, x9, x0, lsl #2\n cbz x1, 4f\n nop\n 4:",
        "madd x9, x0, x1, x9\n cbz x1, 4f\n nop\n 4:",
    ] {
        judge(
            A64,
            &format!(
                "fn f\n stp x29, x30, [sp, #-16]!\n mov x29, sp\n cbz x0, 1f\n {sum}\n br x9\n\
                 1: sub sp, sp, #16 | not sp+16 ra=c-8\n sub sp, sp, #16 | not sp+32 ra=c-8\n mov sp, x29\n ldp x29, x30, [sp], #16\n ret\n end\n fn k\n bl f\n ret\n end"
            ),
        );
    }
    for jump in [
        "add pc, r1, r0, lsl #2",
        "mla r9, r0, r1, r9\n bx r9",
        "eor r9, r9, r0\n bx r9",
        "eor r9, r9, r0\n str r9, [sp]\n ldr r9, [sp]\n bx r9",
        "add r9, r1, r0, lsl #3\n bx r9",
        "add r9, r1, r0, lsl #3\n cmp r1, #0\n beq 4f\n nop\n 4: bx r9",
    ] {
        judge(
            A32,
            &format!(
                "fn f\n push {{r4, lr}}\n cmp r0, #2\n bhs 1f\n {jump}\n\
                 1: sub sp, sp, #8 | not sp+8 ra=c-4\n sub sp, sp, #8 | not sp+16 ra=c-4\n add sp, sp, #16\n pop {{r4, pc}}\n end\n fn k\n bl f\n bx lr\n end"
            ),
        );
    }
    // Instructions that are not a list of branches follow the jump.
    judge(
        A32,
        "fn f\n push {r4, lr}\n cmp r0, #4\n bhs 1f\n add pc, pc, r0, lsl #2\n nop\n sub sp, sp, #8\n\
         sub sp, sp, #8 | not sp+16 ra=c-4; not sp+8 ra=c-4\n sub sp, sp, #8\n 1: mov sp, r11\n pop {r4, pc}\n end\n fn k\n bl f\n bx lr\n end",
    );
}

/// A jump may lead to a label directly after the instruction that names it.
#[test]
fn a_jump_leads_to_a_label_right_behind_the_instruction_that_names_it() {
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n lea 1f(%rip), %rax\n 1: mov %rax, hook(%rip)\n push $0\n nop | not sp+24\n\
         dec %edi\n je 2f\n jmp *hook(%rip)\n 2: leave\n ret\n end\n fn k\n call f\n ret\n end\n .data\n hook: .quad 0",
    );
    judge(
        A64,
        "fn f\n stp x29, x30, [sp, #-16]!\n mov x29, sp\n adr x9, 1f\n 1: str x9, [x0]\n sub sp, sp, #16\n nop | not sp+32 ra=c-8\n\
         cbz x1, 2f\n ldr x9, [x0]\n br x9\n 2: mov sp, x29\n ldp x29, x30, [sp], #16\n ret\n end\n fn k\n bl f\n ret\n end",
    );
}

/// Code that calls the next instruction reads its own address, and is not called by that.
#[test]
fn a_call_of_the_next_instruction_is_a_jump() {
    judge(
        X86,
        "fn f\n call 1f\n 1: pop %rax | sp+16; not sp+8\n nop | sp+8\n ret\n end",
    );
    judge(
        X86,
        "fn f\n call 1f\n 1: addq $2f-1b, (%rsp) | sp+16\n ret\n 2: nop | not sp+16\n ret\n end",
    );
    judge(
        A64,
        "fn f\n stp x29, x30, [sp, #-16]!\n bl 1f\n 1: add x0, x30, #8 | sp+16 ra=c-8; not sp+0\n ldp x29, x30, [sp], #16\n ret | sp+0\n end",
    );
    for set in [A32, T32] {
        judge(
            set,
            "fn f\n push {r4, lr}\n bl 1f\n 1: add r0, lr, #8 | sp+8 ra=c-4; not sp+0\n pop {r4, pc}\n end",
        );
    }
}

/// A load that moves its base register computes an address.
#[test]
fn jumps_to_a_moved_base_register_lead_into_the_middle_of_blocks() {
    judge(
        A64,
        "fn f\n stp x29, x30, [sp, #-16]!\n mov x29, sp\n cbz x0, 1f\n ldr w1, [x9, #8]!\n br x9\n\
         1: sub sp, sp, #16\n sub sp, sp, #16 | not sp+32 ra=c-8\n mov sp, x29\n ldp x29, x30, [sp], #16\n ret\n end\n fn k\n bl f\n ret\n end",
    );
    // A sum in a word of the stack.
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n test %esi, %esi\n je 1f\n push %rdi\n add %rdi, (%rsp)\n pop %rax\n jmp *%rax\n\
         1: push $0\n push $0 | not sp+24\n nop | not sp+32\n leave\n ret\n end\n fn k\n call f\n ret\n end",
    );
    // jmpabs 2f
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n test %edi, %edi\n je 1f\n .byte 0xd5, 0x00, 0xa1\n .quad 2f\n 1: push %rdi\n\
         2: nop | fp+16; not sp+24; not sp+16\n leave\n ret\n end",
    );
}
