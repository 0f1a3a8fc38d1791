//! Control flows along every edge, whatever values decide.

use super::support::Set::{self, A32, A64, T32, X86};
use super::support::judge;

/// A function with a frame that is 64 bytes larger on the way on which a branch is not taken.
fn grows(set: Set, setup: &str, branch: &str) {
    judge(
        set,
        &match set {
            X86 => format!(
                "fn leaf\n nop\n ret\n end\n\
             fn f\n push %rbp\n mov %rsp, %rbp\n sub $32, %rsp\n {setup}\n\
             {branch} | sp+48 fp=c-16; not sp+112\n sub $64, %rsp\n\
             2: call leaf | fp+16 fp=c-16; not sp+48; not sp+112\n\
             leave | fp+16; not sp+48; not sp+112\n ret | sp+8 fp=same; not sp+8 fp=c-24\n end"
            ),
            A64 => format!(
                "fn leaf\n nop\n ret\n end\n\
             fn f\n stp x29, x30, [sp, #-16]!\n mov x29, sp\n sub sp, sp, #4096\n {setup}\n\
             {branch} | sp+4112 ra=c-8; not sp+4176 ra=c-8\n sub sp, sp, #64\n\
             2: bl leaf | fp+16 ra=c-8 fp=c-16; not sp+4112 ra=c-8; not sp+4176 ra=c-8\n\
             mov sp, x29 | fp+16 ra=c-8; not fp+16\n\
             ldp x29, x30, [sp], #16 | sp+16 ra=c-8 fp=c-16\n ret | sp+0 fp=same; not sp+0 ra=c-8\n end"
            ),
            A32 | T32 => format!(
                "fn leaf\n nop\n bx lr\n end\n\
             fn f\n push {{r11, lr}}\n mov r11, sp\n sub sp, sp, #32\n {setup}\n\
             {branch} | sp+40 ra=c-4; not sp+104 ra=c-4\n sub sp, sp, #64\n\
             2: bl leaf | fp+8 ra=c-4 fp=c-8; not sp+40 ra=c-4; not sp+104 ra=c-4\n\
             mov sp, r11 | fp+8 ra=c-4\n pop {{r11, pc}} | sp+8 ra=c-4 fp=c-8; not sp+8\n end"
            ),
        },
    );
}

/// Both ways from a branch are followed, although the values that it compares seem known.
#[test]
fn branches_are_followed_both_ways_x86_64() {
    for (setup, branch) in [
        // An address of an unknown distance may be the word's.
        (
            "movq $7, 8(%rsp)\n lea 8(%rsp,%rsi,4), %rcx\n movq $9, (%rcx)\n cmpq $7, 8(%rsp)",
            "je 2f",
        ),
        // Another thread writes between two loads.
        (
            "mov (%rdi), %ecx\n cmp $3, %ecx\n jae 2f\n mov (%rdi), %ecx\n cmp $3, %ecx",
            "jae 2f",
        ),
        // The kernel writes.
        (
            "movq $0, 16(%rsp)\n lea 16(%rsp), %rdi\n mov $96, %eax\n syscall\n cmpq $0, 16(%rsp)",
            "je 2f",
        ),
        ("movq $0, 8(%rsp)\n int $0x81\n cmpq $0, 8(%rsp)", "je 2f"),
        (
            "movl $1, 12(%rsp)\n mov $96, %edx\n btr %edx, (%rsp)\n cmpl $1, 12(%rsp)",
            "je 2f",
        ),
        (
            "movl $1, 12(%rsp)\n mov $96, %rdx\n btc %rdx, (%rsp)\n cmpl $1, 12(%rsp)",
            "je 2f",
        ),
        (
            "mov $0x7fffffff, %ecx\n lea 0x7fffffff(%ecx,%ecx), %rdx\n cmp $0x7fffffff, %rdx",
            "jb 2f",
        ),
        ("xor %ebx, %ebx\n xchg %rbx, %rsi\n cmp $4, %rsi", "jb 2f"),
        ("mov $3, %ecx\n xor %edx, %edx", "loopne 2f"),
        ("mov $1, %ecx", "loop 2f"),
        ("xor %ecx, %ecx", "jrcxz 2f"),
        ("xor %ecx, %ecx\n test %ecx, %ecx", "jz 2f"),
        ("nop", "xbegin 2f"),
    ] {
        grows(X86, setup, branch);
    }
}

