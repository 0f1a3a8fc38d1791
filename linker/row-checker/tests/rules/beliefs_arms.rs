//! Programs for AArch64 and 32-bit ARM that run, and have a wrong row which follows only from a belief about the code.

use super::support::Set::{A32, A64};
use super::support::judge;

/// A jump whose target is not read from a table may lead to code of its function that other code reaches, too.
#[test]
fn a_jump_that_is_not_followed_leads_to_code_that_others_reach() {
    judge(
        A64,
        "fn f\n stp x29, x30, [sp, #-16]!\n cbz x3, 5f\n sub sp, sp, #16\n adrp x1, T\n add x1, x1, :lo12:T\n ldrsw x2, [x1, x0, lsl #2]\n\
         add x2, x2, x1\n add x2, x2, #8\n br x2\n 4: add sp, sp, #16\n nop\n 5: nop | not sp+16 ra=c-8\n ldp x29, x30, [sp], #16\n ret\n end\n\
         .section .rodata\n .p2align 2\n T: .word 4b - T - 8, 5b - T - 8",
    );
    judge(
        A32,
        "fn f\n push {r11, lr}\n cmp r3, #0\n beq 5f\n sub sp, sp, #16\n rsb r0, r0, #0\n ldr pc, [pc, r0, lsl #3]\n nop\n\
         .long 4f, 0, 5f\n 4: add sp, sp, #16\n 5: nop | not sp+8 ra=c-4\n pop {r11, pc}\n end",
    );
}

/// A jump by a pointer with the state of an entry may read a table that its function names.
#[test]
fn a_jump_with_the_state_of_an_entry_may_read_a_table() {
    for change in ["mov x29, xzr", "ldr x29, [x29]"] {
        judge(
            A64,
            &format!(
                "fn f\n cbz x0, 5f\n {change}\n adrp x1, T\n add x1, x1, :lo12:T\n ldr x2, [x1]\n br x2\n 5: nop | not sp+0 fp=same\n ret\n end\n\
                 .section .rodata\n .p2align 3\n T: .quad 5b"
            ),
        );
    }
    judge(
        A64,
        "fn f\n cbz x0, 4f\n adrp x1, T\n add x1, x1, :lo12:T\n ldr x2, [x1]\n br x2\n 4: sub sp, sp, #16\n 5: nop | not sp+16\n add sp, sp, #16\n ret\n end\n\
         .section .rodata\n .p2align 3\n T: .quad 5b",
    );
    judge(
        A64,
        "fn f\n cbz x0, 4f\n adrp x1, T\n add x1, x1, :lo12:T\n ldrsw x2, [x1]\n add x2, x2, x1\n br x2\n 4: sub sp, sp, #16\n 5: nop | not sp+16\n add sp, sp, #16\n ret\n end\n\
         .section .rodata\n .p2align 2\n T: .word 5b - T",
    );
}

/// A way from elsewhere may bring another target to a jump after an indexed load.
#[test]
fn a_jump_that_other_code_leads_to_is_not_by_a_table_alone() {
    judge(
        A64,
        "fn f\n cbz x3, 6f\n adrp x1, T\n add x1, x1, :lo12:T\n ldr x2, [x1, x0, lsl #3]\n 3: br x2\n 6: mov x2, x4\n b 3b\n 4: b 4b\n end\n\
         fn g\n stp x29, x30, [sp, #-16]!\n cbz x5, 2f\n sub sp, sp, #16\n bl f\n 2: nop | not sp+16 ra=c-8\n 5: b 5b\n end\n\
         .section .rodata\n .p2align 3\n T: .quad 4b",
    );
}

/// The stack pointer that a callee computes in another register is not one that it loads.
#[test]
fn a_stack_pointer_that_is_computed_elsewhere_is_not_one_that_is_loaded() {
    for compute in ["sub x9, sp, x0", "mov x9, sp\n add x9, x9, x0"] {
        judge(
            A64,
            &format!(
                "fn g\n {compute}\n mov sp, x9\n ret\n end\n fn f\n stp x29, x30, [sp, #-16]!\n bl g\n nop | not sp+16 ra=c-8\n ldp x29, x30, [sp], #16\n ret\n end"
            ),
        );
    }
}

/// A callee that jumps to a distance from its return address does not return to the next instruction.
#[test]
fn a_jump_to_a_sum_with_the_return_address_is_not_a_call() {
    for target in [
        "add x9, x30, #4",
        "add x9, x30, x0",
        "str x30, [sp, #-16]!\n ldr x9, [sp], #16\n add x9, x9, #4",
    ] {
        judge(
            A64,
            &format!(
                "fn skip\n {target}\n br x9\n end\n fn f\n stp x29, x30, [sp, #-16]!\n bl skip\n sub sp, sp, #16\n nop | not sp+32 ra=c-8\n add sp, sp, #16\n\
                 ldp x29, x30, [sp], #16\n ret\n end"
            ),
        );
    }
    judge(
        A32,
        "fn skip\n add r3, lr, #4\n bx r3\n end\n fn f\n push {r11, lr}\n bl skip\n sub sp, sp, #16\n nop | not sp+24 ra=c-4\n add sp, sp, #16\n pop {r11, pc}\n end",
    );
}

/// A jump by a pointer whose link register is a constant is a call.
#[test]
fn a_jump_by_a_pointer_with_a_constant_link_register_goes_to_the_pointer() {
    judge(
        A64,
        "fn f\n stp x29, x30, [sp, #-16]!\n mov x10, sp\n adr x30, 1f\n br x9\n 1: mov sp, x10\n nop | not sp+16 ra=c-8\n ldp x29, x30, [sp], #16\n ret\n end",
    );
    judge(
        A32,
        "fn f\n push {r11, lr}\n mov r12, sp\n mov lr, pc\n bx r3\n mov sp, r12\n nop | not sp+8 ra=c-4\n pop {r11, pc}\n end",
    );
}

/// A call that is not executed continues at the next instruction, where no code may be.
#[test]
fn a_call_under_a_condition_may_leave_its_function() {
    judge(
        A32,
        "fn f\n push {r11, lr}\n bl g\n nop | not sp+8 ra=c-4\n pop {r11, pc}\n end\n fn h\n 3: b 3b\n end\n .section .other, \"ax\"\n fn g\n cmp r0, #0\n blne h\n .size g, . - g + 4",
    );
}
