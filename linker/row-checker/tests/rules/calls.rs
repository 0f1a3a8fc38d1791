//! Which calls return, where functions end, and what callees keep.

use super::support::Set::{A32, A64, T32, X86};
use super::support::judge;

/// A caller with a frame pointer, whose frame is 80 bytes larger behind `call` than on the other way.
fn x86(call: &str, rest: &str) -> String {
    format!(
        "fn caller\n push %rbp\n mov %rsp, %rbp\n cmp %rdi, %rsi\n je 2f\n {call} | sp+16; not sp+8\n sub $80, %rsp\n\
         2: nop | fp+16; not sp+16; not sp+96\n leave | fp+16\n ret\n end\n{rest}"
    )
}

fn a64(call: &str, rest: &str) -> String {
    format!(
        "fn caller\n stp x29, x30, [sp, #-16]!\n mov x29, sp\n cbz x0, 2f\n {call} | sp+16 ra=c-8; not sp+0 ra=c-8\n sub sp, sp, #80\n\
         2: nop | fp+16 ra=c-8; not sp+16 ra=c-8; not sp+96 ra=c-8\n mov sp, x29\n ldp x29, x30, [sp], #16\n ret\n end\n{rest}"
    )
}

/// A call returns if its callee reaches any way out.
#[test]
fn calls_return_over_each_way_out_x86_64() {
    for callee in [
        "ret",
        "cmp %rdi, %rsi\n je 3f\n ud2\n 3: ret",
        // Out of a loop that ends by its counter.
        "mov $3, %ecx\n 3: nop\n loope 3b\n ret",
        "call other\n ret\n end\n fn other\n ret",
        // The callee's end is the end of another function.
        "jmp other\n end\n fn other\n ret",
        "push %rbx\n pop %rbx\n end\n fn other\n ret",
        // A pushed address of its own.
        "lea 3f(%rip), %rax\n push %rax\n jmp other\n 3: ret\n end\n fn other\n ret",
        "lea 3f(%rip), %rax\n push %rax\n ret\n 3: ret",
        "mov $3f, %eax\n push %rax\n ret\n 3: ret",
        "push $3f\n ret\n 3: ret",
        // An interrupt frame that leads to its own code.
        "mov %rsp, %rcx\n push $0\n push %rcx\n pushf\n push $8\n lea 3f(%rip), %rax\n push %rax\n iretq\n 3: ret",
        "jmp *%rax",
        "jmp *8(%rdi)",
        "jmp *slot(%rip)\n .data\n slot: .quad 0\n .text",
        // With a table that leads to a loop.
        "lea 7f(%rip), %rdx\n cmp %rdi, %rsi\n je 5f\n jmp *%rax\n 5: jmp 5b\n .section .rodata\n 7: .quad 5b\n .text",
        // Tasks are switched.
        "mov %rsp, (%rdi)\n mov (%rsi), %rsp\n jmp *8(%rsi)\n 3: ret",
        "mov %rsp, (%rdi)\n mov (%rsi), %rsp\n ret",
        // A trap is resumed, as there is code behind it.
        "ud2\n ret",
        "int3\n ret",
        "call *%rax\n ret",
    ] {
        judge(
            X86,
            &x86("call callee", &format!("fn callee\n {callee}\n end")),
        );
    }
    judge(X86, &x86("call *%rax", ""));
    judge(X86, &x86("call *8(%rdx)", ""));
}

#[test]
fn calls_return_over_each_way_out_aarch64() {
    for callee in [
        "ret",
        "cbz x0, 3f\n brk #1\n 3: ret",
        "str x30, [sp, #-16]!\n bl other\n ldr x30, [sp], #16\n ret\n end\n fn other\n ret",
        "b other\n end\n fn other\n ret",
        "str x30, [sp, #-16]!\n ldr x30, [sp], #16\n end\n fn other\n ret",
        "br x3",
        "ret x30",
        "brk #1\n ret",
        "udf #1\n ret",
        "blr x8\n ret",
        "mov x9, sp\n str x9, [x0]\n ldr x9, [x1]\n mov sp, x9\n ldr x9, [x1, #8]\n br x9",
    ] {
        let callee = match callee {
            // The link register is the caller's: kept in x19 by this caller.
            "blr x8\n ret" => "stp x29, x30, [sp, #-16]!\n blr x8\n ldp x29, x30, [sp], #16\n ret",
            callee => callee,
        };
        judge(
            A64,
            &a64("bl callee", &format!("fn callee\n {callee}\n end")),
        );
    }
    judge(A64, &a64("blr x8", ""));
}

