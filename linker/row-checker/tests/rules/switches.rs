//! Switches of stacks, and code without a caller.

use super::support::Set::{A32, A64, X86};
use super::support::judge;

/// A function that loads its stack pointer and then runs to a matching return has the same frame on the loaded stack.
#[test]
fn switch_of_stacks_with_a_matching_return_keeps_the_frame() {
    judge(
        X86,
        "fn switch\n push %rbp | sp+8\n push %rbx | sp+16 fp=same\n push %r12\n push %r13\n push %r14\n push %r15\n mov %rsp, (%rdi) | sp+56 fp=c-16\n\
         mov %rsi, %rsp | sp+56 fp=c-16\n pop %r15 | sp+56 fp=c-16; not sp+48; not sp+56 fp=same\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp | sp+16 fp=c-16\n\
         ret | sp+8 fp=same; not sp+16\n end",
    );
    judge(
        A64,
        "fn switch\n stp x19, x20, [sp, #-96]!\n stp x21, x22, [sp, #16]\n stp x23, x24, [sp, #32]\n stp x25, x26, [sp, #48]\n stp x27, x28, [sp, #64]\n\
         stp x29, x30, [sp, #80]\n mov x9, sp | sp+96 ra=c-8 fp=c-16\n str x9, [x0]\n mov sp, x1 | sp+96 ra=c-8 fp=c-16\n\
         ldp x21, x22, [sp, #16] | sp+96 ra=c-8 fp=c-16; not sp+96; not sp+80 ra=c-8\n ldp x23, x24, [sp, #32]\n ldp x25, x26, [sp, #48]\n\
         ldp x27, x28, [sp, #64]\n ldp x29, x30, [sp, #80]\n ldp x19, x20, [sp], #96 | sp+96 ra=same fp=same\n ret | sp+0 fp=same; not sp+96\n end",
    );
    judge(
        A32,
        "fn switch\n push {r4-r11, r12, lr}\n str sp, [r0] | sp+40 ra=c-4 fp=c-12\n mov sp, r1\n pop {r4-r11, r12, lr} | sp+40 ra=c-4 fp=c-12; not sp+40; not sp+36 ra=c-4\n\
         bx lr | sp+0 fp=same; not sp+40\n end",
    );
}

/// Without a matching return, nothing is known of the loaded stack.
#[test]
fn switch_of_stacks_without_a_matching_return_is_unknown() {
    let save =
        "push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n mov %rsp, (%rdi)";
    let restore = "pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret";
    for rest in [
        // Another frame, another order, a register that is not restored.
        "pop %rbp | not sp+56\n ret | not sp+48; not sp+8",
        "ret | not sp+56; not sp+8",
        "pop %rbp | not sp+56\n pop %rbx\n pop %r12\n pop %r13\n pop %r14\n pop %r15\n ret | not sp+8",
        "add $48, %rsp | not sp+56\n ret | not sp+8",
        // A branch, a call, a jump through a pointer, another load.
        &format!("pop %r15 | not sp+56\n test %rax, %rax\n je 3f\n 3: {restore} | not sp+8"),
        &format!("call leaf | not sp+56\n pop %r15 | not sp+56\n {restore}"),
        "pop %r15 | not sp+56\n jmp *%rax | not sp+48",
        "mov %rdx, %rsp | not sp+56\n pop %r15 | not sp+56\n ret | not sp+8",
        "3: jmp 3b | not sp+56",
        "ud2 | not sp+56",
    ] {
        judge(
            X86,
            &format!("fn leaf\n ret\n end\n fn switch\n {save}\n mov %rsi, %rsp\n {rest}\n end"),
        );
    }
    // The frame pointer is restored from a register that the other task has set.
    judge(
        X86,
        "fn switch\n mov %rbp, %rax\n mov %rsp, (%rdi)\n mov %rsi, %rsp\n mov %rax, %rbp | not sp+8\n ret | not sp+8 fp=same\n end",
    );
}

/// Code after a switch that other code reaches with another stack pointer has no row.
#[test]
fn code_after_a_switch_that_other_code_reaches_is_unknown() {
    judge(
        X86,
        "fn switch\n push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n mov %rsp, (%rdi)\n mov %rsi, %rsp\n\
         5: pop %r15 | not sp+56; not sp+64\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret | not sp+8\n end\n\
         fn other\n push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n push %rax\n jmp 5b\n end",
    );
}

/// Directives for trap code may end after the call of the handler, before the trap return.
#[test]
fn trap_code_may_continue_after_its_directives() {
    judge(
        A64,
        "fn vector bare\n sub sp, sp, #32\n stp x29, x30, [sp]\n mrs x0, elr_el1\n str x0, [sp, #16]\n fde\n rows trap\n\
         mov x0, sp | sp+32 ra=c-16 fp=c-32\n bl handle | sp+32 ra=c-16 fp=c-32; not sp+16 ra=c-16\n endfde\n rows\n\
         ldr x0, [sp, #16]\n msr elr_el1, x0\n ldp x29, x30, [sp], #32\n eret\n end\n fn handle\n ret\n end\n .section .rodata\n .p2align 3\n .quad vector",
    );
}

/// Code that nothing reaches, in a function without a caller, has no caller either.
#[test]
fn unreached_code_of_a_function_without_a_caller_has_no_caller() {
    judge(
        X86,
        "fn start\n mov $1, %eax | none\n 1: jmp 1b | none\n mov $2, %eax | none; not sp+8\n fn long_mode\n xor %eax, %eax | none\n call leaf | none; not sp+8\n\
         2: jmp 2b | none; not sp+8\n end\n fn leaf\n ret | sp+8; not none\n end",
    );
}

