//! Where code is entered, and what is known there.

use super::support::Set::{A32, A64, T32, X86};
use super::support::judge;

/// An address inside a function that data holds, or that code names, may be entered with any state.
#[test]
fn addresses_inside_a_function_are_entered_with_nothing_known() {
    let code = "push %rbx\n inside: nop | not sp+8; not sp+16\n pop %rbx | not sp+16\n ret\n end";
    judge(
        X86,
        &format!("fn f\n {code}\n .section .rodata\n .quad inside"),
    );
    judge(
        X86,
        &format!("fn f\n {code}\n fn g\n lea inside(%rip), %rax\n ret\n end"),
    );
    judge(
        X86,
        &format!("fn f\n {code}\n fn g\n mov $inside, %eax\n ret\n end"),
    );
    judge(
        X86,
        &format!("fn f\n {code}\n fn g\n push $inside\n pop %rax\n ret\n end"),
    );
    // Reading the program counter is none.
    judge(
        X86,
        "fn f\n push %rbx\n 1: lea 1b(%rip), %rbx | sp+16\n lea 2f(%rip), %rax | sp+16; not sp+8\n 2: pop %rbx | sp+16\n ret\n end",
    );
    let code = "sub sp, sp, #16\n inside: nop | not sp+0; not sp+16\n add sp, sp, #16\n ret\n end";
    judge(
        A64,
        &format!("fn f\n {code}\n .section .rodata\n .p2align 3\n .quad inside"),
    );
    judge(
        A64,
        &format!("fn f\n {code}\n fn g\n adr x0, inside\n ret\n end"),
    );
    judge(
        A64,
        &format!("fn f\n {code}\n fn g\n adrp x0, inside\n add x0, x0, :lo12:inside\n ret\n end"),
    );
    for set in [A32, T32] {
        let code =
            "sub sp, sp, #16\n inside: nop | not sp+0; not sp+16\n add sp, sp, #16\n bx lr\n end";
        judge(
            set,
            &format!("fn f\n {code}\n .section .rodata\n .p2align 2\n .long inside"),
        );
        judge(
            set,
            &format!("fn f\n {code}\n fn g\n ldr r0, =inside\n bx lr\n .ltorg\n end"),
        );
        judge(
            set,
            &format!(
                "fn f\n {code}\n fn g\n movw r0, #:lower16:inside\n movt r0, #:upper16:inside\n bx lr\n end"
            ),
        );
    }
}

/// Data among code runs into the function behind it only as far as it is instructions, and zeros are none: such as the header by which
/// a boot loader knows a kernel, whose address is taken, before the kernel's first function.
#[test]
fn zeros_run_into_no_function() {
    let behind = |data: &str, rows: [&str; 2]| {
        let [first, second] = rows;
        let code = format!("fn f\n push %rbx {first}\n nop {second}\n pop %rbx\n ret\n end");
        judge(
            X86,
            &format!("header: {data}\n {code}\n .section .rodata\n .quad header"),
        );
    };
    behind("inc %eax\n .long 0", ["| sp+8", "| sp+16"]);
    behind("inc %eax", ["| not sp+8", "| not sp+16"]);
}

/// A function whose address is taken is called, and the same holds for one that nothing reaches.
#[test]
fn declared_functions_are_called() {
    judge(
        X86,
        "fn f\n push %rbx | sp+8; not sp+16\n pop %rbx | sp+16; not sp+8\n ret\n end",
    );
    judge(
        X86,
        "fn f\n push %rbx | sp+8; not sp+16\n pop %rbx | sp+16\n ret\n end\n .section .rodata\n .quad f",
    );
    judge(
        X86,
        "fn f\n push %rbx | sp+8\n pop %rbx | sp+16\n ret\n end\n fn g\n lea f(%rip), %rax\n ret\n end",
    );
    judge(
        A64,
        "fn f\n sub sp, sp, #16 | sp+0; not sp+16\n add sp, sp, #16 | sp+16; not sp+0\n ret\n end\n .section .rodata\n .p2align 3\n .quad f",
    );
    // A function to which only jumps lead is entered by these alone.
    judge(
        X86,
        "fn g\n cld\n nop | sp+24; not sp+8\n ret\n end\n fn f\n sub $16, %rsp\n jmp g | sp+24\n end",
    );
    // A function in whose middle another one jumps, and which nobody calls, is entered all the same.
    judge(
        X86,
        "fn f\n push %rbx\n jmp 3f | sp+16\n end\n fn g\n nop | sp+8\n 3: cld | not sp+8; not sp+16\n ret\n end",
    );
}