/// A callee that no way out is reached from does not return, so that the code behind the call has the other way's state.
#[test]
fn calls_of_endless_functions_do_not_return() {
    let callees = [
        "3: jmp 3b",
        "ud2",
        "3: hlt\n jmp 3b",
        "call callee",
        "push %rax\n call other\n end\n fn other\n 3: jmp 3b",
    ];
    for callee in callees {
        judge(
            X86,
            &format!(
                "fn caller\n push %rbx\n cmp %rdi, %rsi\n je 2f\n call callee | sp+16\n\
             2: pop %rbx | sp+16; not sp+8\n ret\n end\n fn callee\n {callee}\n end"
            ),
        );
        judge(
            X86,
            &format!(
                "fn caller\n push %rbp\n mov %rsp, %rbp\n cmp %rdi, %rsi\n je 2f\n sub $64, %rsp\n call callee\n\
             2: nop | sp+16; not sp+80\n leave\n ret\n end\n fn callee\n {callee}\n end"
            ),
        );
    }
    judge(
        A64,
        "fn caller\n stp x29, x30, [sp, #-16]!\n cbz x0, 2f\n sub sp, sp, #32\n bl callee\n\
         2: nop | sp+16 ra=c-8; not sp+48 ra=c-8\n ldp x29, x30, [sp], #16\n ret\n end\n fn callee\n b callee\n end",
    );
    for set in [A32, T32] {
        judge(
            set,
            "fn caller\n push {r4, lr}\n cmp r0, #0\n beq 2f\n sub sp, sp, #32\n bl callee\n\
             2: nop | sp+8 ra=c-4; not sp+40 ra=c-4\n pop {r4, pc}\n end\n fn callee\n b callee\n end",
        );
    }
}

/// A call at a function's end does not return there if a symbol with a size or call frame information declares the end.
#[test]
fn calls_at_a_declared_end_do_not_return_there() {
    let other = "fn other\n 2: nop | sp+8; not sp+16\n ret\n end\n";
    judge(
        X86,
        &format!("fn f\n push %rax\n call *%rdi | sp+16\n end\n {other}"),
    );
    judge(
        X86,
        &format!("fn f bare\n rows\n fde\n push %rax\n call *%rdi | sp+16\n endfde\n {other}"),
    );
    judge(
        X86,
        &format!("fn f\n push %rax\n call *%rdi | sp+16\n nop\n int3\n end\n {other}"),
    );
    judge(
        X86,
        &format!("fn f\n push %rax\n ud2 | sp+16\n ud2\n end\n {other}"),
    );
    judge(
        A64,
        "fn f\n sub sp, sp, #16\n blr x0 | sp+16; not sp+0\n end\n fn other\n nop | not sp+16\n ret\n end",
    );
}

/// Borders of rows alone, such as a tool makes at plain labels, are no end: the call returns into the next label's code.
#[test]
fn calls_before_a_label_return() {
    judge(
        X86,
        "fn leaf\n ret\n end\n fn copy bare\n rows\n push %rbx\n call leaf | sp+16\n\
         next:\n rows\n dec %rdx | sp+16; not sp+8\n jnz next\n done:\n rows\n pop %rbx | sp+16; not sp+8\n ret | sp+8",
    );
    judge(
        A64,
        "fn leaf\n ret\n end\n fn copy bare\n rows\n str x30, [sp, #-16]!\n bl leaf | sp+16 ra=c-16\n\
         next:\n rows\n subs x2, x2, #1 | sp+16 ra=c-16; not sp+0; not sp+16\n b.ne next\n ldr x30, [sp], #16\n ret | sp+0",
    );
    for set in [A32, T32] {
        judge(
            set,
            "fn leaf\n bx lr\n end\n fn copy bare\n rows\n push {r3, lr}\n bl leaf | sp+8 ra=c-4\n\
             next:\n rows\n subs r2, r2, #1 | sp+8 ra=c-4; not sp+0; not sp+8\n bne next\n pop {r3, pc}",
        );
    }
    // Call frame information that ends too early is an end by its author's word; the symbol's size says more.
    judge(
        X86,
        "fn leaf\n ret\n end\n fn wait\n fde\n push %rbx\n call leaf | sp+16\n endfde\n nop | sp+16; not sp+8\n pop %rbx\n ret\n end",
    );
}

/// Call frame information that begins behind a push: control falls into its rows.
#[test]
fn rows_that_begin_behind_a_push_are_refused() {
    judge(
        X86,
        "fn wait bare\n endbr64\n push %rbx\n rows\n fde\n mov %rdi, %rbx | not sp+8\n\
         1: testb $1, (%rbx) | sp+16; not sp+8\n je 1b | sp+16\n pop %rbx | sp+16; not sp+8\n ret | sp+8\n endfde\n end\n\
         fn f\n sub $8, %rsp\n call wait\n add $8, %rsp | sp+16\n ret | sp+8\n end",
    );
    judge(
        A64,
        "fn wait bare\n str x30, [sp, #-16]!\n rows\n fde\n mov x9, x0 | not sp+0\n\
         1: ldr w1, [x9] | sp+16 ra=c-16; not sp+0\n cbz w1, 1b | sp+16 ra=c-16\n ldr x30, [sp], #16\n ret | sp+0\n endfde\n end\n\
         fn f\n str x30, [sp, #-16]!\n bl wait\n ldr x30, [sp], #16 | sp+16 ra=c-16\n ret\n end",
    );
}

