//! Trap code, and code without a caller.

use super::support::Set::{A32, A64, T32, X86};
use super::support::judge;

/// The state of trap code is what its first row claims, followed to the trap return.
#[test]
fn trap_code_is_followed_from_its_first_row() {
    judge(
        X86,
        "fn entry trap\n push %rax | (sp+24) ra=(sp+0)\n push %rbp | (sp+32) ra=(sp+8); not (sp+24) ra=(sp+0)\n\
         mov %rsp, %rbp | (sp+40) ra=(sp+16) fp=(sp+0); not (sp+40) ra=(sp+8); not (sp+32) ra=(sp+16)\n\
         call handle | (sp+40) ra=(sp+16); not (sp+40) ra=(sp+16) fp=same\n\
         pop %rbp | (sp+40) ra=(sp+16) fp=(sp+0); not (sp+48) ra=(sp+16)\n pop %rax | (sp+32) ra=(sp+8) fp=same\n iretq | (sp+24) ra=(sp+0); not (sp+32) ra=(sp+8)\n end\n\
         fn handle\n ret\n end\n .section .rodata\n .quad entry",
    );
    // An error code is removed before the return.
    judge(
        X86,
        "fn entry trap\n push %rax | (sp+32) ra=(sp+8)\n pop %rax | (sp+40) ra=(sp+16)\n add $8, %rsp | (sp+32) ra=(sp+8)\n iretq | (sp+24) ra=(sp+0); not (sp+32) ra=(sp+8)\n end",
    );
    judge(
        X86,
        "fn entry trap\n push %rax | (sp+24) ra=(sp+0)\n movq $0, 8(%rsp) | (sp+32) ra=(sp+8)\n pop %rax | not (sp+32) ra=(sp+8)\n iretq | not (sp+24) ra=(sp+0)\n end",
    );
    // The interrupted stack pointer is overwritten.
    judge(
        X86,
        "fn entry trap\n push %rax | (sp+24) ra=(sp+0)\n movq $0, 32(%rsp) | (sp+32) ra=(sp+8)\n pop %rax | not (sp+32) ra=(sp+8)\n iretq | not (sp+24) ra=(sp+0)\n end",
    );
    judge(
        A64,
        "fn entry trap\n sub sp, sp, #32 | sp+0 ra=r33+0\n str x9, [sp] | sp+32 ra=r33+0; not sp+0 ra=r33+0\n mrs x9, elr_el1 | sp+32 ra=r33+0\n\
         str x9, [sp, #8] | sp+32 ra=r9+0; not sp+32\n bl handle | sp+32 ra=c-24; not sp+32 ra=c-16\n ldr x9, [sp, #8] | sp+32 ra=c-24; not sp+16 ra=c-24\n\
         msr elr_el1, x9 | sp+32 ra=r9+0\n ldr x9, [sp] | sp+32 ra=r33+0\n add sp, sp, #32 | sp+32 ra=r33+0\n eret | sp+0 ra=r33+0; not sp+32 ra=r33+0\n end\n fn handle\n ret\n end",
    );
}

/// A call at the end of trap code does not continue if it would return to padding that traps, nor does a trap there. Directives that end
/// after a call of the handler may be followed by the code after it, which other padding does not prevent.
#[test]
fn trap_code_ends_before_padding_that_traps() {
    let next = "fn next\n push %rax | sp+8\n pop %rax | sp+16\n ret | sp+8\n end\n fn handle\n 3: jmp 3b\n end\n .section .rodata\n .quad entry";
    let entry = |end: &str| format!("fn entry trap\n push %rax | if (sp+24) ra=(sp+0)\n {end}\n");
    for end in [
        "call *(%rdi) | if (sp+32) ra=(sp+8)\n end\n int3\n int3",
        "call *(%rdi) | if (sp+32) ra=(sp+8)\n ud2\n end",
        "ud2\n end",
    ] {
        judge(X86, &format!("{}{next}", entry(end)));
    }
    // The call may return into the next function.
    let refused = next.replace("| sp+", "| not sp+");
    for padding in ["", " nop\n"] {
        let entry = entry("call *(%rdi)\n end").replace("if (", "not (");
        judge(X86, &format!("{entry}{padding}{refused}"));
    }
}