/// If the first row of a function is not that of a call, nothing is known unless the code calls the function.
#[test]
fn functions_whose_first_row_is_no_call_are_entered_with_nothing_known() {
    judge(
        X86,
        "fn f\n nop | not sp+24\n ret | not sp+8; not sp+24\n end\n .section .rodata\n .quad f",
    );
    judge(
        X86,
        "fn f\n nop | not sp+24\n ret | not sp+24\n end\n fn g\n call f | sp+8\n ret\n end",
    );
    judge(
        A64,
        "fn f\n nop | not sp+16\n ret | not sp+16\n end\n .section .rodata\n .p2align 3\n .quad f",
    );
    // The entry of the image is not called.
    judge(X86, "fn _start\n nop | not sp+8\n hlt | not sp+8\n end");
}

/// A call brings the state of a call, also into the middle of a function.
#[test]
fn calls_bring_the_state_of_a_call() {
    judge(
        X86,
        "fn f\n push %rbx\n call 3f | sp+16\n pop %rbx | sp+16\n ret | sp+8\n 3: nop | sp+8; not sp+24; not sp+16\n ret | sp+8\n end",
    );
    // The code behind the pop returns to the caller of `g`.
    judge(
        X86,
        "fn f\n push %rbx\n 3: nop | sp+16; not sp+8\n pop %rbx\n ret\n end\n fn g\n call 3b\n ret\n end",
    );
    judge(
        A64,
        "fn f\n sub sp, sp, #16\n 3: nop | not sp+16; not sp+0\n add sp, sp, #16\n ret\n end\n fn g\n str x30, [sp, #-16]!\n bl 3b\n ldr x30, [sp], #16\n ret\n end",
    );
    judge(
        A32,
        "fn f\n sub sp, sp, #16\n 3: nop | not sp+16; not sp+0\n add sp, sp, #16\n bx lr\n end\n fn g\n push {r4, lr}\n bl 3b\n pop {r4, pc}\n end",
    );
    // Under a condition as well.
    judge(
        A32,
        "fn f\n nop | sp+0; not sp+8\n bx lr | sp+0\n end\n fn g\n push {r4, lr}\n cmp r0, #0\n blne f | sp+8 ra=c-4\n nop | sp+8 ra=c-4; not sp+8\n pop {r4, pc}\n end",
    );
}

/// A return to an address of code that was pushed continues there.
#[test]
fn pushed_addresses_are_returned_to() {
    for push in [
        "lea 3f(%rip), %rax\n push %rax",
        "mov $3f, %eax\n push %rax",
        "push $3f",
    ] {
        judge(
            X86,
            &format!(
                "fn f\n push %rbx\n {push}\n ret | sp+24 ra=c-8\n 3: nop | not sp+8\n pop %rbx\n ret\n end"
            ),
        );
    }
}

/// Code that nothing reaches has no proven row.
#[test]
fn code_that_nothing_reaches_is_refused() {
    judge(
        X86,
        "fn f\n push %rbx\n jmp 3f | sp+16\n cld | not sp+16; not sp+8\n 3: pop %rbx | not sp+16\n ret\n end",
    );
    judge(
        X86,
        "fn f\n ret | sp+8\n cld | not sp+8\n ret | not sp+8\n end",
    );
    judge(
        X86,
        "fn f\n ret | sp+8\n nop | not sp+8\n nop | not sp+8\n end",
    );
    judge(
        A64,
        "fn f\n ret | sp+0\n add x0, x0, #1 | not sp+0\n ret | not sp+0\n end",
    );
    judge(A64, "fn f\n ret | sp+0\n nop | not sp+0\n end");
    for set in [A32, T32] {
        judge(
            set,
            "fn f\n bx lr | sp+0\n adds r0, r0, #1 | not sp+0\n bx lr | not sp+0\n end",
        );
    }
}