/// Code that nothing declares begins at a row's function: `fde` without a symbol.
#[test]
fn what_a_callee_breaks_is_not_relied_on_x86_64() {
    for callee in [
        // The callee removes its argument, or pushes to its caller's stack.
        "ret $8",
        "pop %rax\n push %rbx\n jmp *%rax",
        // It goes back, with the return address still on the stack.
        "mov (%rsp), %rax\n jmp *%rax",
        "pop %rcx\n push %rdi\n push %rcx\n ret",
        "pop %rcx\n pop %rdx\n push %rdx\n push %rdi\n push %rcx\n ret",
        "pop %rcx\n pop %rdx\n push %rdx\n push %rdi\n jmp *%rcx",
        "push (%rsp)\n ret",
        "add $8, %rsp\n ret",
        // The return address is another one.
        "addq $2, (%rsp)\n ret",
        "mov %rax, (%rsp)\n ret",
        "movq $5, (%rsp)\n ret",
        "lea (%rsp), %rcx\n movl $5, (%rcx)\n ret",
        // The stack pointer is moved by an unknown number.
        "sub %rax, %rsp\n ret",
        "and $-16, %rsp\n ret",
        // A callee of the callee does.
        "call other\n ret\n end\n fn other\n ret $8",
        "jmp other\n end\n fn other\n pop %rax\n push %rcx\n jmp *%rax",
        "iretq",
        "lret",
        "ljmp *(%rdi)",
    ] {
        judge(
            X86,
            &format!(
                "fn top\n call f\n ret\n end\n fn f\n push %rbp\n mov %rsp, %rbp\n push $5\n call callee | sp+24\n\
             nop | not sp+24; not sp+16; not fp+16\n leave\n ret\n end\n fn callee bare\n {callee}\n end"
            ),
        );
    }
}

/// A register that a callee changes is lost behind the call, and others are not.
#[test]
fn registers_that_a_callee_changes_are_lost_x86_64() {
    for callee in [
        "mov $1, %ebp\n ret",
        "mov %rdi, %rbp\n ret",
        "xor %ebp, %ebp\n ret",
        "mov $1, %bpl\n ret",
        "mov (%rdi), %rbp\n ret",
        "pop %rcx\n push %rcx\n mov %rsp, %rbp\n ret",
        // What an outliner makes: a tail call with the register changed.
        "mov $1, %ebp\n jmp other\n end\n fn other\n ret",
        "add $64, %rbp\n jmp *%rax",
        "call other\n ret\n end\n fn other\n lea 8(%rbp), %rbp\n ret",
        // A callee's result.
        "push %rax\n call other\n pop %rcx\n mov %rax, %rbp\n ret\n end\n fn other\n ret",
        // Only on one way.
        "cmp %rdi, %rsi\n je 3f\n mov $1, %ebp\n 3: ret",
        // Saved, and restored from another word.
        "push %rbp\n push %rbx\n mov 8(%rsp), %rbx\n mov (%rsp), %rbp\n add $16, %rsp\n ret",
    ] {
        judge(
            X86,
            &format!(
                "fn f\n push %rbp\n mov %rsp, %rbp\n sub $32, %rsp\n call callee | fp+16\n\
             nop | sp+48 fp=c-16; not fp+16\n add $32, %rsp | sp+48; not fp+16\n pop %rbp\n ret | sp+8 fp=same\n end\n\
             fn callee bare\n {callee}\n end"
            ),
        );
        // The frame pointer is the caller's, which is never saved: it is lost.
        judge(
            X86,
            &format!(
                "fn f\n push %rax\n call callee | sp+16 fp=same\n pop %rax | sp+16; not sp+16 fp=same\n ret | sp+8; not sp+8 fp=same\n end\n\
             fn callee bare\n {callee}\n end"
            ),
        );
    }
    // rbx, as a stack pointer's copy.
    for (callee, row) in [
        ("ret", "sp+112"),
        ("push %rbx\n mov $3, %ebx\n pop %rbx\n ret", "sp+112"),
    ] {
        judge(
            X86,
            &format!(
                "fn f\n push %rbp\n mov %rsp, %rbp\n push %rbx\n sub $88, %rsp\n mov %rsp, %rbx\n call callee\n\
             mov %rbx, %rsp\n nop | {row}; not sp+48\n leave\n ret\n end\n fn callee\n {callee}\n end"
            ),
        );
    }
    for callee in [
        "sub $64, %rbx\n ret",
        "sub $64, %rbx\n jmp other\n end\n fn other\n ret",
    ] {
        judge(
            X86,
            &format!(
                "fn f\n push %rbp\n mov %rsp, %rbp\n push %rbx\n sub $88, %rsp\n mov %rsp, %rbx\n call callee\n\
             mov %rbx, %rsp | sp+112\n nop | not sp+112; not sp+48\n leave | fp+16\n ret\n end\n fn callee\n {callee}\n end"
            ),
        );
    }
}

