//! What remains where ways meet, what instructions compute, and which parts of a row are compared.

use row_checker::architecture::Architecture as _;
use row_checker::instruction::{Effect, Operand, Size};
use row_checker::state::State;
use row_checker::value::Value;
use row_checker::x86_64::X86 as Amd64;

use super::support::Set::{A32, A64, T32, X86};
use super::support::judge;

/// Words of the stack that differ between two ways, or that one way alone stores, are not known.
#[test]
fn words_that_differ_between_ways_are_lost() {
    for other in ["push %rbx", "push %rax", "push $0", "pushf"] {
        judge(
            X86,
            &format!(
                "fn f\n cmp %rdi, %rsi\n je 2f\n push %rbp\n jmp 3f | sp+16 fp=c-16\n 2: {other}\n\
             3: xor %ebp, %ebp | sp+16 fp=same; not sp+16 fp=c-16\n nop | sp+16; not sp+16 fp=c-16; not sp+16 fp=same\n pop %rax\n ret\n end"
            ),
        );
        judge(
            X86,
            &format!(
                "fn f\n cmp %rdi, %rsi\n je 2f\n {other}\n jmp 3f | sp+16\n 2: push %rbp\n\
             3: xor %ebp, %ebp | sp+16\n nop | sp+16; not sp+16 fp=c-16\n pop %rax\n ret\n end"
            ),
        );
    }
    judge(
        X86,
        "fn f\n cmp %rdi, %rsi\n je 2f\n push %rbp\n jmp 3f\n 2: push %rbp\n 3: xor %ebp, %ebp\n nop | sp+16 fp=c-16; not sp+16 fp=same\n pop %rbp\n ret\n end",
    );
    judge(
        A64,
        "fn f\n sub sp, sp, #16\n cbz x0, 2f\n str x30, [sp, #8]\n 2: nop | sp+16; not sp+16 ra=c-8\n mov x30, #0\n nop | not sp+16; not sp+16 ra=c-8\n ret\n end",
    );
    for set in [A32, T32] {
        judge(
            set,
            "fn f\n sub sp, sp, #8\n cmp r0, #0\n beq 2f\n str r4, [sp, #4]\n 2: movs r4, #1 | sp+8 r4=same; not sp+8 r4=c-4\n nop | sp+8; not sp+8 r4=c-4\n\
             ldr r4, [sp, #4]\n add sp, sp, #8\n bx lr\n end",
        );
    }
}

/// Constants that are added to the stack pointer.
#[test]
fn numbers_are_added_and_subtracted() {
    judge(
        X86,
        "fn f\n mov $64, %eax\n sub %rax, %rsp | sp+8\n nop | sp+72; not sp-56\n mov $32, %ecx\n add %rcx, %rsp\n nop | sp+40; not sp+104; not sp+72\n add $32, %rsp\n ret | sp+8; not sp+40\n end",
    );
    judge(
        X86,
        "fn f\n dec %rsp\n inc %rsp | sp+9; not sp+8\n lea -24(%rsp), %rsp\n xor %eax, %eax | sp+32\n sub %rax, %rsp\n lea 24(%rsp), %rsp | sp+32; not sp+8\n ret | sp+8\n end",
    );
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n mov (%rdi), %rax\n sub %rax, %rsp\n nop | fp+16 fp=c-16; not sp+16; not sp+24\n leave\n ret\n end",
    );
    judge(
        A64,
        "fn f\n mov x9, #2\n sub sp, sp, x9, lsl #4\n nop | sp+32; not sp-32; not sp+2\n add sp, sp, x9, lsl #4\n nop | sp+0; not sp+32; not sp+64\n ret | sp+0\n end",
    );
    judge(
        A64,
        "fn f\n movz x9, #0x10, lsl #16\n movk x9, #0x20\n sub sp, sp, x9\n nop | sp+1048608; not sp+1048576; not sp+32\n add sp, sp, x9\n ret | sp+0\n end",
    );
    judge(
        A64,
        "fn f\n sub sp, sp, #1, lsl #12\n nop | sp+4096; not sp+1\n add sp, sp, #4096\n ret | sp+0; not sp+4096\n end",
    );
    judge(
        A32,
        "fn f\n mov r3, #64\n sub sp, sp, r3\n nop | sp+64; not sp-64\n add sp, sp, r3\n bx lr | sp+0; not sp+64\n end",
    );
    judge(
        T32,
        "fn f\n movs r3, #64\n add sp, r3\n nop | sp-64; not sp+64\n sub sp, #128\n add sp, sp, #64 | sp+64\n bx lr | sp+0; not sp+64\n end",
    );
}