#[test]
fn branches_are_followed_both_ways_aarch64() {
    for (setup, branch) in [
        (
            "mov x9, #5\n str x9, [sp, #1024]\n add x0, sp, #1024\n dc zva, x0\n ldr x9, [sp, #1024]\n cmp x9, #5",
            "b.eq 2f",
        ),
        (
            "mov x9, #5\n str x9, [sp, #16]\n hvc #1\n ldr x9, [sp, #16]\n cmp x9, #5",
            "b.eq 2f",
        ),
        (
            "mov w1, #5\n mov w0, #0xa0000000\n cmp w0, w1, lsl #30",
            "b.ls 2f",
        ),
        ("mov x9, #0", "cbz x9, 2f"),
        ("mov x9, #0", "tbz x9, #3, 2f"),
        (
            "add x9, sp, x2, lsl #3\n str xzr, [x9]\n ldr x1, [sp, #8]\n cmp x1, #0",
            "b.ne 2f",
        ),
    ] {
        grows(A64, setup, branch);
    }
}

#[test]
fn branches_are_followed_both_ways_arm() {
    let memory =
        "mov r3, #5\n str r3, [sp, #4]\n movs r7, #4\n svc #0\n ldr r3, [sp, #4]\n cmp r3, #5";
    for set in [A32, T32] {
        grows(set, memory, "beq 2f");
        grows(set, "mov r3, #1\n cmp r3, #1", "beq 2f");
    }
    grows(T32, "movs r3, #0", "cbz r3, 2f");
    grows(A32, "cmp r0, r0", "bpl 2f");
}

/// An instruction under a condition is executed or not.
#[test]
fn conditional_instructions_have_two_outcomes() {
    judge(
        A32,
        "fn f\n cmp r0, #0\n subne sp, sp, #8 | sp+0; not sp+8\n nop | not sp+8; not sp+0\n movs r0, #0\n bx lr\n end",
    );
    judge(
        A32,
        "fn f\n cmp r0, #0\n popne {pc}\n sub sp, sp, #8 | sp+0; not sp+4\n add sp, sp, #8 | sp+8; not sp+12\n bx lr | sp+0\n end",
    );
    judge(
        T32,
        "fn f\n cmp r0, #0\n it ne\n addne sp, sp, #8 | sp+0\n nop | not sp-8; not sp+0\n bx lr\n end",
    );
    // The return address is lost under a condition.
    judge(
        A32,
        "fn f\n cmp r0, #0\n movne lr, #0 | sp+0; not sp+0 ra=c-4\n nop | not sp+0\n bx lr\n end",
    );
}

/// Hand-written code has plain labels within a function. Control falls into them, and the rows of a label begin anew.
#[test]
fn labels_that_control_falls_into_have_its_state() {
    judge(
        X86,
        "fn clear bare\n rows\n push %r12\n mov %rdi, %r12 | sp+16\n\
         next:\n rows\n movb $0, (%r12) | sp+16; not sp+8\n inc %r12 | sp+16; not sp+8\n dec %rsi\n jnz next\n\
         over:\n rows\n pop %r12 | sp+16; not sp+8\n ret | sp+8; not sp+0",
    );
    judge(
        A64,
        "fn clear bare\n rows\n str x19, [sp, #-32]!\n mov x19, x0 | sp+32\n\
         next:\n rows\n strb wzr, [x19], #1 | sp+32; not sp+0\n subs x1, x1, #1\n b.ne next\n\
         over:\n rows\n ldr x19, [sp], #32 | sp+32; not sp+0\n ret | sp+0; not sp+32",
    );
    for set in [A32, T32] {
        judge(
            set,
            "fn clear bare\n rows\n push {r4, r5}\n mov r4, r0 | sp+8 r4=c-8; not sp+8 r4=c-4\n\
             next:\n rows\n strb r5, [r4] | sp+8; not sp+0; not sp+8 r4=same\n adds r4, r4, #1\n subs r1, r1, #1\n bne next\n\
             over:\n rows\n pop {r4, r5} | sp+8; not sp+0\n bx lr | sp+0 r4=same; not sp+8",
        );
    }
}

/// Control falls from one declared function into the next.
#[test]
fn functions_that_control_falls_into_have_both_states() {
    judge(
        X86,
        "fn first\n push %rbx\n nop | sp+16\n end\n fn second\n nop | not sp+8; not sp+16\n pop %rbx | not sp+16\n ret\n end\n\
         fn caller\n call second | sp+8\n ret\n end",
    );
    // A frame pointer holds on both ways.
    judge(
        X86,
        "fn first\n push %rbp\n mov %rsp, %rbp\n push %rbx | fp+16\n jmp 3f | sp+24\n end\n\
         fn second\n push %rbp\n mov %rsp, %rbp\n jmp 3f | sp+16\n end\n fn tail bare\n rows\n\
         3: nop | fp+16 fp=c-16; not sp+24; not sp+16; not sp+8\n leave\n ret\n end",
    );
}

