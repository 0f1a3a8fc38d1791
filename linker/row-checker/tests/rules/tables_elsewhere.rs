//! Jump tables in code, tables that lead to other functions, and words of tables that are also pointers.

use super::support::Set::{A32, A64, T32, X86};
use super::support::judge;

/// The entries of tables among the instructions are followed.
#[test]
fn tables_in_code_are_read() {
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n test %esi, %esi\n je 2f\n lea T(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n add %rdx, %rax\n jmp *%rax\n\
         T: .long one - T, two - T\n 2: push $1\n one: nop | not sp+24; not sp+16\n leave\n ret\n two: leave\n ret\n end\n fn k\n call f\n ret\n end",
    );
    judge(
        A64,
        "fn f\n stp x29, x30, [sp, #-16]!\n mov x29, sp\n cbz x1, 2f\n adr x2, T\n cbz x3, 3f\n mov x2, x4\n 3: ldrb w3, [x2, w0, uxtw]\n adr x4, T\n\
         add x3, x4, w3, sxtb #2\n br x3\n 2: sub sp, sp, #16\n\
         one: nop | not sp+32 ra=c-8; not sp+16 ra=c-8\n mov sp, x29\n two: ldp x29, x30, [sp], #16\n ret\n\
         T: .byte (one - T) / 4, (two - T) / 4\n .p2align 2\n end\n fn k\n bl f\n ret\n end",
    );
}

/// Addresses of T32 code have bit 0 set, also in tables.
#[test]
fn tables_of_addresses_of_t32_code_are_read() {
    judge(
        T32,
        "fn f\n push {r4, lr}\n cmp r1, #0\n beq 2f\n adr r2, T\n ldr.w r2, [r2, r0, lsl #2]\n bx r2\n .p2align 2\n T: .word one + 1, two + 1\n\
         2: push {r0, r1}\n one: nop | not sp+16 ra=c-4; not sp+8 ra=c-4\n add sp, sp, #8\n pop {r4, pc}\n two: pop {r4, pc}\n end\n fn k\n bl f\n bx lr\n end",
    );
}

/// A small table may lead to the start of a function that nothing calls, and goes on behind that entry.
#[test]
fn small_tables_lead_to_other_functions() {
    judge(
        A64,
        "fn f\n stp x29, x30, [sp, #-16]!\n mov x29, sp\n cbz x1, 2f\n adrp x1, T\n add x1, x1, :lo12:T\n ldrb w1, [x1, w0, uxtw]\n adr x2, one\n\
         add x1, x2, w1, uxtb #2\n br x1\n one: b 9f\n 2: sub sp, sp, #16\n two: nop | not sp+32 ra=c-8; not sp+16 ra=c-8\n mov sp, x29\n\
         9: ldp x29, x30, [sp], #16\n ret\n end\n fn k\n nop | not sp+0\n ldp x29, x30, [sp], #16\n ret\n end\n\
         .section .rodata\n T: .byte 0, (k - one) / 4, (two - one) / 4",
    );
}

/// A word of a table that leads to another function may also be the pointer by which this is called.
#[test]
fn a_function_in_a_table_may_also_be_called() {
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n jmp *T(,%rdi,8)\n one: leave\n ret\n two: leave\n ret\n end\n fn g\n nop | not sp+16\n leave\n ret\n end\n\
         fn h\n call *T+8\n ret\n end\n .section .rodata\n T: .quad one, g, two",
    );
}

/// The address of a label is a pointer, unless a jump adds entries of a table to it.
#[test]
fn a_number_does_not_explain_the_address_of_a_label() {
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n lea one(%rip), %rcx\n mov %rcx, hook(%rip)\n lea Z(%rip), %rdx\n mov (%rdx), %edx\n mov (%rsi), %rax\n\
         jmp *%rax\n one: nop | not sp+16\n leave\n ret\n end\n fn h\n sub $40, %rsp\n jmp *hook(%rip)\n end\n\
         fn k\n call f\n call h\n ret\n end\n .data\n hook: .quad 0\n .section .rodata\n Z: .long 0",
    );
}