/// Behind a loop that probes the stack, the stack pointer is the register that it was compared with.
#[test]
fn loops_that_probe_the_stack_end_at_the_compared_register() {
    judge(
        X86,
        "fn f\n push %rbp\n lea -8192(%rsp), %r11\n 2: sub $4096, %rsp | not sp+16; r11+8208\n orq $0, (%rsp)\n cmp %r11, %rsp | not sp+16; r11+8208\n\
         jne 2b | not sp+8208; r11+8208\n nop | sp+8208 fp=c-16; not sp+4112; not sp+16\n add $8192, %rsp\n pop %rbp\n ret\n end",
    );
    judge(
        A64,
        "fn f\n sub x9, sp, #8192\n 2: sub sp, sp, #4096\n str xzr, [sp]\n cmp sp, x9\n b.ne 2b | not sp+8192; r9+8192\n nop | sp+8192; not sp+4096\n add sp, sp, #8192\n ret | sp+0\n end",
    );
    // A store after the comparison does not change A64's flags.
    judge(
        A64,
        "fn f\n sub x9, sp, #8192\n 2: sub sp, sp, #4096\n cmp sp, x9\n str xzr, [sp]\n b.ne 2b | not sp+8192; r9+8192\n nop | sp+8192; not sp+4096\n add sp, sp, #8192\n ret | sp+0\n end",
    );
    let not = |between: &str, branch: &str| {
        judge(
            X86,
            &format!(
                "fn f\n push %rbp\n lea -8192(%rsp), %r11\n 2: sub $4096, %rsp\n cmp %r11, %rsp\n {between}\n {branch} 2b\n nop | not sp+8208\n mov $8192, %eax\n add %rax, %rsp\n ret\n end"
            ),
        );
    };
    // Other flags, another branch, or a way around the comparison.
    not("cmp %rax, %rdx", "jne");
    not("test %rax, %rax", "jne");
    not("sub $8, %rsp", "jne");
    not("add $8, %r11", "jne");
    not("", "ja");
    not("", "js");
    judge(
        X86,
        "fn f\n lea -8192(%rsp), %r11\n 2: sub $4096, %rsp\n cmp %r11, %rsp\n je 3f\n cld | not sp+8200\n jmp 2b\n 3: ret\n end",
    );
    judge(
        X86,
        "fn f\n lea -8192(%rsp), %r11\n 2: sub $4096, %rsp\n cmp %r11, %rsp\n 3: jne 2b\n cld | not sp+8200\n cmp %rax, %rdx\n jmp 3b\n end",
    );
    judge(
        X86,
        "fn f\n push %rbp\n lea -8192(%rsp), %r11\n 2: sub $4096, %rsp\n cmp %rax, %rdx\n je 3f\n cmp %r11, %rsp\n 3: jne 2b\n nop | not sp+8208\n ret\n end",
    );
    judge(
        X86,
        "fn f\n push %rbp\n lea -8192(%rsp), %r11\n cmp %r11, %rsp\n jne 2f\n ret\n 2: nop | sp+16; not sp+8208\n pop %rbp\n ret\n end",
    );
    judge(
        X86,
        "fn f\n push %rbp\n lea -8192(%rsp), %r11\n 2: sub $4096, %rsp\n cmp %r11, %rsp\n je 3f\n jmp 2b\n 3: nop | not sp+16; not sp+4112\n ret\n end",
    );
}

/// The canonical frame address, the return address and the frame pointer are compared, and each may be lost but the first two.
#[test]
fn every_part_of_a_row_is_compared() {
    judge(
        X86,
        "fn f\n push %rbp | sp+8 fp=same; not sp+16; not fp+8; not (sp+8); not r16+0; not sp+8 ra=c-16; not sp+8 ra=r16+0; not sp+8 ra=same\n\
         mov %rsp, %rbp | sp+16 fp=c-16; sp+16; not sp+16 ra=c-16; not sp+16 fp=c-8; not fp+16\n\
         nop | fp+16 fp=c-16; not fp+8; not fp+16 fp=same; not fp+16 fp=c-24; not sp+16 ra=(sp+0)\n pop %rbp\n ret\n end",
    );
    judge(
        A64,
        "fn f\n stp x29, x30, [sp, #-16]! | sp+0 fp=same; not r32+0; not sp+0 ra=r32+0; not sp+0 ra=c-8; not sp+0 fp=c-16\n\
         mov x29, sp | sp+16 ra=c-8 fp=c-16; not sp+16 ra=c-16 fp=c-16; not sp+16 ra=c-8 fp=c-8; not sp+16 ra=r32+0\n ldp x29, x30, [sp], #16\n ret | sp+0 fp=same\n end",
    );
    // A row that counts from another register.
    judge(
        X86,
        "fn f\n lea 8(%rsp), %r10\n and $-32, %rsp | r10+0; sp+8\n push -8(%r10) | r10+0; not sp+8\n push %rbp | r10+0; not sp+16\n\
         mov %rsp, %rbp | r10+0; not r10+8\n push %r10 | r10+0\n nop | r10+0; not (fp+0); not (sp+0)\n ret\n end",
    );
}

