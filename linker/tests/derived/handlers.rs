//! Handlers of interrupts that never return, so that nothing in their code shows how they are entered.

use super::{X86_64, judge};

/// What LLVM makes of the convention `x86-interrupt`, without an error code and with one. They are recognised by what they save.
#[test]
fn rows_of_handlers_that_never_return_hold_if_the_processor_enters_them() {
    judge(
        "handlers-that-never-return",
        X86_64,
        "
.type outer, @function
outer:
 lea first(%rip), %rdi
 lea second(%rip), %rsi
 jmp .
.size outer, . - outer
.type first, @function
first:
 push %r11 | (sp+24) trap if entered
 push %rdi | (sp+32) trap if entered
 push %rax | (sp+40) trap if entered
 cld | (sp+48) trap if entered
1: hlt | (sp+48) trap if entered
 jmp 1b | (sp+48) trap if entered
.size first, . - first
.type second, @function
second:
 push %rax | (sp+32) trap if entered
 push %r11 | (sp+40) trap if entered
 push %rdi | (sp+48) trap if entered
 push %rax | (sp+56) trap if entered
 sub $8, %rsp | (sp+64) trap if entered
 cld | (sp+72) trap if entered
2: hlt | (sp+72) trap if entered
 jmp 2b | (sp+72) trap if entered
.size second, . - second
",
    );
}

/// Directives of a handler with an error code, as GCC writes them: the words that the processor pushes count as an argument and a return address.
/// A part of a function that only a jump enters starts with the same row, and is no handler.
#[test]
fn a_handler_with_an_error_code_has_no_row_of_a_called_function() {
    judge(
        "handlers-with-error-code",
        X86_64,
        "
.type outer, @function
outer:
 lea returns(%rip), %rdi
 lea stays(%rip), %rsi
 call work
 jmp .
.size outer, . - outer
.type returns, @function
returns:
.cfi_startproc
.cfi_def_cfa_offset 16
 push %rax | (sp+32) trap
.cfi_def_cfa_offset 24
 pop %rax | (sp+40) trap
.cfi_def_cfa_offset 16
 add $8, %rsp | (sp+32) trap
.cfi_def_cfa_offset 8
 iretq | (sp+24) trap
.cfi_endproc
.size returns, . - returns
.type stays, @function
stays:
.cfi_startproc
.cfi_def_cfa_offset 16
 push %rdx | (sp+32) trap if entered
.cfi_def_cfa_offset 24
1: hlt | (sp+40) trap if entered
 jmp 1b | (sp+40) trap if entered
.cfi_endproc
.size stays, . - stays
.type work, @function
work:
.cfi_startproc
 push %rbx | sp+8
.cfi_def_cfa_offset 16
 test %edi, %edi | sp+16
 jne part | sp+16
 pop %rbx | sp+16
.cfi_def_cfa_offset 8
 ret | sp+8
.cfi_endproc
.size work, . - work
.type part, @function
part:
.cfi_startproc
.cfi_def_cfa_offset 16
2: hlt | sp+16
 jmp 2b | sp+16
.cfi_endproc
.size part, . - part
",
    );
}
