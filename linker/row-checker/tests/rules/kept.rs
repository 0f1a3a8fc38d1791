//! What callees keep and break on AArch64 and 32-bit ARM. Most callees here begin with a branch, because the checker follows the code of a
//! callee without branches: see `straight.rs`.

use super::support::Set::{A32, A64, T32, X86};
use super::support::judge;

/// A callee that changes the stack pointer or returns elsewhere: nothing of the stack is known behind its call.
#[test]
fn stack_that_a_callee_moves_is_lost_aarch64() {
    for callee in [
        "add sp, sp, #16\n ret",
        "sub sp, sp, #16\n ret",
        "str x0, [sp, #-16]!\n ret",
        "sub sp, sp, x9\n ret",
        "and sp, x9, #-16\n ret",
        "add x30, x30, #4\n ret",
        "ldr x30, [x0]\n ret",
        "mov x30, #0\n ret",
        "mov x30, x0\n ret",
        "str x30, [sp, #-16]!\n bl other\n ldr x30, [sp], #16\n ret\n end\n fn other\n add sp, sp, #16\n ret",
        "b other\n end\n fn other\n sub sp, sp, #32\n ret",
        "eret",
    ] {
        judge(
            A64,
            &format!(
                "fn top\n bl f\n end\n fn f\n stp x29, x30, [sp, #-48]!\n mov x29, sp\n bl callee | sp+48 ra=c-40\n\
             nop | not sp+48 ra=c-40; not sp+32 ra=c-40; not sp+64 ra=c-40; not fp+48 ra=c-40\n\
             ldp x29, x30, [sp], #48\n ret\n end\n fn callee bare\n cbz x9, 8f\n 8: {callee}\n end"
            ),
        );
    }
}

#[test]
fn registers_that_a_callee_changes_are_lost_aarch64() {
    for callee in [
        "mov x29, #1\n ret",
        "mov w29, w0\n ret",
        "ldr x29, [x0]\n ret",
        "ldp x28, x29, [x0]\n ret",
        "add x29, x29, #16\n b other\n end\n fn other\n ret",
        "mov x29, sp\n br x9",
        "stp x29, x30, [sp, #-16]!\n ldp x30, x29, [sp], #16\n mov x30, x29\n ret",
        "stp x29, x30, [sp, #-16]!\n bl other\n ldp x9, x30, [sp], #16\n ret\n end\n fn other\n mov x29, #7\n ret",
        "cbz x0, 3f\n mov x29, x1\n 3: ret",
        "mrs x29, tpidr_el1\n ret",
        "csel x29, x1, x2, eq\n ret",
        "cset x29, eq\n ret",
        "umov w29, v0.s[0]\n ret",
        "swp x0, x29, [x1]\n ret",
    ] {
        judge(
            A64,
            &format!(
                "fn f\n stp x29, x30, [sp, #-48]!\n mov x29, sp\n bl callee | fp+48 ra=c-40\n\
             nop | sp+48 ra=c-40 fp=c-48; not fp+48 ra=c-40; not sp+48\n\
             ldp x29, x30, [sp], #48 | sp+48 ra=c-40\n ret | sp+0 fp=same\n end\n fn callee bare\n cbz x9, 8f\n 8: {callee}\n end"
            ),
        );
    }
    // Registers that callees may change are lost behind each call.
    for register in ["x9", "x18", "x30"] {
        let row = format!("r{}+48", &register[1..]);
        judge(
            A64,
            &format!(
                "fn f\n stp x29, x30, [sp, #-48]!\n mov {register}, sp\n nop | {row} ra=c-40\n bl leaf\n\
             nop | sp+48 ra=c-40; not {row} ra=c-40\n ldp x29, x30, [sp], #48\n ret\n end\n fn leaf\n cbz x0, 3f\n 3: ret\n end"
            ),
        );
    }
    judge(
        A64,
        "fn f\n stp x29, x30, [sp, #-48]!\n mov x19, sp\n bl leaf | r19+48 ra=c-40\n nop | r19+48 ra=c-40; not r19+32 ra=c-40\n\
         ldp x29, x30, [sp], #48\n ret\n end\n fn leaf\n ret\n end",
    );
}

