//! Entries of exceptions that call the code which they share, as kernels after Plan 9 have them (x86-64).

use super::{X86_64, judge};

/// All entries are in one function, and each is found by its number. The shared code replaces the return address with the number of the exception.
#[test]
fn trap_code_that_stubs_call_has_rows() {
    judge(
        "stubs-in-one-function",
        X86_64,
        "
.type outer, @function
outer:
 lea stubs(%rip), %rdi
 call work
 jmp .
.size outer, . - outer
.balign 4096
.type stubs, @function
stubs:
 push $0 | (sp+24) trap
 call common | (sp+32) trap
.balign 8
 push $0
 call common
.balign 8
 call common
.balign 8
.size stubs, . - stubs
.type common, @function
common:
 sub $24, %rsp | (sp+40) trap
 mov %rbp, 16(%rsp) | (sp+64) trap
 mov %rdi, 8(%rsp) | (sp+64) trap
 mov %rax, (%rsp) | (sp+64) trap
 shrw $3, 24(%rsp) | (sp+64) trap
 movzbl 24(%rsp), %edi | (sp+64) trap
 mov %rdi, 24(%rsp) | (sp+64) trap
 cmpq $8, 48(%rsp) | (sp+64) trap
 je 1f | (sp+64) trap
 swapgs | (sp+64) trap
1: call work | (sp+64) trap
 mov 16(%rsp), %rbp | (sp+64) trap
 mov 8(%rsp), %rdi | (sp+64) trap
 mov (%rsp), %rax | (sp+64) trap
 add $40, %rsp | (sp+64) trap
 iretq | (sp+24) trap
.size common, . - common
.type work, @function
work:
 push %rbp | sp+8
 mov %rsp, %rbp | sp+16
 pop %rbp | sp+16
 ret | sp+8
.size work, . - work
",
    );
}

/// Each entry has a symbol, and a number follows the call. Exceptions with an error code enter the shared code elsewhere.
#[test]
fn trap_code_has_rows_for_stubs_with_and_without_an_error_code() {
    judge(
        "stubs-with-symbols",
        X86_64,
        "
.type outer, @function
outer:
 lea first(%rip), %rdi
 lea second(%rip), %rsi
 lea third(%rip), %rdx
 call work
 jmp .
.size outer, . - outer
.type first, @function
first:
 call without | (sp+24) trap
.size first, . - first
 .byte 0x90
.type second, @function
second:
 call with | (sp+32) trap
.size second, . - second
 .byte 0x91
.type third, @function
third:
 call without | (sp+24) trap
.size third, . - third
 .byte 0x92
.type with, @function
with:
 xchg %rax, (%rsp) | (sp+40) trap
 jmp 2f | (sp+40) trap
.size with, . - with
.type without, @function
without:
 push %rax | (sp+32) trap
 mov 8(%rsp), %rax | (sp+40) trap
2: movzbl (%rax), %eax | (sp+40) trap
 xchg %rax, (%rsp) | (sp+40) trap
 push %rdi | (sp+40) trap
 call work | (sp+48) trap
 pop %rdi | (sp+48) trap
 add $16, %rsp | (sp+40) trap
 iretq | (sp+24) trap
.size without, . - without
.type work, @function
work:
 push %rbx | sp+8
 pop %rbx | sp+16
 ret | sp+8
.size work, . - work
",
    );
}

/// A function takes what it returns to as an argument on the stack, like a stub, but its callers have frames of their own.
#[test]
fn a_function_with_a_frame_that_enters_a_task_is_called() {
    judge(
        "enters-a-task",
        X86_64,
        "
.type outer, @function
outer:
 call run | sp+8
 jmp .
.size outer, . - outer
.type run, @function
run:
 sub $40, %rsp | sp+8
 mov %rdi, (%rsp) | sp+48
 movq $8, 8(%rsp) | sp+48
 mov %rsi, 16(%rsp) | sp+48
 mov %rdx, 24(%rsp) | sp+48
 movq $0, 32(%rsp) | sp+48
 call enter | sp+48
.size run, . - run
.type enter, @function
enter:
 xor %eax, %eax | sp+8
 add $8, %rsp | sp+8
 iretq
.size enter, . - enter
",
    );
}