/// A callee that goes elsewhere takes its caller along, also where the caller does not continue.
#[test]
fn callers_of_functions_that_return_elsewhere_may_return() {
    for callee in [
        "call other\n end\n fn other bare\n pop %rax\n pop %rcx\n jmp *%rcx",
        "call other\n end\n fn other bare\n add $8, %rsp\n ret",
        "ljmp *(%rdi)",
        "iretq",
        "nop\n nop",
    ] {
        judge(
            X86,
            &format!(
                "fn top\n call caller\n ret\n end\n fn caller\n push %rbp\n mov %rsp, %rbp\n cmp %rdi, %rsi\n je 2f\n call callee | sp+16\n sub $80, %rsp\n\
                 2: cld | not sp+16; not fp+16; not sp+96\n leave\n ret\n end\n fn callee bare\n {callee}\n end"
            ),
        );
    }
}

/// The same, where control comes to the code behind the call on another way too.
#[test]
fn calls_that_return_elsewhere_may_return_here() {
    for callee in [
        "call other\n end\n fn other bare\n pop %rax\n pop %rcx\n jmp *%rcx",
        "ljmp *(%rdi)",
        "iretq",
        "nop\n nop",
        // A call in the last place, next to a table that leads to a loop.
        "lea 7f(%rip), %rdx\n cmp %rdi, %rsi\n je 5f\n jmp *%rax\n 5: jmp 5b\n .section .rodata\n 7: .quad 5b\n .text",
        "jmp *slot(%rip)\n .data\n slot: .quad 0\n .text",
    ] {
        let text = format!(
            "fn top\n call caller\n ret\n end\n fn caller\n push %rbp\n mov %rsp, %rbp\n cmp %rdi, %rsi\n je 2f\n push $1\n call callee | sp+24\n\
             2: cld | not sp+16; not sp+24\n leave\n ret\n end\n fn callee bare\n {callee}\n end"
        );
        judge(X86, &text);
    }
}

/// The code after the trap was reached as long as the callee seemed to return. Nothing brings a state there any more.
#[test]
fn code_that_nothing_reaches_any_more_is_unproven() {
    judge(
        X86,
        "fn top\n call f\n ret\n end\n fn f\n push %rbx\n call callee | sp+16\n ud2\n nop | not sp+16\n pop %rbx | not sp+16\n ret | not sp+8\n end\n\
         fn callee bare\n addq $2, (%rsp)\n ret\n end",
    );
}

/// The function that follows a call at a function's end is called.
#[test]
fn functions_that_follow_their_call_are_called() {
    judge(
        X86,
        "fn f\n push %rbx\n call g | sp+16\n end\n fn g\n nop | sp+8; not sp+16\n 3: jmp 3b | sp+8\n end",
    );
    judge(
        A64,
        "fn f\n stp x29, x30, [sp, #-16]!\n bl g | sp+16 ra=c-8\n end\n fn g\n nop | sp+0; not sp+16 ra=c-8\n 3: b 3b | sp+0\n end",
    );
    for set in [A32, T32] {
        judge(
            set,
            "fn f\n push {r3, lr}\n bl g | sp+8 ra=c-4\n end\n fn g\n nop | sp+0; not sp+8 ra=c-4\n 3: b 3b | sp+0\n end",
        );
    }
    // Without a function there it reads the program counter.
    judge(
        A32,
        "fn f\n push {r3, lr}\n bl 3f\n 3: mov r0, lr | sp+8 ra=c-4; not sp+8\n pop {r3, pc} | sp+8 ra=c-4; not sp+0\n end",
    );
}

/// A callee that changes its return address may return to any instruction behind the call.
#[test]
fn a_callee_that_skips_instructions_returns_elsewhere() {
    for callee in [
        "addq $2, (%rsp)\n ret",
        "pop %rcx\n add $2, %rcx\n jmp *%rcx",
    ] {
        judge(
            X86,
            &format!(
                "fn f\n push %rbp\n mov %rsp, %rbp\n test %edi, %edi\n je 1f\n call g | sp+16\n jmp 2f\n 3: nop | not sp+24; not sp+16\n 2: leave\n ret\n\
                 1: push $0\n jmp 3b\n end\n fn g bare\n {callee}\n end\n fn k\n call f\n ret\n end"
            ),
        );
    }
}
