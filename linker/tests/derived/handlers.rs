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
