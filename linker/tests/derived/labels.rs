//! Labels inside of functions, and functions that return by a thunk: code that the search takes for unreached, or for functions.

use super::{AARCH64, ARM, X86_64, judge};

#[test]
fn label_inside_a_function_keeps_its_frame_x86_64() {
    judge(
        "derived-label-x86_64",
        X86_64,
        "
sum:
 push %rbx  | sp+8
 xor %eax, %eax | sp+16
 mov %rdi, %rbx | sp+16
again:
 add (%rbx), %rax | sp+16
 lea 8(%rbx), %rbx | sp+16
 cmp %rsi, %rbx | sp+16
 jb again | sp+16
finish:
 pop %rbx | sp+16
 ret | sp+8
outer:
 sub $40, %rsp | sp+8
 mov %rsp, %rdi | sp+48
 lea 32(%rsp), %rsi | sp+48
 call sum | sp+48
 add $40, %rsp | sp+48
 ret | sp+8
",
    );
}

#[test]
fn label_inside_a_function_keeps_its_frame_aarch64() {
    judge(
        "derived-label-aarch64",
        AARCH64,
        "
sum:
 stp x19, x20, [sp, #-16]! | sp+0
 mov x19, x0 | sp+16
 mov x20, #0 | sp+16
again:
 ldr x2, [x19], #8 | sp+16
 add x20, x20, x2 | sp+16
 cmp x19, x1 | sp+16
 b.lo again | sp+16
finish:
 mov x0, x20 | sp+16
 ldp x19, x20, [sp], #16 | sp+16
 ret | sp+0
outer:
 stp x29, x30, [sp, #-48]! | sp+0
 mov x29, sp | sp+48
 add x0, sp, #16 | sp+48
 add x1, sp, #48 | sp+48
 bl sum | sp+48
 ldp x29, x30, [sp], #48 | sp+48
 ret | sp+0
",
    );
}

#[test]
fn label_inside_a_function_keeps_its_frame_arm() {
    judge(
        "derived-label-arm",
        ARM,
        "
sum:
 push {r4, r5} | sp+0
 mov r4, r0 | sp+8
 mov r5, #0 | sp+8
again:
 ldr r2, [r4], #4 | sp+8
 add r5, r5, r2 | sp+8
 cmp r4, r1 | sp+8
 blo again | sp+8
finish:
 mov r0, r5 | sp+8
 pop {r4, r5} | sp+8
 bx lr | sp+0
outer:
 push {r4, lr} | sp+0
 sub sp, sp, #16 | sp+8
 mov r0, sp | sp+24
 add r1, sp, #16 | sp+24
 bl sum | sp+24
 add sp, sp, #16 | sp+24
 pop {r4, pc} | sp+8
",
    );
}

/// Each function returns by a jump to code that removes its own return address. The loop of `outer` enlarges the frame in each turn.
#[test]
fn function_that_returns_by_a_thunk_returns() {
    judge(
        "derived-thunk",
        X86_64,
        "
.type leave_by, %function
leave_by:
 call 2f | sp+8
1: pause
 lfence
 jmp 1b
2: lea 8(%rsp), %rsp | sp+16
 ret | sp+8
.size leave_by, . - leave_by
.type small, %function
small:
 mov $3, %eax | sp+8
 jmp leave_by | sp+8
.size small, . - small
.type outer, %function
outer:
 push %rbp | sp+8
 mov %rsp, %rbp | sp+16
 push %rbx | sp+16
 mov %edi, %ebx | sp+24
1: sub $32, %rsp | fp+16
 call small | fp+16
 dec %ebx | fp+16
 jnz 1b | fp+16
 mov -8(%rbp), %rbx | fp+16
 leave | fp+16
 jmp leave_by | sp+8
.size outer, . - outer
",
    );
}

/// Only a symbol marks `dead` as a function. Its frame is not known, and it gets no row. The stated frames of `outer` show that the code around it
/// is followed.
#[test]
fn code_that_only_a_symbol_marks_has_no_row() {
    judge(
        "derived-dead",
        X86_64,
        "
.type dead, %function
dead:
 push %rax | -
1: call outer | -
 jmp 1b | -
.size dead, . - dead
.type outer, %function
outer:
 push %rbx | sp+8
 pop %rbx | sp+16
 ret | sp+8
.size outer, . - outer
",
    );
}

/// Code of a kernel starts tasks at the label `resume`, so that its rows are unknown. Code before the label keeps its rows.
#[test]
fn label_after_the_call_in_trap_code_keeps_the_rows_before_it() {
    for (name, declared) in [
        ("derived-label-trap", ""),
        ("derived-label-trap-typed", ".type resume, @function"),
    ] {
        judge(
            name,
            X86_64,
            &format!(
                "
.type outer, @function
outer:
 lea entry(%rip), %rdi
 lea resume(%rip), %rsi
 jmp .
.size outer, . - outer
.type handle, @function
handle:
 ret | sp+8
.size handle, . - handle
entry:
 push $14 | (sp+32) trap
 jmp save | (sp+40) trap
.globl save
save:
 push %rdi | (sp+40) trap
 mov %rsp, %rdi | (sp+48) trap
 call handle | (sp+48) trap
{declared}
.globl resume
resume:
 pop %rdi
 add $16, %rsp
 iretq
"
            ),
        );
    }
}

/// A function that is only called through a pointer follows a call that returns. Control does not run into the function.
#[test]
fn function_after_a_call_at_the_end_of_another_one_keeps_its_rows() {
    judge(
        "derived-label-function",
        X86_64,
        "
.type outer, @function
outer:
 lea second(%rip), %rdi
 call first | sp+8
 ret | sp+8
.size outer, . - outer
.type leaf, @function
leaf:
 ret | sp+8
.size leaf, . - leaf
.type first, @function
first:
 push %rbx | sp+8
 call leaf | sp+16
.size first, . - first
.type second, @function
second:
 push %rbx | sp+8
 pop %rbx | sp+16
 ret | sp+8
.size second, . - second
",
    );
}

/// A function that never returns, and that only a table names, as commands of a shell are. A jump that may lead anywhere leaves the rows unproven. Other
/// code that nothing calls has no row.
#[test]
fn function_that_only_a_table_names_has_rows() {
    judge(
        "derived-table-of-pointers",
        X86_64,
        "
.type outer, @function
outer:
 push %rbx | sp+8
 jmp *%rdi | sp+16
.size outer, . - outer
.type command, @function
command:
 sub $8, %rsp | sp+8 unproven
 lea table(%rip), %rdi | sp+16 unproven
 call fatal | sp+16 unproven
.size command, . - command
.type fatal, @function
fatal:
 hlt | sp+8
 jmp fatal | sp+8
.size fatal, . - fatal
.type unnamed, @function
unnamed:
 hlt | -
 jmp unnamed | -
.size unnamed, . - unnamed
.section .rodata, \"a\"
.balign 8
table: .quad command
",
    );
}

/// A table of exception vectors is no function, even if a word of data contains its address.
#[test]
fn exception_vectors_in_a_table_have_no_rows_of_a_function() {
    judge(
        "derived-table-of-vectors",
        AARCH64,
        "
.type outer, @function
outer:
 str x30, [sp, #-16]! | sp+0
 br x0 | sp+16
.size outer, . - outer
.balign 16
.type command, @function
command:
 stp x29, x30, [sp, #-16]! | sp+0 unproven
 bl fatal | sp+16 unproven
.size command, . - command
.type fatal, @function
fatal:
 wfi | sp+0
 b fatal | sp+0
.size fatal, . - fatal
.balign 2048
.type vectors, @function
vectors:
 sub sp, sp, #32 | -
 bl fatal | -
.size vectors, . - vectors
.section .rodata, \"a\"
.balign 8
 .quad command, vectors
",
    );
}