/// Rows of trap code that never returns hold if the processor enters it, which the code does not show.
#[test]
fn trap_code_that_never_returns_holds_if_the_processor_enters_it() {
    let handler = |end: &str| {
        format!(
            "fn handler trap\n push %rdi | if (sp+24) ra=(sp+0); not sp+8\n\
             sub $16, %rsp | if (sp+32) ra=(sp+8); not (sp+24) ra=(sp+0)\n\
             call handle | if (sp+48) ra=(sp+24); not (sp+32) ra=(sp+8)\n {end}\n end\n"
        )
    };
    let (handle, taken) = (
        "fn handle\n ret\n end\n",
        ".section .rodata\n .quad handler",
    );
    for end in [
        "3: jmp 3b | if (sp+48) ra=(sp+24)",
        "ud2 | if (sp+48) ra=(sp+24)\n 6: jmp 6b",
        "4: hlt\n jmp 4b",
    ] {
        judge(X86, &format!("{}{handle}{taken}", handler(end)));
    }
    // Code to which only it jumps is as it is.
    let jumps = handler("jmp common");
    judge(
        X86,
        &format!(
            "{jumps}{handle}fn common trap\n nop | if (sp+48) ra=(sp+24); not (sp+24) ra=(sp+0)\n 5: jmp 5b\n end\n{taken}"
        ),
    );
    // Code that something else jumps to, too.
    judge(
        X86,
        &format!(
            "{jumps}{handle}fn common trap\n nop | not (sp+48) ra=(sp+24)\n 5: jmp 5b\n end\nfn other\n jmp common\n end\n{taken}"
        ),
    );
    // It is called, jumped to, returns to a caller, or jumps anywhere.
    let refused = handler("3: jmp 3b").replace("if (", "not (");
    for other in ["call handler\n ret", "jmp handler"] {
        judge(
            X86,
            &format!("fn other\n {other}\n end\n{refused}{handle}{taken}"),
        );
    }
    for end in ["ret", "jmp *%rax"] {
        let refused = handler(end).replace("if (", "not (");
        judge(X86, &format!("{refused}{handle}{taken}"));
    }
}

/// The mark of trap code holds only where control reaches a trap return, and only rows with the mark hold there.
#[test]
fn trap_rows_hold_in_trap_code_only() {
    // It pushes a register and clears a flag, as handlers do, and returns to a caller, or never.
    for end in ["pop %rdi\n ret", "3: jmp 3b", "call leaf\n ud2"] {
        judge(
            X86,
            &format!(
                "fn leaf\n ret\n end\n fn worker trap\n push %rdi | not (sp+24) ra=(sp+0)\n cld | not (sp+32) ra=(sp+8)\n {end}\n end\n .section .rodata\n .quad worker"
            ),
        );
    }
    // A common part, after code that nothing reaches, without the mark.
    judge(
        X86,
        "fn entry trap\n push $0 | (sp+24) ra=(sp+0)\n jmp 5f | (sp+32) ra=(sp+8)\n push $1\n rows\n\
         5: push %rdi | not (sp+32) ra=(sp+8); not sp+8; not sp+32\n pop %rdi | not (sp+40) ra=(sp+16)\n add $8, %rsp\n iretq | not (sp+24) ra=(sp+0)\n end\n .section .rodata\n .quad entry",
    );
    judge(
        X86,
        "fn entry trap\n push $0 | (sp+24) ra=(sp+0)\n jmp 5f | (sp+32) ra=(sp+8)\n rows trap\n\
         5: push %rdi | (sp+32) ra=(sp+8); not (sp+24) ra=(sp+0)\n pop %rdi | (sp+40) ra=(sp+16); not sp+8\n add $8, %rsp | (sp+32) ra=(sp+8)\n iretq | (sp+24) ra=(sp+0); not sp+8\n end\n .section .rodata\n .quad entry",
    );
    // Called code with the mark, and trap code without.
    judge(
        X86,
        "fn worker trap\n nop | not sp+8; not (sp+24) ra=(sp+0)\n ret | not sp+8\n end\n fn f\n call worker\n ret\n end",
    );
    judge(
        A64,
        "fn entry trap\n sub sp, sp, #32 | sp+0 ra=r33+0\n rows\n add sp, sp, #32 | not sp+32 ra=r33+0\n eret | not sp+0 ra=r33+0\n end",
    );
    judge(
        A64,
        "fn worker trap\n stp x0, x1, [sp, #-16]! | not sp+0 ra=r33+0\n ldp x0, x1, [sp], #16 | not sp+16 ra=r33+0\n ret | not sp+0 ra=r33+0\n end",
    );
}