/// Landing pads are entered from the calls of their range, with the stack pointer moved by the arguments' size.
#[test]
fn landing_pads_have_the_states_of_their_calls() {
    judge(
        X86,
        "fn leaf\n ret\n end\n fn f\n push %rbp\n mov %rsp, %rbp\n push %rbx\n from: call leaf | sp+24\n to: push $1\n push $2\n call leaf | sp+40\n pop %rax\n pop %rax\n pop %rbx\n leave\n ret\n\
         pad from to landing 0\n landing: cld | sp+24 fp=c-16; not sp+40; not sp+8\n pop %rbx\n leave\n ret\n end",
    );
    judge(
        X86,
        "fn leaf\n ret\n end\n fn f\n push %rbp\n mov %rsp, %rbp\n push $1\n push $2\n from: call leaf | sp+32\n to: leave\n ret\n\
         pad from to landing 16\n landing: cld | sp+16; not sp+32\n leave | fp+16\n ret\n end",
    );
    judge(
        X86,
        "fn leaf\n ret\n end\n fn f\n push %rbp\n mov %rsp, %rbp\n from: call leaf | sp+16\n push $1\n call leaf | sp+24\n to: leave\n ret\n\
         pad from to landing 0\n landing: cld | fp+16; not sp+16; not sp+24\n leave | fp+16\n ret\n end",
    );
    // A call that does not return may throw.
    judge(
        X86,
        "fn leaf\n 3: jmp 3b\n end\n fn f\n push %rbp\n mov %rsp, %rbp\n push $1\n from: call leaf | sp+24\n to:\n pad from to landing 0\n landing: cld | sp+24; not sp+16\n leave\n ret\n end",
    );
    judge(
        A64,
        "fn leaf\n ret\n end\n fn f\n stp x29, x30, [sp, #-32]!\n mov x29, sp\n from: bl leaf | sp+32 ra=c-24\n to: nop\n ldp x29, x30, [sp], #32\n ret\n\
         pad from to landing 0\n landing: nop | sp+32 ra=c-24; not sp+0; not sp+32\n ldp x29, x30, [sp], #32\n ret\n end",
    );
}

/// Rows that start anew in the middle of a function, as where a tool has corrected a part, do not make this place a function.
#[test]
fn starts_of_rows_do_not_declare_functions() {
    judge(
        X86,
        "fn f\n jmp back\n end\n fn back\n call 1f | sp+8\n 0: pause\n jmp 0b\n rows\n 1: lea 8(%rsp), %rsp | sp+16; not sp+8\n\
         ret | sp+8; not sp+0\n end",
    );
    judge(
        X86,
        "fn f\n push %rbx\n nop | sp+16\n ret\n rows\n inside: nop | not sp+8\n ret\n end\n .section .rodata\n .quad inside",
    );
}

/// A linkage table's entries are called by the addresses that the linker has written.
#[test]
fn addresses_in_linkage_are_called() {
    judge(
        X86,
        "fn f\n call *slot(%rip)\n ret\n end\n .section .plt, \"ax\"\n rows\n stub: nop | sp+8; not sp+16\n jmp *other(%rip) | sp+8\n fn last\n ret\n end\n\
         .data\n slot: .quad stub\n other: .quad 0",
    );
}

/// A thunk calls a function by a return to its address. The function has a frame of its own, of which no row of the thunk's caller follows.
#[test]
fn functions_that_a_thunk_returns_to_have_their_own_frame() {
    judge(
        X86,
        "fn top\n call f\n ret\n end\n fn f\n push %rbx\n lea leaf(%rip), %rbx\n jmp 2f | sp+16\n 0: call 1f\n 3: pause\n jmp 3b\n\
         1: mov %rbx, (%rsp)\n ret\n 2: call 0b | sp+16\n nop | not sp+8; not sp+24\n pop %rbx\n ret\n end\n\
         fn leaf\n mov $9, %eax | not sp+8; not sp+24\n ret\n end",
    );
}