#[test]
fn stack_that_a_callee_moves_is_lost_arm() {
    for set in [A32, T32] {
        for callee in [
            "add sp, sp, #8\n bx lr",
            "push {r0, r1}\n bx lr",
            "sub sp, sp, #8\n b other\n end\n fn other\n bx lr",
            "pop {pc}",
            "adds lr, lr, #4\n bx lr",
            "push {lr}\n bl other\n pop {pc}\n end\n fn other\n sub sp, sp, #8\n bx lr",
        ] {
            judge(
                set,
                &format!(
                    "fn top\n bl f\n end\n fn f\n push {{r11, lr}}\n mov r11, sp\n bl callee | sp+8 ra=c-4\n\
                 nop | not sp+8 ra=c-4; not sp+16 ra=c-4; not fp+8 ra=c-4\n pop {{r11, pc}}\n end\n fn callee bare\n cmp r0, #0\n beq 8f\n 8: {callee}\n end"
                ),
            );
        }
    }
}

/// Rows of 32-bit ARM have where r4 to r10 are. Each is compared.
#[test]
fn registers_that_a_callee_changes_are_lost_arm() {
    for set in [A32, T32] {
        for callee in [
            "mov r4, r0\n bx lr",
            "ldr r4, [r0]\n bx lr",
            "cmp r0, #0\n beq 3f\n movs r4, #1\n 3: bx lr",
            "mov r4, r5\n b other\n end\n fn other\n bx lr",
        ] {
            judge(
                set,
                &format!(
                    "fn f\n push {{r3, lr}}\n bl callee | sp+8 ra=c-4 r4=same r5=same r10=same; not sp+8 ra=c-4 r4=c-8\n\
                 nop | sp+8 ra=c-4 r5=same fp=same; not sp+8 ra=c-4 r4=same\n pop {{r3, pc}}\n end\n fn callee bare\n cmp r0, #0\n beq 8f\n 8: {callee}\n end"
                ),
            );
        }
        judge(
            set,
            "fn f\n push {r4, r5, r6, lr}\n mov r5, r0 | sp+16 ra=c-4 r4=c-16 r5=c-12 r6=c-8; not sp+16 ra=c-8; not sp+16 ra=c-4 r5=c-8\n\
             bl leaf | sp+16 ra=c-4 r5=c-12 r4=same; not sp+16 ra=c-4 r5=same; not sp+0\n\
             ldr r4, [sp] | sp+16 ra=c-4\n pop {r4, r5, r6, pc} | sp+16 ra=c-4 r4=same\n end\n fn leaf\n bx lr\n end",
        );
    }
}

/// The link register holds the return address until a call or a load.
#[test]
fn return_addresses_in_the_link_register_are_followed() {
    judge(
        A64,
        "fn f\n sub sp, sp, #16 | sp+0; not sp+0 ra=c-8\n str x30, [sp, #8] | sp+16; not sp+16 ra=c-8\n\
         bl leaf | sp+16 ra=c-8; not sp+16 ra=c-16\n nop | sp+16 ra=c-8; not sp+16\n\
         ldr x30, [sp, #8] | sp+16 ra=c-8\n add sp, sp, #16 | sp+16; not sp+0\n ret | sp+0; not sp+0 ra=c-16\n end\n fn leaf\n ret\n end",
    );
    // A leaf keeps it in another register.
    judge(
        A64,
        "fn f\n mov x10, x30\n bl leaf | sp+0 ra=r10+0\n mov x30, x10 | not sp+0; not sp+0 ra=r10+0\n ret\n end\n fn leaf\n cbz x0, 3f\n 3: ret\n end",
    );
    judge(
        A64,
        "fn f\n mov x19, x30\n bl leaf | sp+0 ra=r19+0\n mov x30, x19 | sp+0 ra=r19+0; not sp+0\n ret | sp+0\n end\n fn leaf\n ret\n end",
    );
    for set in [A32, T32] {
        judge(
            set,
            "fn f\n push {r3, lr} | sp+0; not sp+0 ra=c-4\n bl leaf | sp+8; not sp+0\n nop | sp+8 ra=c-4; not sp+8\n\
             pop {r3, pc} | sp+8 ra=c-4\n end\n fn leaf\n bx lr\n end",
        );
    }
}