/// Where no table is found, an entry may lead to any instruction.
#[test]
fn a_table_that_is_not_found_leads_anywhere_in_its_function() {
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n test %esi, %esi\n je 2f\n lea T(%rip), %rdx\n movzwl (%rdx,%rdi,2), %eax\n mov base(%rip), %rcx\n add %rcx, %rax\n\
         jmp *%rax\n 2: push $1\n one: push $2\n two: nop | not sp+32; not sp+16\n leave\n ret\n end\n fn k\n call f\n ret\n end\n\
         .section .rodata\n T: .short two - f + 1, two - f + 1\n .p2align 3\n base: .quad f - 1",
    );
}

/// A jump leads only to its tables if its own load reads them, and the index counts their entries.
#[test]
fn a_table_belongs_to_a_jump_if_its_load_reads_it_entry_by_entry() {
    // A second table has addresses of 4 bytes. Records of 8 bytes contain an entry of 4 bytes. The index is multiplied before the load.
    for (jump, table) in [
        (
            "mov U(,%rsi,4), %eax\n jmp *%rax",
            "T: .quad one, one\n U: .long one, two",
        ),
        (
            "lea U(%rip), %rcx\n movslq (%rcx,%rdi,8), %rax\n add %rcx, %rax\n jmp *%rax",
            "U: .long one - U, 5, two - U, 7",
        ),
        (
            "lea U(%rip), %rcx\n shl $3, %rdi\n movslq (%rcx,%rdi), %rax\n add %rcx, %rax\n jmp *%rax",
            "U: .long one - U, 5, two - U, 7",
        ),
        (
            "lea U(%rip), %rcx\n add %rdi, %rdi\n movslq (%rcx,%rdi,4), %rax\n add %rcx, %rax\n jmp *%rax",
            "U: .long one - U, 5, two - U, 7",
        ),
    ] {
        judge(
            X86,
            &format!(
                "fn f\n push %rbx\n mov %rsp, %rbx\n test %esi, %esi\n js 2f\n {jump}\n one: mov %rbx, %rsp\n pop %rbx\n ret\n\
                 2: sub $16, %rsp\n nop\n two: nop | not sp+32\n mov %rbx, %rsp\n pop %rbx\n ret\n 3: jmp *T(,%rdi,8)\n end\n fn k\n call f\n ret\n end\n\
                 .section .rodata\n {table}\n {}",
                if table.starts_with('T') {
                    ""
                } else {
                    "T: .quad one, one"
                }
            ),
        );
    }
    // The same, and a jump by an entry of one of two tables.
    for (jump, table) in [
        (
            "adr x2, T\n lsl x0, x0, #3\n ldrsw x3, [x2, x0]\n add x3, x3, x2\n br x3",
            "T: .word one - T, 5, two - T, 7",
        ),
        (
            "adr x2, T\n adr x3, U\n adr x6, one\n ldrsw x4, [x2, x0, lsl #2]\n ldrsw x5, [x3, x0, lsl #2]\n csel x4, x4, x5, eq\n\
             add x4, x4, x6\n br x4",
            "T: .word 0, two - one\n .word 0x12345678\n U: .word 0, 0",
        ),
    ] {
        judge(
            A64,
            &format!(
                "fn f\n stp x19, x30, [sp, #-16]!\n mov x19, sp\n cmp x1, #0\n b.lt 2f\n {jump}\n one: mov sp, x19\n ldp x19, x30, [sp], #16\n ret\n\
                 2: sub sp, sp, #16\n nop\n two: nop | not sp+32 ra=c-8\n mov sp, x19\n ldp x19, x30, [sp], #16\n ret\n end\n fn k\n bl f\n ret\n end\n\
                 .section .rodata\n .p2align 2\n {table}"
            ),
        );
    }
    judge(
        A32,
        "fn f\n push {r4, lr}\n mov r4, sp\n cmp r1, #0\n blt 2f\n adr r2, T\n lsl r0, r0, #3\n ldr r3, [r2, r0]\n add pc, r2, r3\n\
         T: .word one - T, 5, two - T, 7\n one: mov sp, r4\n pop {r4, pc}\n\
         2: sub sp, sp, #16\n nop\n two: nop | not sp+24 ra=c-4\n mov sp, r4\n pop {r4, pc}\n end\n fn k\n bl f\n bx lr\n end",
    );
}