/// A stub that jumps to trap code is entered as that is: rows of a call do not hold.
#[test]
fn stubs_of_trap_code_are_not_called() {
    let common = "fn common trap\n push %rax | (sp+24) ra=(sp+0)\n pop %rax | (sp+32) ra=(sp+8)\n iretq | (sp+24) ra=(sp+0)\n end\n .section .rodata\n .quad";
    judge(
        X86,
        &format!(
            "fn stub trap\n cmpl $0, 0x1000 | (sp+24) ra=(sp+0)\n jmp common | (sp+24) ra=(sp+0); not (sp+40) ra=(sp+0)\n end\n {common} stub"
        ),
    );
    judge(
        X86,
        "fn stub\n cmpl $0, 0x1000 | not sp+8\n jmp common | not sp+8\n end\n fn common trap\n push %rax\n pop %rax\n iretq\n end\n .section .rodata\n .quad stub",
    );
    judge(
        A64,
        "fn stub\n cbz x0, 3f | not sp+0\n 3: b common | not sp+0\n end\n fn common\n sub sp, sp, #16 | not sp+0\n add sp, sp, #16\n eret\n end\n .section .rodata\n .p2align 3\n .quad stub",
    );
    for set in [A32, T32] {
        judge(
            set,
            "fn stub\n nop | not sp+0\n b common | not sp+0\n end\n fn common\n push {r0} | not sp+0\n pop {r0}\n subs pc, lr, #4\n end\n .section .rodata\n .p2align 2\n .long stub",
        );
    }
}

/// Trap code and called code that meet are neither.
#[test]
fn trap_code_that_is_called_has_no_rows() {
    judge(
        X86,
        "fn entry trap\n push %rax | (sp+24) ra=(sp+0)\n jmp 5f | (sp+32) ra=(sp+8)\n end\n fn f\n push %rbx\n jmp 5f | sp+16\n end\n fn k\n call f\n ret\n end\n\
         fn shared bare\n rows\n 5: nop | not sp+16; not sp+8\n rows trap\n pop %rax | not (sp+32) ra=(sp+8)\n iretq | not (sp+24) ra=(sp+0)\n end",
    );
}

/// A row without a caller holds where nothing that was called arrives.
#[test]
fn rows_without_a_caller_are_refused_in_called_code() {
    judge(
        X86,
        "fn _start\n xor %ebp, %ebp | none\n call f | none\n 3: hlt | none\n jmp 3b | none\n end\n fn f\n push %rbx | not none; sp+8\n pop %rbx | sp+16; not none\n ret | sp+8; not none\n end",
    );
    judge(
        X86,
        "fn _start\n call f | none\n end\n fn f\n jmp g | sp+8; not none\n end\n fn g\n nop | sp+8; not none\n 3: jmp 3b | sp+8; not none\n end",
    );
    judge(
        X86,
        "fn task\n xor %ebp, %ebp | none\n call f | none; not sp+8\n ud2\n end\n fn f\n ret | sp+8\n end\n .section .rodata\n .quad task",
    );
    judge(
        A64,
        "fn _start\n mov x30, #0 | none\n bl f | none; not sp+0\n 3: b 3b | none; not sp+0\n end\n fn f\n ret | sp+0; not none\n end",
    );
    for set in [A32, T32] {
        judge(
            set,
            "fn _start\n movs r0, #0 | none\n bl f | none; not sp+0\n 3: b 3b | none\n end\n fn f\n bx lr | sp+0; not none\n end",
        );
    }
    // Where both arrive there is no row.
    judge(
        X86,
        "fn _start\n jmp 5f | none\n end\n fn k\n call f\n ret\n end\n fn f\n 5: nop | not none; not sp+8\n ret | not none; not sp+8\n end",
    );
    // The ways with a caller still count for what the code breaks.
    judge(
        X86,
        "fn _start\n mov $1, %ebp | none\n jmp 5f | none\n end\n fn k\n push %rbp\n mov %rsp, %rbp\n call f\n nop | sp+16; not fp+16\n leave\n ret\n end\n\
         fn f\n mov $1, %ebp\n 5: nop\n ret\n end",
    );
}

