//! Call frame information that covers a part of a function or is wrong, and trap code in several parts.

use super::{X86_64, judge};

/// A caller of `outer`, which waits for a bit with one register on the stack.
fn program(outer: &str) -> String {
    format!(
        "
.type outer, %function
outer:
 {outer}
.size outer, . - outer
"
    )
}

#[test]
fn directives_begin_after_a_push() {
    judge(
        "derived-late",
        X86_64,
        &program(
            "push %rbx | sp+8
 .cfi_startproc
 mov %rdi, %rbx | sp+16
1: mov (%rbx), %eax | sp+16
 test $2, %al | sp+16
 jz 1b | sp+16
 pop %rbx | sp+16
 ret | sp+8
 .cfi_endproc",
        ),
    );
}

#[test]
fn directives_end_in_the_middle() {
    judge(
        "derived-early",
        X86_64,
        &program(
            ".cfi_startproc
 push %rbx | sp+8
 .cfi_adjust_cfa_offset 8
 mov %rdi, %rbx | sp+16
 call 3f | sp+16
 .cfi_endproc
1: mov (%rbx), %eax | sp+16
 test $2, %al | sp+16
 jz 1b | sp+16
 pop %rbx | sp+16
 ret | sp+8
.size outer, . - outer
.type three, %function
three:
3: mov $3, %eax | sp+8
 ret | sp+8
.size three, . - three
.type rest, %function
rest:
 ret",
        ),
    );
}

/// Nothing leads to the second entry, which is before the common part.
#[test]
fn trap_code_with_a_hole_keeps_its_mark() {
    let program = "
.type outer, %function
outer:
 ret | sp+8
.size outer, . - outer
entries:
.Lfirst:
 push $0 | (sp+24) trap
 push $3 | (sp+32) trap
 jmp .Lcommon | (sp+40) trap
 push $0 | -
 push $4 | -
 hlt | -
.Lcommon:
 push %rax | (sp+40) trap
 push %rcx | (sp+48) trap
 call outer | (sp+56) trap
 pop %rcx | (sp+56) trap
 pop %rax | (sp+48) trap
 add $16, %rsp | (sp+40) trap
 iretq | (sp+24) trap
.data
 .quad .Lfirst
";
    judge("derived-hole", X86_64, program);
}

/// The author says that `outer` has no caller from the second instruction on. These rows stay, without proof.
#[test]
fn row_without_a_caller_is_not_replaced() {
    judge(
        "derived-outermost",
        X86_64,
        &program(
            ".cfi_startproc
 nop | sp+8
 .cfi_undefined rip
 nop | none unproven
 ret | none unproven
 .cfi_endproc",
        ),
    );
}

/// A call through a thunk inside of the function. The directives do not mention the push. The search takes the row at the inner call for wrong,
/// which the checker accepts.
#[test]
fn row_that_the_checker_accepts_is_not_reported() {
    judge(
        "derived-reported",
        X86_64,
        &program(
            ".cfi_startproc
 push %rbx | sp+8
 lea rest(%rip), %rbx | sp+16
 jmp 2f | sp+16
4: call 1f | sp+24
3: pause
 jmp 3b
1: mov %rbx, (%rsp) | sp+32
 ret
2: call 4b | sp+16
 nop
 pop %rbx
 ret
 .cfi_endproc
.size outer, . - outer
.type rest, %function
rest:
 ret",
        ),
    );
}