/// Pointer authentication changes the return address until it is checked.
#[test]
fn signed_return_addresses_are_followed() {
    judge(
        A64,
        "fn f\n hint #25 | sp+0; not sp+0 signed ra=c-8\n stp x29, x30, [sp, #-16]! | sp+0 signed; not sp+0\n\
         bl leaf | sp+16 ra=c-8 signed; not sp+16 ra=c-8\n ldp x29, x30, [sp], #16 | sp+16 ra=c-8 signed; not sp+16 ra=c-8\n\
         hint #29 | sp+0 signed; not sp+0\n ret | sp+0\n end\n fn leaf\n ret\n end",
    );
    // Without the check the return goes elsewhere.
    judge(
        A64,
        "fn top\n bl f\n end\n fn f\n stp x29, x30, [sp, #-16]!\n bl callee\n nop | not sp+16 ra=c-8\n ldp x29, x30, [sp], #16\n ret\n end\n\
         fn callee bare\n hint #25\n ret\n end",
    );
}

/// A callee that returns elsewhere, or with another stack pointer, on one way.
#[test]
fn what_a_callee_breaks_on_one_way_is_not_relied_on() {
    let probes = "mov %rsp, %r10\n cmp $0x1000, %rax\n jb 2f\n 1: sub $0x1000, %r10\n orl $0, (%r10)\n sub $0x1000, %rax\n cmp $0x1000, %rax\n ja 1b\n 2:";
    for callee in [
        "test %edi, %edi\n jnz 1f\n lea other(%rip), %rax\n mov %rax, (%rsp)\n 1: ret",
        "test %edi, %edi\n jnz 1f\n movq $5, (%rsp)\n 1: ret",
        // libgcc's ___chkstk
        &format!(
            "pop %r11\n {probes} sub %rax, %r10\n mov %rsp, %rax\n mov %r10, %rsp\n push %r11\n ret"
        ),
        &format!("pop %r11\n {probes} mov %r10, %rsp\n push %r11\n ret"),
    ] {
        judge(
            X86,
            &format!(
                "fn f\n push %rbp\n mov %rsp, %rbp\n call callee | sp+16\n nop | not sp+16; not fp+16\n leave\n ret\n end\n\
                 fn callee bare\n {callee}\n end\n fn other\n ret\n end"
            ),
        );
    }
    for callee in [
        "cbz x0, 1f\n adr x30, other\n 1: ret",
        "mov x9, sp\n cbz x0, 2f\n 1: sub x9, x9, #4096\n str xzr, [x9]\n sub x0, x0, #1\n cbnz x0, 1b\n 2: mov sp, x9\n ret",
    ] {
        judge(
            A64,
            &format!(
                "fn f\n stp x29, x30, [sp, #-16]!\n mov x29, sp\n bl callee | sp+16 ra=c-8\n nop | not sp+16 ra=c-8; not fp+16 ra=c-8\n\
                 ldp x29, x30, [sp], #16\n ret\n end\n fn callee bare\n {callee}\n end\n fn other\n ret\n end"
            ),
        );
    }
    judge(
        A32,
        "fn f\n push {r4, lr}\n bl callee | sp+8 ra=c-4\n nop | not sp+8 ra=c-4\n pop {r4, pc}\n end\n\
         fn callee bare\n cmp r0, #0\n bne 1f\n ldr lr, =other\n 1: bx lr\n .ltorg\n end\n fn other\n bx lr\n end",
    );
}

/// The frame pointer at an entry is the caller's. A callee that follows it loses it.
#[test]
fn a_frame_pointer_that_is_loaded_by_itself_is_lost() {
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n call g | sp+16\n nop | sp+16; not fp+16\n pop %rbp\n ret\n end\n\
         fn g\n mov (%rbp), %rbp\n ret\n end",
    );
    for load in [
        "ldr x29, [x29]",
        "ldr x29, [x29, #16]",
        "ldp x29, x9, [x29]",
    ] {
        judge(
            A64,
            &format!(
                "fn f\n stp x29, x30, [sp, #-16]!\n mov x29, sp\n bl g | sp+16 ra=c-8\n nop | sp+16 ra=c-8; not fp+16 ra=c-8\n\
                 ldp x29, x30, [sp], #16\n ret\n end\n fn g\n cbz x1, 1f\n nop\n 1: {load}\n ret\n end"
            ),
        );
    }
    judge(
        A32,
        "fn f\n push {r11, lr}\n mov r11, sp\n bl g | sp+8 ra=c-4\n nop | sp+8 ra=c-4; not fp+8 ra=c-4\n pop {r11, pc}\n end\n\
         fn g\n cmp r1, #0\n beq 1f\n nop\n 1: ldr r11, [r11]\n bx lr\n end",
    );
}

