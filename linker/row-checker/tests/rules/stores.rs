//! What stores change of the stack, and what remains of it below the stack pointer and behind calls.

use super::support::Set::{A32, A64, T32, X86};
use super::support::judge;

/// The frame pointer is saved in the word below the return address, and `store` follows.
fn saved(store: &str, rows: &str) -> String {
    format!(
        "fn f\n push %rbp\n push %rbx\n sub $40, %rsp\n nop | sp+64 fp=c-16; not sp+64 fp=c-24\n {store}\n nop | {rows}\n\
         add $40, %rsp\n pop %rbx\n pop %rbp\n ret\n end"
    )
}

/// A store at a known distance forgets what it overwrites, in part or wholly.
#[test]
fn stores_to_a_known_place_overwrite_x86_64() {
    for store in [
        "movq $0, 48(%rsp)",
        "movl $0, 52(%rsp)",
        "movb $0, 55(%rsp)",
        "movl $0, 45(%rsp)",
        "mov %rdi, 48(%rsp)",
        "addq $8, 48(%rsp)",
        "incl 48(%rsp)",
        "setne 49(%rsp)",
        "movups %xmm0, 40(%rsp)",
        "movups %xmm0, 33(%rsp)",
        "lea 48(%rsp), %rax\n movw $0, (%rax)",
        "mov %rsp, %rdx\n add $40, %rdx\n mov %rdi, 8(%rdx)",
        "mov %rsp, %rdx\n mov $24, %eax\n add %rax, %rdx\n mov %rdi, 24(%rdx)",
        "lea 48(%rsp), %rdi\n stosb",
        "lea 48(%rsp), %rdi\n movsq",
        "mov %rsp, %rdi\n mov $7, %ecx\n rep stosq",
        "mov %rsp, %rdi\n mov $49, %ecx\n rep movsb",
        "fnstenv 24(%rsp)",
        "sgdt 40(%rsp)",
        "cmpxchg %rdx, 48(%rsp)",
        "lock xadd %edx, 48(%rsp)",
        "xchg %rdx, 48(%rsp)",
        "pushf\n popf\n popq 40(%rsp)\n sub $8, %rsp",
        "lea 40(%rsp), %rdi\n cmpxchg16b (%rdi)",
        "bts $3, 48(%rsp)",
    ] {
        judge(X86, &saved(store, "sp+64; not sp+64 fp=c-16"));
    }
    // These end before the word.
    for store in [
        "movq $0, 40(%rsp)",
        "movl $0, 44(%rsp)",
        "movups %xmm0, 32(%rsp)",
        "mov %rsp, %rdi\n mov $6, %ecx\n rep stosq",
        "mov %rsp, %rdi\n mov $48, %ecx\n rep movsb",
        "mov %rsp, %rdx\n mov $24, %eax\n add %rax, %rdx\n mov %rdi, 16(%rdx)",
        // Those only read.
        "cmpq $0, 48(%rsp)",
        "mov 48(%rsp), %rax",
        "bt $3, 48(%rsp)",
        "lea 48(%rsp), %rax",
    ] {
        judge(X86, &saved(store, "sp+64 fp=c-16; not sp+64 fp=c-24"));
    }
}

/// An instruction that saves the processor's state writes hundreds of bytes.
#[test]
fn stores_of_the_processors_state_overwrite() {
    judge(
        X86,
        "fn f\n push %rbp\n sub $512, %rsp\n fxsave (%rsp)\n nop | sp+528 fp=c-16\n fxsave 8(%rsp)\n nop | sp+528; not sp+528 fp=c-16\n\
         fxsave 16(%rsp)\n nop | not sp+528\n add $520, %rsp\n ret\n end",
    );
}

/// The return address is overwritten.
#[test]
fn stores_to_the_return_address_overwrite_it() {
    for store in [
        "movq $0, (%rsp)",
        "addq $1, (%rsp)",
        "mov %rdi, (%rsp)",
        "movb $0, 7(%rsp)",
        "movups %xmm0, -8(%rsp)",
        "pop %rax\n push %rdi",
        "lea 8(%rsp), %rsp\n push $1",
    ] {
        judge(
            X86,
            &format!("fn f\n nop | sp+8\n {store}\n nop | not sp+8\n ret\n end"),
        );
    }
    // Read, or taken off and put back.
    for store in [
        "cmpq $0, (%rsp)",
        "mov (%rsp), %rax",
        "pop %rax\n push %rax",
        "mov (%rsp), %rax\n mov %rax, (%rsp)",
    ] {
        judge(
            X86,
            &format!("fn f\n nop | sp+8\n {store}\n nop | sp+8; not sp+16\n ret\n end"),
        );
    }
    judge(
        X86,
        "fn f\n pop %rax | sp+8\n push %rbx | sp+0 ra=r0+0; not sp+8\n push %rax | sp+8 ra=r0+0; not sp+8\n nop | sp+16 ra=(sp+0); not sp+16\n ret\n end",
    );
}

