//! Trap code that stubs call: the return address is on top of what the CPU has saved (x86-64).

use super::support::Set::X86;
use super::support::judge;

/// Returns trap code that replaces the return address with a number, calls a function, and removes an error code before the return.
fn common(row: impl Fn(u32) -> String) -> String {
    format!(
        "fn common trap\n push %rbp | {}\n movzbl 8(%rsp), %edi | {}\n mov %rdi, 8(%rsp) | {}\n call handle | {}\n pop %rbp | {}\n\
         add $16, %rsp | {}\n iretq | {}\n end\n fn handle\n ret\n end\n",
        row(16),
        row(24),
        row(24),
        row(24),
        row(24),
        row(16),
        row(0)
    )
}

fn right(above: u32) -> String {
    format!(
        "(sp+{}) ra=(sp+{above}); not (sp+{}) ra=(sp+{}); not sp+8",
        above + 24,
        above + 32,
        above + 8
    )
}

fn refused(above: u32) -> String {
    format!("not (sp+{}) ra=(sp+{above})", above + 24)
}

/// One function contains all stubs, and code computes their addresses: only the first one is entered in a known state.
#[test]
fn trap_code_that_stubs_call_has_rows() {
    let stubs = "fn stubs trap\n push $0 | (sp+24) ra=(sp+0); not sp+8\n call common | (sp+32) ra=(sp+8); not sp+16\n nop\n rows\n\
         push $0 | not sp+8; not sp+24; not sp+40\n call common\n nop\n call common | not sp+8; not sp+16\n end\n";
    let taken = ".section .rodata\n .quad stubs";
    judge(X86, &format!("{stubs}{}{taken}", common(right)));
    // The stub of an exception with an error code, and one whose rows are not marked.
    let stubs = "fn stub trap\n call common | (sp+32) ra=(sp+8); not sp+8\n end\n fn other\n push $0 | not sp+8\n call common | not sp+16\n end\n";
    let taken = ".section .rodata\n .quad stub\n .quad other";
    judge(X86, &format!("{stubs}{}{taken}", common(right)));
}

/// Trap code with an entry for each kind of exception: one has only a return address on top of what the CPU has saved.
#[test]
fn trap_code_has_an_entry_for_stubs_with_an_error_code() {
    judge(
        X86,
        "fn first trap\n call without | (sp+24) ra=(sp+0)\n .byte 0x90\n end\n\
         fn second trap\n call with | (sp+32) ra=(sp+8)\n .byte 0x90\n end\n\
         fn without trap\n push %rax | (sp+32) ra=(sp+8); not (sp+40) ra=(sp+16)\n jmp 5f | (sp+40) ra=(sp+16)\n end\n\
         fn with trap\n xchg %rax, (%rsp) | (sp+40) ra=(sp+16); not (sp+32) ra=(sp+8)\n rows trap\n\
         5: push %rdi | (sp+40) ra=(sp+16)\n pop %rdi | (sp+48) ra=(sp+24)\n add $16, %rsp | (sp+40) ra=(sp+16)\n\
         iretq | (sp+24) ra=(sp+0)\n end\n .section .rodata\n .quad first\n .quad second",
    );
}

/// A stub that pushes a different number of words.
#[test]
fn a_stub_with_a_different_stack_refutes_the_rows() {
    for push in ["", "push $0\n push $1\n"] {
        let stub = format!("fn stub trap\n nop | (sp+24) ra=(sp+0)\n {push} call common\n end\n");
        let taken = ".section .rodata\n .quad stub";
        judge(X86, &format!("{stub}{}{taken}", common(refused)));
    }
}

/// Functions that are called, and then call the code: what it returns to lies elsewhere.
#[test]
fn functions_that_call_trap_code_refute_its_rows() {
    let taken = ".section .rodata\n .quad stub";
    for code in [
        "call common",
        "push %rbx\n call common",
        "sub $40, %rsp\n call common",
    ] {
        judge(
            X86,
            &format!(
                "fn stub trap\n push $0 | (sp+24) ra=(sp+0)\n call common\n end\n fn k\n call f\n ret\n end\n fn f\n {code}\n end\n{}{taken}",
                common(refused)
            ),
        );
    }
    // A function that returns is not trap code.
    judge(
        X86,
        "fn f\n push %rbx\n call worker | sp+16\n pop %rbx | sp+16; not sp+8\n ret | sp+8\n end\n\
         fn worker trap\n nop | not (sp+40) ra=(sp+16); not sp+8\n ret\n end",
    );
}