/// Authentication is of a signed address.
#[test]
fn authentication_of_an_unsigned_address_loses_it() {
    judge(
        A64,
        "fn f\n hint #29 | sp+0\n ret | not sp+0; not sp+0 signed\n end",
    );
    judge(
        A64,
        "fn f\n hint #25 | sp+0\n hint #25 | sp+0 signed\n nop | not sp+0 signed; not sp+0\n ret\n end",
    );
}

/// A part of a word that is stored keeps nothing of the word.
#[test]
fn stores_of_a_part_of_a_word_keep_nothing() {
    let convention = Amd64.convention();
    let stack_pointer = convention.stack_pointer;
    for (bytes, is_known) in [(8, true), (4, false), (16, false), (1, false)] {
        let mut state = State::called(convention);
        let store = Effect::Store {
            base: stack_pointer,
            offset: -16,
            size: Size::Bytes(bytes),
            value: Operand::Sum(stack_pointer, 0),
        };
        state.apply(&[store], convention, 128, 0, &|_| None);
        let found = state
            .slots
            .iter()
            .any(|(at, value)| *at == -24 && matches!(value, Value::Cfa(-8)));
        assert_eq!(found, is_known, "{bytes} bytes");
    }
}

/// Several callers of a label that does not come back as callees do.
#[test]
fn code_behind_a_call_that_is_a_jump_is_entered() {
    let code = "fn k\n call f\n ret\n end\n fn f\n push %rbp\n mov %rsp, %rbp\n cmp $1, %edi\n je 1f\n test %esi, %esi\n jz 4f\n call save | sp+16\n 4: nop | fp+16; not sp+16\n\
         leave\n ret\n 1: test %esi, %esi\n jz 4f\n call save\n 4: nop | fp+16; not sp+16; not sp+32\n leave\n ret\n end\n\
         save: pop %rdx\n push %r12\n push %r13\n jmp *%rdx";
    judge(X86, &code.replace("fp+16; ", ""));
    // With one caller it is known.
    judge(
        X86,
        "fn k\n call f\n ret\n end\n fn f\n push %rbp\n mov %rsp, %rbp\n call save | sp+16\n nop | sp+32; not sp+16\n leave\n ret\n end\n\
         save: pop %rdx\n push %r12\n push %r13\n jmp *%rdx",
    );
}

/// What the code before a declared entry has in another place, or has overwritten, is not in the declared place.
#[test]
fn a_declared_entry_of_trap_code_is_compared_with_all_that_is_known() {
    judge(
        X86,
        "fn entry trap\n push %rax | (sp+24) ra=(sp+0)\n pop %rax | (sp+32) ra=(sp+8)\n jmp common\n end\n\
         fde trap\n fn common trap\n nop | not (sp+32) ra=(sp+8)\n iretq\n end\n endfde\n .data\n idt: .quad entry",
    );
}

/// What one path knows decides nothing where code is also entered in an unknown way.
#[test]
fn a_value_of_one_path_does_not_hold_for_an_unknown_entry() {
    judge(
        X86,
        "fn f\n test %edi, %edi\n je 2f\n 1: jmp *%rsi\n 2: nop | not sp+8\n ret\n\
         t: jmp 3f\n 3: jmp 4f\n 4: jmp 5f\n 5: jmp 6f\n 6: jmp 7f\n 7: jmp 8f\n 8: jmp 1b\n end\n fn k\n call f\n ret\n end\n .data\n .quad t",
    );
    judge(
        X86,
        "red 128\n fn f\n test %edi, %edi\n je 2f\n mov $60, %eax\n 1: syscall\n 2: nop | not sp+8\n ret\n\
         t: jmp 3f\n 3: jmp 4f\n 4: jmp 5f\n 5: jmp 6f\n 6: jmp 7f\n 7: jmp 8f\n 8: jmp 1b\n end\n fn k\n call f\n ret\n end\n .data\n .quad t",
    );
}

/// A stack pointer that is loaded on one path and moved on another one is not kept.
#[test]
fn a_stack_pointer_that_is_loaded_on_one_path_only_is_not_kept() {
    let [load, pop] = ["mov (%rdi), %rsp", "pop %rcx\n pop %rax\n push %rcx"];
    for [first, second] in [[load, pop], [pop, load]] {
        judge(
            X86,
            &format!(
                "fn f\n push $1\n call g | sp+16\n nop | not sp+16\n pop %rax\n ret\n end\n\
                 fn g\n test %edi, %edi\n je 1f\n {first}\n jmp 2f\n 1: {second}\n 2: ret\n end"
            ),
        );
    }
}