/// Code that a boot loader enters in 32-bit mode has other instructions, up to a far jump: no row holds in it.
#[test]
fn code_of_another_mode_has_no_rows() {
    for (enter, none, called) in [
        ("", "none", "sp+8; not sp+16"),
        ("enter32 _start\n", "not none", "not sp+8"),
    ] {
        judge(
            X86,
            &format!(
                "{enter} fn _start\n mov $0x1000, %esp | {none}\n call check | {none}\n cli\n .byte 0xea\n .long main\n .word 8\n 9: jmp 9b\n end\n\
                 fn check\n nop | {called}\n cmp %ecx, %eax | {called}\n je 3f\n ret | {called}\n 3: hlt | {called}\n jmp 3b\n end\n\
                 fn main\n push %rbx | sp+8\n pop %rbx | sp+16\n ret\n end"
            ),
        );
    }
}

/// Zeros between constants are no traps at which control continues.
#[test]
fn zeros_behind_a_trap_lead_nowhere() {
    judge(
        A64,
        "fn start\n adr x0, top\n mov sp, x0\n mov x30, xzr\n bl main\n brk #0\n .word 0xfefefefe\n .word 0\n .word 0xfefefefe\n .word 0\n end\n\
         fn leaf\n sub sp, sp, #16 | sp+0\n nop | sp+16; not sp+0\n add sp, sp, #16\n ret\n end\n\
         fn main\n str x30, [sp, #-16]!\n bl leaf | sp+16 ra=c-16\n ldr x30, [sp], #16\n ret\n end\n .data\n top: .quad 0",
    );
}

/// Code that cannot be reached may run into the function behind it.
#[test]
fn functions_that_control_only_falls_into_are_called() {
    judge(
        X86,
        "fn leaf\n ret\n end\n fn f\n push %rbx\n call leaf | sp+16\n out %eax, $4\n end\n .p2align 4\n fn g\n nop | not sp+16; not sp+8\n ret\n end",
    );
    // With the state of an entry, it is the same.
    judge(
        X86,
        "fn f\n inc %eax | sp+8\n end\n fn g\n nop | sp+8; not sp+16\n ret\n end",
    );
    // A symbol in the middle of a declared function is a part of it.
    judge(
        X86,
        "fde\n fn f\n push %rbx\n end\n fn part bare\n rows\n nop | sp+16; not sp+8\n pop %rbx\n ret\n end\n endfde",
    );
}

/// In a range without calls any instruction throws, before it has changed anything.
#[test]
fn landing_pads_have_the_states_of_instructions_that_throw() {
    judge(
        X86,
        "fn die\n 3: jmp 3b\n end\n fn f\n push %rbp\n mov %rsp, %rbp\n push %rbx\n from: mov (%rdi), %eax | sp+24\n to: pop %rbx\n leave\n ret\n\
         push $1\n push $2\n call die\n pad from to landing 0\n landing: cld | sp+24 fp=c-16; not sp+40; not sp+8\n pop %rbx\n leave\n ret\n end",
    );
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n from: pop (%rdi) | sp+16\n to: ret\n\
         pad from to landing 0\n landing: cld | sp+16 fp=c-16; not sp+8\n leave\n ret\n end",
    );
    // Registers that callees do not keep are lost.
    judge(
        X86,
        "fn f\n push %rbx\n mov %rsp, %rbx\n mov %rsp, %rcx\n from: mov (%rdi), %eax | r2+16\n to: pop %rbx\n ret\n\
         pad from to landing 0\n landing: nop | r3+16; not r2+16\n pop %rbx\n ret\n end",
    );
}

/// A function has more parts with symbols of their own than a few.
#[test]
fn functions_have_any_number_of_parts() {
    let parts: Vec<String> = (1..=12)
        .map(|part| format!("fn s{part} bare\n rows\n mov ${part}, %edi | sp+16; not sp+8\n call leaf | sp+16\n end"))
        .collect();
    judge(
        X86,
        &format!(
            "fn leaf\n ret\n end\n fde\n fn f\n push %rbx\n end\n {}\n rows\n pop %rbx | sp+16\n ret | sp+8\n endfde",
            parts.join("\n ")
        ),
    );
}
