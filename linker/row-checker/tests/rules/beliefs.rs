//! Programs for x86-64 that run, and have a wrong row which follows only from a belief about the code.

use super::support::Set::X86;
use super::support::judge;

/// The rest of a function that calls `g`, whose stack pointer is wrong if `g` breaks the convention.
const CALLER: &str =
    "fn f\n push %rbp\n mov %rsp, %rbp\n call g\n nop | not sp+16\n leave\n ret\n end";

/// The code between a jump through `T` and its target `one`, to which another way leads with a larger frame.
const TARGETS: &str = "2: push $1\n one: nop | not sp+24\n leave\n ret\n two: leave\n ret\n end";

/// A jump through the table of numbers `T`.
const JUMP: &str = "fn f\n push %rbp\n mov %rsp, %rbp\n test %esi, %esi\n je 2f\n lea T(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n add %rdx, %rax\n";

#[test]
fn flags_that_an_instruction_on_memory_sets_are_not_those_of_a_comparison() {
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n lea -32(%rsp), %rax\n cmp %rax, %rsp\n addq $1, (%rdi)\n jne 3f\n nop | not sp+48\n 3: leave\n ret\n end",
    );
}

#[test]
fn stores_by_others_overwrite_addresses_of_the_stack() {
    for store in [
        "lea (%rsp), %rsi\n xor %eax, %eax\n syscall",
        "int $0x80",
        "vmcall",
        "mov %rdi, stack(%rip)",
        "mov %rdi, %gs:0",
        "mov %rdi, stack",
        "lea 16(%rsp), %rax\n clzero",
        "lea 8(%rsp), %rdi\n mov $2, %ecx\n std\n rep stosq\n cld",
        "lea 8(%rsp), %rdi\n std\n rep stosq\n cld",
    ] {
        judge(
            X86,
            &format!(
                "fn f\n push %rbp\n mov %rsp, %rbp\n push %rsp\n {store}\n mov -8(%rbp), %rsp\n nop | not sp+16\n leave\n ret\n end\n .data\n stack: .quad 0"
            ),
        );
    }
}

#[test]
fn a_guest_leaves_no_register() {
    judge(
        X86,
        "fn f\n push %rbx\n vmrun\n nop | sp+16; not sp+16 fp=same\n pop %rbx\n ret\n end",
    );
}

#[test]
fn instructions_with_operands_of_16_bits_move_the_stack_pointer_less() {
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n push $1\n .byte 0x66, 0xc9\n nop | not sp+8\n add $6, %rsp\n ret\n end",
    );
}

#[test]
fn a_stack_pointer_that_is_computed_is_not_one_that_is_loaded() {
    for compute in [
        "lea (%rsp,%rdi), %rax",
        "mov %rsp, %rax\n sub %rdi, %rax",
        "lea (%rsp,%rdi), %rax\n add %rsi, %rax",
    ] {
        judge(
            X86,
            &format!("fn g\n pop %rcx\n {compute}\n mov %rax, %rsp\n jmp *%rcx\n end\n {CALLER}"),
        );
    }
}

/// A jump from a function without a frame through a table is a call in the last place only if all registers are as they were.
#[test]
fn a_jump_that_changes_a_register_follows_its_table() {
    judge(
        X86,
        "fn f\n mov T(,%rdi,8), %rax\n test %esi, %esi\n je one\n mov %rbp, %r8\n mov $1, %ebp\n jmp 3f\n nop\n 3: jmp *%rax\n\
         one: nop | sp+8; not sp+8 fp=same\n ret\n end\n .section .rodata\n T: .quad one, one",
    );
}

#[test]
fn a_jump_through_a_stored_target_follows_tables_of_numbers() {
    judge(
        X86,
        &format!(
            "{JUMP} mov %rax, -8(%rbp)\n jmp *-8(%rbp)\n {TARGETS}\n .section .rodata\n T: .long one - T, two - T"
        ),
    );
}

#[test]
fn a_table_is_not_cut_where_its_middle_is_named() {
    judge(
        X86,
        &format!(
            "{JUMP} jmp *%rax\n {TARGETS}\n fn g\n lea T+4(%rip), %rdx\n jmp *%rsi\n end\n .section .rodata\n T: .long two - T, one - T"
        ),
    );
}

#[test]
fn a_table_of_any_length_is_read() {
    judge(
        X86,
        &format!(
            "{JUMP} jmp *%rax\n {TARGETS}\n .section .rodata\n T: .rept 4096\n .long two - T\n .endr\n .long one - T"
        ),
    );
}

/// A jump by a pointer leads to each instruction of the code that nothing else reaches.
#[test]
fn a_jump_leads_into_the_middle_of_code_that_nothing_reaches() {
    judge(
        X86,
        "fn k\n call f\n ret\n end\n fn f\n push %rbx\n lea 1f(%rip), %rax\n lea (%rdi,%rdi), %rdx\n sub %rdx, %rax\n jmp *%rax\n push $1 | not sp+16\n push $1 | not sp+24\n\
         push $1 | not sp+32\n 1: lea (%rsp,%rdi,8), %rsp\n pop %rbx\n ret\n end",
    );
}

