//! Where stacks begin that nobody declares: constants that code without a caller loads into the stack pointer.

use super::{AARCH64, ARM, X86_64, judge};

/// A program whose function `boot` has no caller, and consists of `code`. The stack begins at `stack`.
fn kernel(target: &str, code: &str) -> String {
    let column = match target {
        X86_64 => "rip",
        AARCH64 => "x30",
        _ => "lr",
    };
    let ret = match target {
        X86_64 | AARCH64 => "ret",
        _ => "bx lr",
    };
    format!(
        "
.type outer, %function
outer:
 {ret}
.size outer, . - outer
.globl boot
.type boot, %function
boot:
.cfi_startproc
.cfi_undefined {column}
{code}
.cfi_endproc
.size boot, . - boot
.bss
.balign 16
 .skip 64
stack:
 .skip 64
other:
 .skip 16
"
    )
}

#[test]
fn a_constant_stack_pointer_is_known_on_x86_64() {
    for (name, load) in [
        ("stacks-lea", "lea stack(%rip), %rsp"),
        ("stacks-mov", "mov $stack, %rsp"),
        ("stacks-mov-32", "mov $stack, %esp"),
        ("stacks-register", "lea stack(%rip), %rax\n mov %rax, %rsp"),
        (
            "stacks-sum",
            "lea stack-64(%rip), %rsp | none\n add $64, %rsp | none, stack-64 at sp",
        ),
        (
            "stacks-again",
            "lea other(%rip), %rsp | none\n mov $stack, %rsp | none, stack+64 at sp",
        ),
    ] {
        let code = format!(
            " cli | none\n {load}\n xor %ebp, %ebp | none, stack at sp\n call outer | none, stack at sp\n\
             push %rax | none, stack at sp\n call outer | none, stack-8 at sp\n jmp . | none, stack-8 at sp"
        );
        judge(name, X86_64, &kernel(X86_64, &code));
    }
}

#[test]
fn a_constant_stack_pointer_is_known_on_aarch64() {
    for (name, load) in [
        (
            "stacks-page",
            "adrp x0, stack\n add x0, x0, :lo12:stack\n mov sp, x0",
        ),
        ("stacks-literal", "ldr x9, =stack\n mov sp, x9"),
        (
            "stacks-halves",
            "movz x1, #:abs_g1:stack\n movk x1, #:abs_g0_nc:stack\n mov sp, x1",
        ),
        ("stacks-add", "adr x0, stack-64\n add sp, x0, #64"),
    ] {
        let code = format!(
            " mrs x2, mpidr_el1 | none\n {load}\n mov x29, xzr | none, stack at sp\n bl outer | none, stack at sp\n\
             sub sp, sp, #32 | none, stack at sp\n bl outer | none, stack-32 at sp\n b . | none, stack-32 at sp"
        );
        judge(name, AARCH64, &kernel(AARCH64, &code));
    }
}

#[test]
fn a_constant_stack_pointer_is_known_on_32_bit_arm() {
    for (name, set, load) in [
        ("stacks-arm-literal", ".arm", "ldr sp, =stack"),
        ("stacks-arm-register", ".arm", "ldr r0, =stack\n mov sp, r0"),
        (
            "stacks-arm-halves",
            ".arm",
            "movw r0, #:lower16:stack\n movt r0, #:upper16:stack\n mov sp, r0",
        ),
        (
            "stacks-thumb",
            ".thumb\n.thumb_func\nboot_thumb:",
            "ldr r0, =stack\n mov sp, r0",
        ),
    ] {
        let code = format!(
            "{set}\n cpsid if | none\n {load}\n mov r11, #0 | none, stack at sp\n bl outer | none, stack at sp\n\
             push {{{{r0, r1}}}} | none, stack at sp\n bl outer | none, stack-8 at sp\n b . | none, stack-8 at sp"
        );
        judge(
            name,
            ARM,
            &kernel(ARM, &code).replace("{{", "{").replace("}}", "}"),
        );
    }
}

/// The stack pointer is no constant, or another one on another path.
#[test]
fn a_stack_pointer_that_differs_is_not_known() {
    for (name, load) in [
        ("stacks-loaded", "mov stack(%rip), %rsp"),
        ("stacks-aligned", "mov %rdi, %rsp\n and $-16, %rsp"),
        (
            "stacks-of-processors",
            "lea stack(%rip), %rsp\n shl $12, %rdi\n sub %rdi, %rsp",
        ),
        (
            "stacks-paths",
            "test %edi, %edi\n jne 1f\n lea stack(%rip), %rsp\n jmp 2f\n 1: lea other(%rip), %rsp\n 2: nop",
        ),
        (
            "stacks-join",
            "lea stack(%rip), %rax\n test %edi, %edi\n jne 1f\n lea other(%rip), %rax\n 1: mov %rax, %rsp",
        ),
        ("stacks-argument", "mov %rdi, %rsp"),
        ("stacks-none", "nop"),
    ] {
        let code = format!(" cli | none\n {load}\n nop | none\n call outer | none\n jmp . | none");
        judge(name, X86_64, &kernel(X86_64, &code));
    }
    for (name, load) in [
        (
            "stacks-core",
            "mrs x1, mpidr_el1\n and x1, x1, #3\n adr x0, stack\n sub x0, x0, x1, lsl #12\n mov sp, x0",
        ),
        (
            "stacks-level",
            "adr x0, stack\n msr sp_el1, x0\n adr x1, 1f\n msr elr_el2, x1\n eret\n 1: nop",
        ),
    ] {
        let code = format!(" nop | none\n {load}\n nop | none\n bl outer | none\n b . | none");
        judge(name, AARCH64, &kernel(AARCH64, &code));
    }
}

/// A function without a caller that another one jumps to has the stack of that.
#[test]
fn a_jump_keeps_the_stack() {
    let code = " lea stack(%rip), %rsp | none\n jmp main | none, stack at sp\n.cfi_endproc\n.size boot, . - boot\n\
        .type main, %function\n main:\n .cfi_startproc\n .cfi_undefined rip\n push %rbp | none, stack at sp\n\
        call outer | none, stack-8 at sp\n jmp . | none, stack-8 at sp\n .cfi_endproc\n .size main, . - main\n\
        .type rest, %function\n rest:\n.cfi_startproc\n ret";
    let program =
        kernel(X86_64, code).replace(".size boot, . - boot\n.bss", ".size rest, . - rest\n.bss");
    judge("stacks-jump", X86_64, &program);
}