/// A trap continues at the next instruction, except at the end of a function.
#[test]
fn traps_continue_within_their_function() {
    judge(
        X86,
        "fn f\n push %rbx\n cmp %rdi, %rsi\n je 3f\n push $1\n ud2 | sp+24\n 3: pop %rbx | not sp+16; not sp+24\n ret | not sp+8\n end",
    );
    judge(
        X86,
        "fn f\n push %rbx\n ud2 | sp+16\n pop %rbx | sp+16; not sp+8\n ret | sp+8\n end",
    );
    judge(
        X86,
        "fn f\n push %rbx\n cmp %rdi, %rsi\n je 3f\n push $1\n int3 | sp+24\n 3: pop %rbx | not sp+16; not sp+24\n ret | not sp+8\n end",
    );
    judge(
        A64,
        "fn f\n sub sp, sp, #16\n brk #1 | sp+16\n add sp, sp, #16 | sp+16; not sp+0\n ret | sp+0\n end",
    );
    judge(
        A64,
        "fn f\n sub sp, sp, #16\n cbz x0, 3f\n sub sp, sp, #16\n brk #1 | sp+32\n 3: add sp, sp, #16 | not sp+16; not sp+32\n ret | not sp+0\n end",
    );
    for set in [A32, T32] {
        judge(
            set,
            "fn f\n sub sp, sp, #16\n udf #1 | sp+16\n add sp, sp, #16 | sp+16; not sp+0\n bx lr | sp+0\n end",
        );
    }
    // The code after a call that does not return is reached only if the call is assumed to return.
    judge(
        X86,
        "fn f\n push %rbx\n call 3f | sp+16\n pop %rbx | sp+16; not sp+8\n ret\n end\n fn g\n 3: jmp 3b\n end",
    );
}

/// Boot code as it is written by hand has no declared end: a trap in it is the last instruction before a function if only traps and padding
/// are between them. Of code that is called this is not believed.
#[test]
fn a_trap_ends_code_without_a_caller() {
    let code = |row: &str, end: &str, first: &str| {
        format!(
            "rows\n boot: xor %eax, %eax | {row}\n call main\n {end}\n .balign 16, 0xcc\n fn f\n nop {first}\n ret\n end\n\
             fn main\n call f\n ret\n end\n .data\n .quad boot"
        )
    };
    let called = "| sp+8; not none";
    judge(X86, &code("none", "ud2", called));
    judge(X86, &code("none", "ud2\n int3\n nop", called));
    // The linker's padding alone.
    judge(X86, &code("none", "", called));
    judge(X86, &code("none", "hlt", called));
    judge(X86, &code("none", "ud2\n .balign 16, 0x90", called));
    let falls = "xor %eax, %eax\n .balign 16, 0x90";
    judge(X86, &code("none", falls, "| not sp+8"));
    judge(X86, &code("none", &format!("ud2\n {falls}"), "| not sp+8"));
    // Code that may be called.
    judge(X86, &code("not sp+8", "ud2", "| not sp+8"));
}

/// No handler resumes at data.
#[test]
fn traps_before_data_do_not_continue() {
    judge(
        A32,
        "fn f\n cmp r0, #0\n beq 3f\n udf #0\n .long 0\n 3: bx lr\n end\n fn g\n push {r11, lr}\n bl f\n nop | sp+8 ra=c-4; not sp+0\n pop {r11, pc}\n end",
    );
}

/// The interrupted stack pointer of a saved word has no known distance from the frame of trap code.
#[test]
fn trap_rows_do_not_count_from_a_saved_stack_pointer() {
    judge(
        X86,
        "fn entry trap\n push %rax | (sp+24) ra=(sp+0)\n push %rbp | (sp+32) ra=(sp+8); not (sp+32) ra=c-32\n\
         pop %rbp | (sp+40) ra=(sp+16); not (sp+40) ra=c-32; not (sp+40) ra=(sp+16) fp=c-48\n pop %rax\n iretq | (sp+24) ra=(sp+0)\n end",
    );
}

