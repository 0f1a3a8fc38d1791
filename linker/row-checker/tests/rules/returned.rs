//! Functions that a return enters: the first code of a task, and the code that a signal handler returns to.

use super::support::Set::X86;
use super::support::judge;

/// Their address is taken, no directives describe them, and what they do shows that they are not called.
#[test]
fn functions_that_do_not_return_may_not_be_called() {
    // As a usual switch of tasks enters it.
    let code = |task: &str| {
        format!(
            "fn switch\n mov %rsp, (%rdi)\n mov (%rsi), %rsp\n ret\n end\n {task}\n\
             fn _start\n lea task(%rip), %rcx\n mov %rcx, 16(%rax)\n call switch\n hlt\n end"
        )
    };
    judge(
        X86,
        &code(
            "fn task\n pop %rdi | not sp+8\n call *%rbx | not sp+0\n mov $60, %eax\n syscall\n hlt\n end",
        ),
    );
    // Directives describe the function as called, or it returns.
    judge(
        X86,
        &code(
            "fde\n fn task\n pop %rdi | sp+8\n push %rdi\n call *%rbx | sp+8\n hlt\n end\n endfde",
        ),
    );
    judge(
        X86,
        &code("fn task\n pop %rdi | sp+8\n push %rdi\n call *%rbx | sp+8\n ret\n end"),
    );
    judge(
        X86,
        "fn restorer\n mov $15, %eax | not sp+8\n syscall | not sp+8\n end\n .section .rodata\n .quad restorer",
    );
    // It is called.
    judge(
        X86,
        "fn exit\n mov $60, %eax | sp+8\n syscall | sp+8\n end\n fn f\n call exit\n end\n .section .rodata\n .quad exit",
    );
    // Any other function that does not return may be called.
    judge(
        X86,
        "fn endless\n push %rbx | sp+8; not sp+16\n 3: jmp 3b | sp+16\n end\n .section .rodata\n .quad endless",
    );
}

/// The address of the instruction behind it is a place to go to, unless the instruction reads the program counter.
#[test]
fn constants_name_the_next_instruction() {
    for name in ["movq $1f, 8(%rdi)", "mov $1f, %eax", "movabs $1f, %rax"] {
        judge(
            X86,
            &format!(
                "fn f\n push %rbx\n {name}\n 1: nop | not sp+16; not sp+8\n pop %rbx\n ret\n end"
            ),
        );
    }
}

/// Code pushes the address of a function and returns to it, with a stack that depends on the way.
#[test]
fn functions_that_code_returns_to_are_not_called() {
    for push in ["push $h", "lea h(%rip), %rax\n push %rax"] {
        judge(
            X86,
            &format!(
                "fn f\n mov %rsp, 8(%rdi)\n push %rbx\n test %edi, %edi\n jz 1f\n push %rbx\n 1: {push}\n ret\n end\n\
                 fn h\n nop | not sp+8; not sp+16\n mov 8(%rdi), %rsp\n ret\n end"
            ),
        );
    }
    // It is an argument.
    judge(
        X86,
        "fn f\n push $h\n call g | sp+16\n pop %rax\n ret\n end\n fn g\n ret\n end\n fn h\n nop | sp+8; not sp+16\n ret\n end",
    );
}
