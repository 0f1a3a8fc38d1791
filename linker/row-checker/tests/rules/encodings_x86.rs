//! Instructions after which less is known than their usual use suggests: x86-64.

use super::support::Set::X86;
use super::support::judge;

/// An instruction that loads the lower half of the stack pointer does not move it by the operand's size.
#[test]
fn loads_of_the_lower_half_of_the_stack_pointer_lose_it() {
    // pop %sp; leavew
    for (instruction, row) in [("0x66, 0x5c", "sp+22"), ("0x66, 0xc9", "sp+22")] {
        judge(
            X86,
            &format!(
                "fn f\n push %rbp\n mov %rsp, %rbp\n push $0\n .byte {instruction}\n nop | not {row}; not sp+24\n mov %rbp, %rsp\n pop %rbp\n ret\n end"
            ),
        );
    }
}

/// Processors from Intel and from AMD execute different instructions here.
#[test]
fn near_branches_with_16_bit_operands_may_do_anything() {
    for branch in [
        "0x66, 0x0f, 0x84, 0, 0, 0, 0",
        "0x66, 0xe9, 0, 0, 0, 0",
        "0x66, 0x74, 0",
        "0x2e, 0x66, 0x0f, 0x84, 0, 0, 0, 0",
    ] {
        judge(
            X86,
            &format!(
                "fn f\n push %rbp\n mov %rsp, %rbp\n test %edi, %edi\n .byte {branch}\n nop | not sp+16; not fp+16\n leave\n ret\n end"
            ),
        );
    }
    // As for accesses to thread-local variables.
    judge(
        X86,
        "fn g\n ret\n end\n fn f\n push %rbp\n mov %rsp, %rbp\n .byte 0x66, 0x66, 0x48, 0xe8\n .long g - . - 4\n nop | sp+16\n leave\n ret\n end",
    );
}

/// A far call leaves two words on the stack, so that what it calls is not entered as functions are.
#[test]
fn functions_that_a_far_call_may_call_are_not_entered_as_usual() {
    let code = |call: &str, row: &str| {
        format!(
            "fn f\n {call}\n ret\n end\n fn g\n push %rbx | {row}\n 1: jmp 1b\n end\n .data\n gate: .quad g, 8"
        )
    };
    judge(X86, &code(".byte 0x48\n lcall *gate(%rip)", "not sp+8"));
    judge(X86, &code("call *gate(%rip)", "sp+8"));
}

/// A far jump may lead to code of its function.
#[test]
fn a_far_jump_leads_to_the_blocks_of_its_function() {
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n test %esi, %esi\n je 2f\n ljmp *gate\n 2: push $1\n jmp one\n\
         one: nop | not sp+24; not sp+16\n leave\n ret\n end\n fn k\n call f\n ret\n end\n .data\n gate: .long one\n .word 8",
    );
}

/// An enclave returns with registers of its own.
#[test]
fn an_enclave_loses_all_registers() {
    for instruction in ["enclu", "getsec"] {
        judge(
            X86,
            &format!(
                "fn f\n push %rbp\n mov %rsp, %rbp\n {instruction}\n nop | not sp+16; not fp+16\n leave\n ret\n end"
            ),
        );
    }
}