#[test]
fn stores_to_a_known_place_overwrite_aarch64() {
    let code = |store: &str, row: &str| {
        format!(
            "fn f\n stp x29, x30, [sp, #-16]!\n sub sp, sp, #32\n nop | sp+48 ra=c-8 fp=c-16; not sp+48 ra=c-16\n\
         {store}\n nop | {row}\n add sp, sp, #32\n ldp x29, x30, [sp], #16\n ret\n end"
        )
    };
    let frame = "sp+48 ra=c-8; not sp+48 ra=c-8 fp=c-16";
    for store in [
        "str x0, [sp, #32]",
        "strb w0, [sp, #39]",
        "stp x0, x1, [sp, #24]",
        "str q0, [sp, #16]\n str q0, [sp, #32]\n str x30, [sp, #40]",
        "add x1, sp, #32\n str w0, [x1]",
        "mov x1, sp\n str x0, [x1, #32]!",
        "stp q0, q1, [sp, #16]\n str x30, [sp, #40]",
        "stur x0, [sp, #33]\n str x30, [sp, #40]",
        "add x2, sp, #32\n stlr x0, [x2]",
        "add x2, sp, #32\n swp x0, x1, [x2]",
        "add x2, sp, #32\n ldadd x0, x1, [x2]",
        "add x2, sp, #32\n st1 { v0.8b }, [x2]",
        "add x2, sp, #32\n stxr w1, x0, [x2]",
    ] {
        judge(A64, &code(store, frame));
    }
    let address = "not sp+48 ra=c-8";
    for store in [
        "str x0, [sp, #40]",
        "strb w0, [sp, #47]",
        "stp x0, x1, [sp, #32]",
        "str q0, [sp, #32]",
        "add x0, sp, #40\n str wzr, [x0]",
    ] {
        judge(A64, &code(store, address));
    }
    for store in [
        "str x0, [sp, #24]",
        "stp x0, x1, [sp, #16]",
        "strb w0, [sp, #31]",
        "ldr x0, [sp, #32]",
        "ldp x0, x1, [sp, #32]",
    ] {
        judge(
            A64,
            &code(store, "sp+48 ra=c-8 fp=c-16; not sp+48 ra=c-8 fp=c-24"),
        );
    }
}

#[test]
fn stores_to_a_known_place_overwrite_arm() {
    for set in [A32, T32] {
        let code = |store: &str, row: &str| {
            format!(
                "fn f\n push {{r4, r5, lr}}\n sub sp, sp, #20\n nop | sp+32 ra=c-4 r5=c-8 r4=c-12; not sp+32 ra=c-4 r5=c-12\n\
             {store}\n nop | {row}\n add sp, sp, #20\n pop {{r4, r5, pc}}\n end"
            )
        };
        for store in [
            "str r0, [sp, #24]",
            "strb r0, [sp, #27]",
            "add r1, sp, #24\n stm r1, {r0}",
            "strd r0, r1, [sp, #20]",
            "add r1, sp, #24\n str r0, [r1], #4",
            "add r1, sp, #16\n stm r1, {r0, r2, r3}",
        ] {
            judge(set, &code(store, "sp+32 ra=c-4; not sp+32 ra=c-4 r5=c-8"));
        }
        for store in [
            "str r0, [sp, #28]",
            "add r1, sp, #20\n stm r1, {r0, r2, r3}",
            "strh r0, [sp, #30]",
        ] {
            judge(set, &code(store, "not sp+32 ra=c-4"));
        }
        for store in [
            "str r0, [sp, #16]",
            "strd r0, r1, [sp, #8]",
            "ldr r0, [sp, #24]",
        ] {
            judge(
                set,
                &code(
                    store,
                    "sp+32 ra=c-4 r5=c-8 r4=c-12; not sp+32 ra=c-4 r5=c-16",
                ),
            );
        }
    }
}

