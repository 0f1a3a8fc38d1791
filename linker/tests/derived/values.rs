//! Values in memory that change without the search knowing: a branch that it takes for never taken is taken.

use super::{AARCH64, ARM, X86_64, judge};

/// A function with a frame pointer, whose frame is 64 bytes larger if a word of the stack is not what was stored before `change`.
fn x86_64(change: &str) -> String {
    format!(
        "
.type other, %function
other:
 movq $9, (%rdi) | sp+8
 ret | sp+8
.size other, . - other
.type outer, %function
outer:
 push %rbp | sp+8
 mov %rsp, %rbp | sp+16
 sub $32, %rsp | sp+16
 movq $1, 8(%rsp) | sp+48
 {change}
 cmpq $1, 8(%rsp) | sp+48
 je 2f | sp+48
 sub $64, %rsp | sp+48
2: call other | fp+16
 leave | fp+16
 ret | sp+8
.size outer, . - outer
"
    )
}

/// The argument is at most 3 where it is spilled. After the call it is read again, and chooses one of six entries.
#[test]
fn callee_changes_a_spilled_word() {
    judge(
        "derived-spill",
        X86_64,
        "
.type other, %function
other:
 movq $9, (%rdi) | sp+8
 ret | sp+8
.size other, . - other
.type outer, %function
outer:
 push %rbp | sp+8
 mov %rsp, %rbp | sp+16
 sub $32, %rsp | sp+16
 cmp $3, %rdi | sp+48
 ja 2f | sp+48
 mov %rdi, 8(%rsp) | sp+48
 lea 8(%rsp), %rdi | sp+48
 call other | sp+48
 mov 8(%rsp), %rax | sp+48
 cmp $5, %rax | sp+48
 ja 2f | sp+48
 jmp *table(,%rax,8) | sp+48
3: sub $64, %rsp | sp+48
2: call other | fp+16
 leave | fp+16
 ret | sp+8
.size outer, . - outer
.section .rodata
table: .quad 2b, 2b, 2b, 2b, 2b, 3b
",
    );
}

#[test]
fn system_call_changes_a_word() {
    let change = "lea 8(%rsp), %rdi\n xor %eax, %eax\n syscall | sp+48";
    judge("derived-system-call", X86_64, &x86_64(change));
}

#[test]
fn store_of_many_bytes_changes_a_word() {
    for (number, change) in [
        "mov %rsp, %rdi\n mov $4, %ecx\n rep stosq | sp+48",
        "mov %rsp, %rdi\n mov %rbp, %rsi\n mov $2, %ecx\n rep movsq | sp+48",
        "bts %rdi, (%rsp) | sp+48",
    ]
    .into_iter()
    .enumerate()
    {
        judge(&format!("derived-many-{number}"), X86_64, &x86_64(change));
    }
}

#[test]
fn store_through_a_pointer_changes_a_word() {
    // The pointer leads to another word after the call.
    let change = "lea (%rsp), %rdi\n mov %rdi, 16(%rsp)\n lea 16(%rsp), %rdi\n call other | sp+48\n movq $1, 8(%rsp)\n \
                  mov 16(%rsp), %rax\n movq $7, (%rax) | sp+48";
    judge("derived-pointer", X86_64, &x86_64(change));
}

#[test]
fn store_through_a_pointer_changes_a_word_aarch64() {
    judge(
        "derived-pointer-aarch64",
        AARCH64,
        "
.type other, %function
other:
 str x1, [x0] | sp+0
 ret | sp+0
.size other, . - other
.type outer, %function
outer:
 stp x29, x30, [sp, #-64]! | sp+0
 mov x29, sp | sp+64
 add x2, sp, #16 | sp+64
 str x2, [sp, #32] | sp+64
 add x0, sp, #32 | sp+64
 bl other | sp+64
 mov x3, #1 | sp+64
 str x3, [sp, #24] | sp+64
 ldr x2, [sp, #32] | sp+64
 mov x3, #7 | sp+64
 str x3, [x2] | sp+64
 ldr x3, [sp, #24] | sp+64
 cmp x3, #1 | sp+64
 b.eq 2f | sp+64
 sub sp, sp, #64 | sp+64
2: bl other | fp+64
 mov sp, x29 | fp+64
 ldp x29, x30, [sp], #64 | sp+64
 ret | sp+0
.size outer, . - outer
",
    );
}

#[test]
fn store_through_a_pointer_changes_a_word_arm() {
    judge(
        "derived-pointer-arm",
        ARM,
        "
.type other, %function
other:
 str r1, [r0] | sp+0
 bx lr | sp+0
.size other, . - other
.type outer, %function
outer:
 push {r11, lr} | sp+0
 mov r11, sp | sp+8
 sub sp, sp, #16 | sp+8
 str sp, [sp, #8] | sp+24
 add r0, sp, #8 | sp+24
 bl other | sp+24
 mov r3, #1 | sp+24
 str r3, [sp, #4] | sp+24
 ldr r2, [sp, #8] | sp+24
 mov r3, #7 | sp+24
 str r3, [r2] | sp+24
 ldr r3, [sp, #4] | sp+24
 cmp r3, #1 | sp+24
 beq 2f | sp+24
 sub sp, sp, #64 | sp+24
2: bl other | fp+8
 mov sp, r11 | fp+8
 pop {r11, pc} | sp+8
.size outer, . - outer
",
    );
}

/// Code jumps over the first byte of an instruction, so that two instructions overlap. The row of one of them is written.
#[test]
fn rows_of_instructions_that_overlap_are_not_both_proven() {
    let program = "\
.type other, %function
other:
.cfi_startproc
movq $9, (%rdi)
ret
.cfi_endproc
.size other, . - other
.type outer, %function
outer:
.cfi_startproc
sub $24, %rsp
.cfi_adjust_cfa_offset 24
movq $1, (%rsp)
mov %rsp, %rdi
xor %eax, %eax
syscall
cmpq $1, (%rsp)
je 3f
.cfi_remember_state
.cfi_adjust_cfa_offset 16
test %edi, %edi
jz 2f
push %rbx
jmp 2f + 1
2:
.byte 0xa9, 0x48, 0x83, 0xc4, 0x08
nop
3:
.cfi_restore_state
mov %rsp, %rdi
call other
add $24, %rsp | sp+32
.cfi_adjust_cfa_offset -24
ret | sp+8
.cfi_endproc
.size outer, . - outer
";
    judge("derived_overlap", X86_64, program);
}