/// An address that is taken at a way out says nothing of what the other ways there break.
#[test]
fn an_address_that_is_taken_at_a_way_out_hides_nothing() {
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n call g | sp+16\n nop | not fp+16\n leave\n ret\n end\n\
         fn g\n lea 1f(%rip), %rax\n mov %rax, hook(%rip)\n test %edi, %edi\n je 1f\n xor %ebp, %ebp\n 1: ret\n end\n .data\n hook: .quad 0",
    );
    judge(
        A64,
        "fn f\n stp x29, x30, [sp, #-16]!\n mov x29, sp\n bl g | sp+16 ra=c-8\n nop | not sp+16 ra=c-8\n ldp x29, x30, [sp], #16\n ret\n end\n\
         fn g\n adr x9, 1f\n str x9, [x0]\n cbz x1, 1f\n sub sp, sp, #16\n 1: ret\n end",
    );
    // Code that nothing reaches runs into the way out.
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n call g | sp+16\n nop | not fp+16\n leave\n ret\n end\n\
         fn g\n test %edi, %edi\n je 1f\n xor %ebp, %ebp\n jmp 1f\n cld\n 1: ret\n end",
    );
}

/// A register that was loaded from a place that is not followed may be right. It says nothing of a way on which it is lost.
#[test]
fn a_load_that_is_not_followed_hides_nothing() {
    let pushed = "push %rbp\n mov %rsp, %rcx\n sub %rsi, %rsp\n mov 8(%rsp), %rbp\n mov %rcx, %rsp\n pop %rax";
    for [first, second] in [[pushed, "xor %ebp, %ebp"], ["xor %ebp, %ebp", pushed]] {
        judge(
            X86,
            &format!(
                "fn f\n push %rbp\n mov %rsp, %rbp\n call g | sp+16\n nop | not fp+16\n leave\n ret\n end\n\
                 fn g\n test %edi, %edi\n je 2f\n {first}\n jmp 3f\n 2: {second}\n 3: ret\n end"
            ),
        );
    }
}

/// A stack pointer that was moved by an unknown number points to no known word: what is loaded there is not the caller's.
#[test]
fn a_register_that_is_loaded_from_an_aligned_stack_is_lost() {
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n call g | sp+16\n nop | not fp+16\n leave\n ret\n end\n\
         fn g\n mov %rsp, %r11\n and $-32, %rsp\n mov (%rsp), %rbp\n mov %r11, %rsp\n ret\n end",
    );
    judge(
        A64,
        "fn f\n stp x29, x30, [sp, #-16]!\n mov x29, sp\n bl g | sp+16 ra=c-8\n nop | not fp+16 ra=c-8\n ldp x29, x30, [sp], #16\n ret\n end\n\
         fn g\n mov x9, sp\n cbz x1, 1f\n sub sp, sp, x1\n 1: ldr x29, [sp]\n mov sp, x9\n ret\n end",
    );
}

/// Code that is entered at an address inside of a function breaks what it changes.
#[test]
fn code_that_is_entered_in_the_middle_breaks_what_it_changes() {
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n call g | sp+16\n nop | not fp+16\n leave\n ret\n end\n\
         fn g\n push $0\n lea 2f(%rip), %rax\n mov %rax, hook(%rip)\n call h\n 1: pop %rax\n ret\n 2: mov $5, %ebp\n jmp 1b\n end\n fn h\n ret\n end\n\
         .data\n hook: .quad 0",
    );
}

/// A coroutine keeps no register that it does not load.
#[test]
fn a_switch_to_a_stack_in_a_register_loses_registers() {
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n call g | sp+16\n nop | not fp+16\n leave\n ret\n end\n fn g\n xchg %rsp, %rbx\n ret\n end",
    );
}

/// A return that also removes arguments does not keep the stack pointer, on whatever stack.
#[test]
fn a_return_that_pops_more_breaks_the_stack_pointer() {
    judge(
        X86,
        "fn f\n push $1\n call g | sp+16\n nop | not sp+16\n pop %rax\n ret\n end\n\
         fn g\n mov %rsp, saved(%rip)\n mov %rdi, %rsp\n call *%rsi\n mov saved(%rip), %rsp\n ret $8\n end\n .data\n saved: .quad 0",
    );
}