/// A trap in a function with a realigned stack may resume: the frame pointer is known there.
#[test]
fn trap_in_a_realigned_frame_may_resume() {
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n and $-32, %rsp\n ud2 | fp+16 fp=c-16\n mov %rax, 8(%rsp) | fp+16 fp=c-16; not sp+16\n\
         mov %rbp, %rsp | fp+16 fp=c-16\n pop %rbp | sp+16 fp=c-16\n ret | sp+8\n end",
    );
}

/// Control may reach the start of a function without a caller from code with an unknown stack pointer, but not from called code.
#[test]
fn start_of_a_function_without_a_caller_is_reached_with_an_unknown_stack_pointer() {
    let rest = "fn long_mode\n mov %eax, %ds | none\n call leaf | none; not sp+8\n 2: jmp 2b\n end\n fn leaf\n ret\n end\n .data\n .quad low";
    judge(
        X86,
        &format!("fn f bare\n ret\n low: movabs $long_mode, %rax\n jmp *%rax\n end\n {rest}"),
    );
    judge(X86, &format!("fn f bare\n ret\n low: nop\n end\n {rest}"));
    // Called code has no such state.
    judge(
        X86,
        "fn called\n jmp long_mode\n end\n fn top\n call called\n ret\n end\n fn long_mode\n mov %eax, %ds | sp+8; not none\n ret\n end",
    );
}

/// Code that call frame information marks as trap code need not return, but code that is called is none.
#[test]
fn marked_trap_code_need_not_return() {
    let rest = "fn handle\n 3: jmp 3b\n end\n .section .rodata\n .quad entry";
    judge(
        X86,
        &format!(
            "fn entry trap\n fde trap\n push %rax | (sp+24) ra=(sp+0)\n call handle | (sp+32) ra=(sp+8); not sp+16\n ud2\n endfde\n end\n {rest}"
        ),
    );
    judge(
        X86,
        &format!(
            "fn entry trap\n push %rax | not (sp+24) ra=(sp+0)\n call handle | not (sp+32) ra=(sp+8)\n ud2\n end\n {rest}"
        ),
    );
    judge(
        X86,
        "fn top\n call entry\n ret\n end\n fn entry trap\n fde trap\n push %rax | not (sp+24) ra=(sp+0)\n ud2 | not (sp+32) ra=(sp+8)\n endfde\n end",
    );
}

/// A label inside of a function without a caller, whose address is taken, has no caller either: the start of a task.
#[test]
fn label_in_a_function_without_a_caller_has_no_caller() {
    judge(
        X86,
        "fn begin\n nop | none\n start: mov %rbx, %rdi | none; not sp+8\n call leaf | none; not sp+8\n 1: jmp 1b | none\n end\n\
         fn leaf\n ret | sp+8; not none\n end\n fn make\n lea start(%rip), %rax\n mov %rax, (%rdi)\n ret\n end",
    );
    judge(
        A64,
        "fn begin\n nop | none\n start: mov x0, x19 | none; not sp+0\n bl leaf | none; not sp+0\n 1: b 1b | none\n end\n\
         fn leaf\n ret | sp+0; not none\n end\n .section .rodata\n .p2align 3\n .quad start",
    );
}

/// A function that loads its stack pointer and returns there: what counts from the stack that it has left is no frame of it.
#[test]
fn frames_of_a_stack_that_is_left_do_not_hold() {
    let enter =
        "push %rbp\n mov %rsp, %rbp\n push %rbx\n push %rcx\n mov %rsp, (%rdi) | fp+16 fp=c-16";
    let task = "fn task\n push %rbp | sp+8\n mov %rsp, %rbp\n call switch | fp+16 fp=c-16\n nop | sp+16\n pop %rbp | sp+16\n ret | sp+8\n end\n fn load\n ret | sp+8\n end";
    judge(
        X86,
        &format!(
            "fn switch\n {enter}\n mov (%rsi), %rsp | fp+16 fp=c-16\n test %edx, %edx | not fp+16; not sp+32\n jz 1f | not fp+16\n call load | not fp+16\n\
             1: pop %rcx | not fp+16\n pop %rbx | not fp+16\n pop %rbp | not fp+16\n ret | not sp+8\n end\n {task}"
        ),
    );
    // It comes back to its own stack.
    judge(
        X86,
        &format!(
            "fn switch\n {enter}\n mov (%rsi), %rsp | fp+16 fp=c-16\n call load | fp+16 fp=c-16; not sp+32\n\
             lea -16(%rbp), %rsp | fp+16 fp=c-16\n pop %rcx | sp+32 fp=c-16\n pop %rbx\n pop %rbp\n ret | sp+8\n end\n {task}"
        ),
    );
}

/// Registers that a function with a loaded stack pointer has set are lost behind its call.
#[test]
fn what_a_switch_of_stacks_breaks_is_not_relied_on() {
    for (keeps, row) in [
        ("xor %ebp, %ebp", "sp+16; not sp+16 fp=same"),
        ("mov %rdx, %rbp", "sp+16; not sp+16 fp=same"),
        ("xor %eax, %eax", "sp+16 fp=same"),
    ] {
        judge(
            X86,
            &format!(
                "fn on_stack bare\n mov %rsp, saved(%rip)\n mov %rsi, %rsp\n {keeps}\n call *%rdi\n mov saved(%rip), %rsp\n ret\n end\n\
                 fn f\n sub $8, %rsp\n call on_stack\n nop | {row}\n add $8, %rsp\n ret\n end\n .data\n saved: .quad 0"
            ),
        );
    }
}