/// A jump by a pointer leads to functions whose address is taken, also if its function has code that nothing reaches, and if they are called.
#[test]
fn a_jump_leads_to_functions_that_are_called_too() {
    for rest in ["end", "cld\n ret\n end"] {
        judge(
            X86,
            &format!(
                "fn k\n call f\n call g\n ret\n end\n fn f\n sub $40, %rsp\n jmp *%rax | sp+48\n {rest}\n\
                 fn g\n push %rbx | not sp+8\n pop %rbx\n ret\n end\n .section .rodata\n .quad g"
            ),
        );
    }
}

#[test]
fn trap_code_jumps_to_functions_that_are_not_called() {
    judge(
        X86,
        "fn entry trap\n push %rax | (sp+24) ra=(sp+0)\n test %eax, %eax\n je 3f\n jmp *T(,%rax,8)\n 3: pop %rax\n iretq\n end\n\
         fn g\n push %rbx | not sp+8\n 3: jmp 3b\n end\n .section .rodata\n .quad entry\n T: .quad g",
    );
    // A trap entry that dead code calls: nothing shows that the code is dead.
    judge(
        X86,
        "fn entry trap\n push %rax | (sp+24) ra=(sp+0)\n jmp common\n end\n fn common trap\n pop %rax | not (sp+32) ra=(sp+8)\n iretq\n end\n\
         fn g\n push %rax | not sp+8\n jmp common\n end\n fn h bare\n jmp 3f\n call g\n 3: ret\n end\n .section .rodata\n .quad entry, g",
    );
}

#[test]
fn code_without_a_caller_that_jumps_to_a_constant_calls_nothing() {
    for name in ["lea g(%rip), %rax", "mov $g, %rax", "movabs $g, %rax"] {
        judge(
            X86,
            &format!(
                "fn _start\n lea stack(%rip), %rsp | none\n {name} | none\n jmp *%rax | none\n end\n fn g\n push %rbx | not sp+8\n 3: jmp 3b\n end\n .data\n stack: .quad 0"
            ),
        );
    }
}

/// A row states that there is no caller: that is claimed of a function's start, not of any address.
#[test]
fn a_row_without_a_caller_does_not_enter_the_middle_of_a_function() {
    let rest = "jmp *%rax\n one: nop | not none\n pop %rbx | not none\n ret\n end";
    judge(
        X86,
        &format!("fn f\n push %rbx\n lea one(%rip), %rax\n {rest}"),
    );
    judge(
        X86,
        &format!("fn f\n push %rbx\n mov hook(%rip), %rax\n {rest}\n .data\n hook: .quad one"),
    );
}

/// The address that an earlier jump went to is not that of a later return.
#[test]
fn a_return_that_is_not_listed_goes_to_no_address_of_before() {
    for back in ["iretl", "sysretq"] {
        judge(
            X86,
            &format!("fn g\n lea 1f(%rip), %rax\n jmp *%rax\n 1: cld\n {back}\n end\n {CALLER}"),
        );
    }
}

/// A pushed address may be used elsewhere, too.
#[test]
fn an_address_that_is_pushed_is_still_taken() {
    judge(
        X86,
        "fn f\n push %rbx\n lea 1f(%rip), %rax\n mov %rax, hook(%rip)\n push %rax\n ret\n 1: nop | not sp+16\n pop %rbx\n ret\n end\n\
         fn k\n push $1\n push $2\n jmp *hook(%rip)\n end\n .data\n hook: .quad 0",
    );
}

#[test]
fn code_that_was_called_has_a_caller_after_it_has_moved_the_stack_pointer() {
    judge(
        X86,
        "fn k\n call f\n ret\n end\n fn f\n sub %rdi, %rsp\n jmp s\n end\n fn s\n nop | not none\n 1: jmp 1b\n end",
    );
}

#[test]
fn code_that_returns_to_its_caller_has_one_after_a_switch_of_stacks() {
    judge(
        X86,
        "fn k\n call f\n ret\n end\n fn f\n mov %rsp, saved(%rip)\n mov %rdi, %rsp\n call *%rsi\n mov saved(%rip), %rsp\n jmp s\n end\n\
         fn s\n nop | not none\n ret\n end\n .data\n saved: .quad 0",
    );
}

#[test]
fn a_local_subroutine_with_another_way_back_is_not_followed() {
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n call sub\n nop | not sp+16; not sp+24\n leave\n ret\n\
         sub: test %edi, %edi\n je 1f\n ret\n 1: pop (%rsi)\n push $0\n jmp *(%rsi)\n end\n fn k\n call f\n ret\n end",
    );
}