/// A handler may resume behind a trap also where neither the stack pointer nor the frame pointer is known.
#[test]
fn traps_with_an_unknown_stack_may_resume() {
    let rest = "fn setup\n ret\n end\n fn other\n call work\n ret\n end";
    for (trap, row) in [
        ("ud2", "not sp+8"),
        ("nop", "not sp+8"),
        ("3: jmp 3b", "sp+8; not sp+16"),
        // Nothing leads to the trap.
        ("3: jmp 3b\n ud2", "sp+8; not sp+16"),
    ] {
        judge(
            X86,
            &format!(
                "fn _start bare\n call setup\n {trap}\n work:\n rows\n push %rbx | {row}\n pop %rbx\n ret\n {rest}"
            ),
        );
    }
    judge(
        X86,
        "fn f\n push %rbx\n push %rbp\n mov %rsp, %rbx\n mov %rdi, %rbp\n test %rdi, %rdi\n jz 1f\n sub %rdi, %rsp\n ud2\n\
         1: nop | not sp+24\n lea (%rbx), %rsp | not sp+24; r3+24 fp=c-24\n pop %rbp | sp+24 fp=c-24\n pop %rbx\n ret | sp+8\n end",
    );
    judge(
        A64,
        "fn _start bare\n bl setup\n brk #0x800\n work:\n rows\n stp x29, x30, [sp, #-16]! | not sp+0\n bl setup | not sp+16 ra=c-8\n\
         ldp x29, x30, [sp], #16\n ret\n fn setup\n ret\n end\n fn other\n stp x29, x30, [sp, #-16]!\n bl work\n ldp x29, x30, [sp], #16\n ret\n end",
    );
}

/// A return from a trap to a constant leads there: also that of code without a caller, whose stack is not known.
#[test]
fn returns_from_a_trap_lead_to_constants() {
    let main = |row| {
        format!(
            "fn main\n push %rbx | {row}\n call leaf\n pop %rbx | {row}\n ret\n end\n fn leaf\n ret\n end"
        )
    };
    for start in [
        "push $0x10\n push $top\n push $2\n push $8\n push $main\n iretq",
        "lea top(%rip), %rsp\n push $0x10\n push $top\n push $2\n push $8\n lea main(%rip), %rax\n push %rax\n iretq",
        "mov $top, %rsp\n push $8\n push $main\n lretq",
    ] {
        judge(
            X86,
            &format!(
                "fn _start\n nop | none\n {start}\n end\n {}\n .data\n top: .quad 0",
                main("none; not sp+8")
            ),
        );
    }
    // A call leads there, too.
    judge(
        X86,
        &format!(
            "fn _start\n push $8\n push $main\n lretq\n end\n fn f\n call main\n ret\n end\n {}",
            main("not sp+8; not none")
        ),
    );
    for register in ["elr_el1", "elr_el2", "elr_el3"] {
        judge(
            A64,
            &format!(
                "fn _start\n bl leaf | none\n adr x0, main | none\n msr {register}, x0 | none\n mov x1, #0x3c5\n msr spsr_el1, x1\n eret | none\n end\n\
                 fn main\n stp x29, x30, [sp, #-16]! | none; not sp+0\n bl leaf | none\n ldp x29, x30, [sp], #16\n ret\n end\n fn leaf\n ret | sp+0\n end"
            ),
        );
    }
    // The stack pointer is that of another level.
    judge(
        A64,
        "fn f\n stp x29, x30, [sp, #-16]!\n mov x29, sp\n adr x0, 1f\n msr elr_el2, x0\n eret | sp+16 ra=c-8\n 1: nop | not sp+16 ra=c-8; fp+16 ra=c-8\n\
         mov sp, x29 | fp+16 ra=c-8\n ldp x29, x30, [sp], #16 | sp+16 ra=c-8\n ret | sp+0\n end\n fn g\n str x30, [sp, #-16]!\n bl f\n nop | sp+16 ra=c-16\n ldr x30, [sp], #16\n ret\n end",
    );
}

/// The processor aligns the stack before it saves the interrupted state: the interrupted stack pointer is in the word that it saves, and at no
/// distance that is known.
#[test]
fn interrupted_stack_pointers_are_at_no_known_distance() {
    judge(
        X86,
        "fn entry trap\n nop | not sp+40 ra=c-40\n push %rax | not sp+40 ra=c-40; (sp+24) ra=(sp+0)\n pop %rax | not sp+48 ra=c-40; (sp+32) ra=(sp+8)\n\
         iretq | not sp+40 ra=c-40; (sp+24) ra=(sp+0)\n end",
    );
    judge(
        X86,
        "fn entry trap\n nop | not sp+48 ra=c-40\n push %rax | not sp+48 ra=c-40; (sp+32) ra=(sp+8)\n pop %rax | (sp+40) ra=(sp+16)\n\
         add $8, %rsp | (sp+32) ra=(sp+8)\n iretq | (sp+24) ra=(sp+0); not (sp+32) ra=(sp+8)\n end",
    );
}