/// A jump into another function brings its own state, although that function is called through a pointer too.
#[test]
fn jumps_into_functions_bring_their_state() {
    judge(
        X86,
        ".section .rodata\n .quad hook\n .text\n\
         fn hook\n nop | not sp+8; not sp+24\n ret | not sp+8\n end\n\
         fn f\n sub $16, %rsp\n jmp hook | sp+24\n end",
    );
    judge(
        A64,
        ".section .rodata\n .quad hook\n .text\n\
         fn hook\n nop | not sp+0; not sp+16\n ret | not sp+0\n end\n\
         fn f\n sub sp, sp, #16\n b hook | sp+16\n end",
    );
    judge(
        A32,
        "fn hook\n nop | not sp+0; not sp+16\n bx lr\n end\n\
         fn f\n sub sp, sp, #16\n b hook | sp+16\n end\n fn g\n push {r4, lr}\n bl hook\n pop {r4, pc} | sp+8 ra=c-4 r4=c-8; not sp+0\n end",
    );
}

/// An instruction that enters another program or mode continues behind itself.
#[test]
fn instructions_that_leave_the_mode_continue() {
    for stop in [
        "lcall *gate",
        "lcall *gate(%rip)",
        "vmlaunch",
        "vmresume",
        "sysenter",
        "mov $1, %eax\n syscall",
        "vmcall",
        "int $3",
        "hlt",
        "xabort $1",
        "xend",
    ] {
        judge(
            X86,
            &format!(
                ".data\n gate: .quad 0, 0\n .text\n fn f\n {stop}\n ret | sp+8\n end\n\
             fn caller\n push %rbp\n mov %rsp, %rbp\n cmp %rdi, %rsi\n je 2f\n call f\n sub $80, %rsp\n\
             2: nop | fp+16; not sp+16; not sp+96\n leave\n ret\n end"
            ),
        );
    }
    for stop in ["mov x8, #64\n svc #1", "hvc #1", "smc #1", "wfi", "wfe"] {
        judge(
            A64,
            &format!(
                "fn f\n {stop}\n ret | sp+0\n end\n\
             fn caller\n stp x29, x30, [sp, #-16]!\n mov x29, sp\n cbz x0, 2f\n bl f\n sub sp, sp, #80\n\
             2: nop | fp+16 ra=c-8; not sp+16 ra=c-8\n mov sp, x29\n ldp x29, x30, [sp], #16\n ret\n end"
            ),
        );
    }
}

/// The instruction behind a system call is reached from there too.
#[test]
fn system_calls_continue_where_other_ways_lead() {
    for stop in [
        "mov $1, %eax\n syscall",
        "vmcall",
        "int $0x81",
        "lcall *gate",
        "hlt",
        "call *%rax",
        "call leaf",
    ] {
        judge(
            X86,
            &format!(
                "fn leaf\n ret\n end\n fn f\n push %rbp\n mov %rsp, %rbp\n cmp %rdi, %rsi\n je 3f\n push $1\n {stop} | sp+24\n\
                 3: cld | fp+16; not sp+16; not sp+24\n leave\n ret | sp+8\n end\n .data\n gate: .quad 0, 0"
            ),
        );
    }
    // The kernel answers in registers.
    for register in ["rax r0", "rcx r2", "r11 r11", "rdi r5"] {
        let (name, row) = register.split_once(' ').unwrap();
        judge(
            X86,
            &format!(
                "fn f\n mov %rsp, %{name}\n int $0x81 | {row}+8\n nop | not {row}+8; sp+8\n ret\n end"
            ),
        );
    }
    judge(
        X86,
        "fn f\n mov $1, %eax\n mov %rsp, %rbx\n syscall | r3+8\n nop | r3+8; not r3+16\n ret\n end",
    );
}

/// Control leaves its section's code, where nothing is known, and may return.
#[test]
fn code_at_the_end_of_a_section_may_return() {
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n cmp %rdi, %rsi\n je 2f\n call last | sp+16\n sub $80, %rsp\n\
         2: nop | not sp+16; not fp+16; not sp+96\n leave\n ret\n end\n fn last\n nop\n nop\n end",
    );
    judge(
        A64,
        "fn f\n stp x29, x30, [sp, #-16]!\n mov x29, sp\n cbz x0, 2f\n bl last | sp+16 ra=c-8\n sub sp, sp, #80\n\
         2: nop | not sp+16 ra=c-8; not fp+16 ra=c-8\n mov sp, x29\n ldp x29, x30, [sp], #16\n ret\n end\n fn last\n nop\n nop\n end",
    );
}