/// A copy of the frame's address, or another value, does not outlive a store to an unknown place or a call.
#[test]
fn words_that_pointers_may_reach_are_lost() {
    // The word at sp+8 has the frame's address, by which the stack pointer is restored.
    for store in [
        "movq $1, (%rdi)",
        "movq $1, (%rsp,%rdi,8)",
        "lea (%rsp,%rdi,8), %rax\n movq $1, (%rax)",
        "call leaf",
        "call *%rdi",
        "mov %rdi, %rax\n stosq",
        "and $-16, %rax\n mov %rdi, (%rax)",
        "mov %rsp, %rdi\n rep stosq",
        "mov %rsp, %rdi\n rep insb",
        "bts %rax, (%rsp)",
        "movq $1, (,%rdi,8)",
        "movl $1, (%eax)",
        "addr32 rep stosb",
        "movl $1, 4(%eax,%edx)",
    ] {
        judge(
            X86,
            &format!(
                "fn leaf\n ret\n end\n fn f\n push %rbp\n mov %rsp, %rbp\n sub $32, %rsp\n mov %rsp, 8(%rsp)\n {store}\n\
             mov 8(%rsp), %rsp | sp+48; not sp+64\n nop | fp+16; not sp+48\n leave\n ret\n end\n .data\n table: .quad 0"
            ),
        );
    }
    for store in [
        "nop",
        "mov (%rdi), %rax",
        "movq $1, (%rsp)",
        "movq $1, 16(%rsp)",
        "cmpq $1, (%rdi)",
    ] {
        judge(
            X86,
            &format!(
                "fn f\n push %rbp\n mov %rsp, %rbp\n sub $32, %rsp\n mov %rsp, 8(%rsp)\n {store}\n\
             mov 8(%rsp), %rsp | sp+48\n nop | sp+48; not sp+64\n leave\n ret\n end"
            ),
        );
    }
    for store in [
        "str x1, [x0]",
        "str x1, [sp, x0]",
        "bl leaf",
        "blr x0",
        "dc zva, x0",
        "stp x1, x2, [x0], #16",
    ] {
        judge(
            A64,
            &format!(
                "fn leaf\n cbz x0, 3f\n 3: ret\n end\n fn f\n stp x29, x30, [sp, #-48]!\n mov x29, sp\n mov x9, sp\n str x9, [sp, #24]\n {store}\n\
             ldr x9, [sp, #24] | sp+48 ra=c-40\n mov sp, x9 | sp+48 ra=c-40\n nop | fp+48 ra=c-40; not sp+48 ra=c-40\n mov sp, x29\n ldp x29, x30, [sp], #48\n ret\n end"
            ),
        );
    }
}

/// Words below the stack pointer are overwritten by interrupts, except in a red zone.
#[test]
fn words_below_the_stack_pointer_are_lost() {
    let code = "fn f\n push %rbp\n push $1\n add $16, %rsp | sp+24 fp=c-16\n nop | sp+8; not sp+8 fp=c-16\n sub $16, %rsp\n\
         nop | sp+24; not sp+24 fp=c-16\n add $16, %rsp\n ret\n end";
    judge(X86, &format!("red 0\n {code}"));
    let zone = "red 128\n fn f\n mov %rbp, -16(%rsp)\n mov $1, %ebp | sp+8 fp=c-24; not sp+8 fp=c-16\n nop | sp+8 fp=c-24; not sp+8 fp=same\n\
         mov -16(%rsp), %rbp | sp+8\n ret | sp+8 fp=same\n end";
    judge(X86, zone);
    judge(
        X86,
        "red 8\n fn f\n mov %rbp, -16(%rsp)\n mov $1, %ebp | not sp+8 fp=c-24\n nop | not sp+8 fp=c-24\n ret\n end",
    );
    // A callee uses the red zone of its caller, and the row of the call serves while the callee runs.
    judge(
        X86,
        "red 128\n fn leaf\n ret\n end\n fn f\n mov %rbp, -24(%rsp)\n call leaf | sp+8 fp=same; not sp+8 fp=c-32\n nop | sp+8 fp=same; not sp+8 fp=c-32\n ret\n end",
    );
    // The call itself overwrites the word that is below.
    judge(
        X86,
        "red 8\n fn leaf\n ret\n end\n fn f\n push %rbp\n pop %rbp\n call leaf | sp+8 fp=same; not sp+8 fp=c-16\n ret\n end",
    );
    judge(
        A64,
        "fn leaf\n ret\n end\n fn f\n stp x29, x30, [sp, #-16]!\n ldr x29, [sp], #16\n bl leaf | not sp+0 ra=c-8; not sp+0 fp=c-16\n ret\n end",
    );
    judge(
        A64,
        "fn f\n sub sp, sp, #16\n str x29, [sp]\n add sp, sp, #16 | sp+16 fp=c-16\n nop | sp+0 fp=same; not sp+0 fp=c-16\n ret\n end",
    );
}

/// An image with a return from an interrupt is a kernel, whatever its sections say: interrupts overwrite what is below the stack pointer.
#[test]
fn words_below_the_stack_pointer_are_lost_in_a_kernel() {
    for (other, row) in [
        ("ret", "sp+16 fp=c-24"),
        ("iretq", "sp+16; not sp+16 fp=c-24"),
    ] {
        judge(
            X86,
            &format!(
                "red 128\n fn f\n push %rbx\n push %rbp\n xor %ebp, %ebp\n pop %rbp | sp+24 fp=c-24\n pop %rbx | {row}\n ret | sp+8\n end\n\
                 fn other bare\n {other}\n end"
            ),
        );
    }
    // Where the processor aligns the stack, nothing is known of the frame address.
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n pop %rbp | sp+16 fp=c-16\n ret | sp+8; not sp+8 fp=c-16\n end",
    );
}
