//! Indirect jumps: through tables, and through pointers.

use super::support::Set::{A32, A64, T32, X86};
use super::support::judge;

/// A jump through a table of words, of which one leads over a larger frame.
fn x86(jump: &str, data: &str) -> String {
    format!(
        "fn leaf\n ret\n end\n fn away bare\n leave\n ret\n end\n fn f\n push %rbp\n mov %rsp, %rbp\n sub $32, %rsp\n {jump}\n\
         one: nop | sp+48; not sp+16\n jmp 9f\n grow: sub $64, %rsp | sp+48; not sp+112\n\
         9: call leaf | fp+16; not sp+48; not sp+112\n leave\n ret\n end\n {data}"
    )
}

/// Every entry of a table is followed, whatever bounds the code compares with.
#[test]
fn tables_are_read_without_bounds_x86_64() {
    let words = ".section .rodata\n T: .quad one, one, one, grow";
    for jump in [
        "cmp $2, %edi\n ja 9f\n mov %edi, %edi\n jmp *T(,%rdi,8)",
        "and $1, %edi\n jmp *T(,%rdi,8)",
        "cmp $2, %rdi\n ja 9f\n lea T(%rip), %rax\n jmp *(%rax,%rdi,8)",
        "mov $T, %eax\n mov (%rax,%rdi,8), %rax\n jmp *%rax",
        "mov T(,%rdi,8), %rax\n jmp *%rax",
        "mov T(,%rdi,8), %rax\n jmp 5f\n 5: notrack jmp *%rax",
    ] {
        judge(X86, &x86(jump, words));
        // Other functions among the entries do not end the table.
        judge(
            X86,
            &x86(jump, ".section .rodata\n T: .quad one, away, leaf, grow"),
        );
        // The table is written to.
        judge(X86, &x86(jump, ".data\n T: .quad one, one, grow"));
    }
    let relative = ".section .rodata\n T: .long one - T, one - T, leaf - T, grow - T";
    for jump in [
        "cmp $1, %edi\n ja 9f\n lea T(%rip), %rax\n movslq (%rax,%rdi,4), %rcx\n add %rax, %rcx\n jmp *%rcx",
        "lea T(%rip), %r9\n mov (%r9,%rdi,4), %ecx\n movslq %ecx, %rcx\n add %r9, %rcx\n jmp *%rcx",
    ] {
        judge(X86, &x86(jump, relative));
    }
    // Entries count from a label of the code.
    judge(
        X86,
        &x86(
            "lea T(%rip), %rax\n lea one(%rip), %rdx\n movslq (%rax,%rdi,4), %rcx\n add %rdx, %rcx\n jmp *%rcx",
            ".section .rodata\n T: .long 0, 0, grow - one",
        ),
    );
}

#[test]
fn tables_are_read_without_bounds_aarch64() {
    let code = |jump: &str, data: &str| {
        format!(
            "fn leaf\n ret\n end\n fn f\n stp x29, x30, [sp, #-16]!\n mov x29, sp\n cmp w0, #1\n b.hi 9f\n {jump}\n\
         one: nop | sp+16 ra=c-8; not sp+80 ra=c-8\n b 9f\n grow: sub sp, sp, #64 | sp+16 ra=c-8\n\
         9: bl leaf | fp+16 ra=c-8; not sp+16 ra=c-8; not sp+80 ra=c-8\n mov sp, x29\n ldp x29, x30, [sp], #16\n ret\n end\n {data}"
        )
    };
    judge(
        A64,
        &code(
            "adrp x1, T\n add x1, x1, :lo12:T\n ldrb w1, [x1, w0, uxtw]\n adr x2, one\n add x1, x2, w1, sxtb #2\n br x1",
            ".section .rodata\n T: .byte 0, 0, (grow - one) / 4",
        ),
    );
    judge(
        A64,
        &code(
            "adrp x1, T\n add x1, x1, :lo12:T\n ldrh w1, [x1, w0, uxtw #1]\n adr x2, one\n add x1, x2, w1, sxth #2\n br x1",
            ".section .rodata\n .p2align 2\n T: .hword 0, 0, (grow - one) / 4",
        ),
    );
    judge(
        A64,
        &code(
            "adrp x1, T\n add x1, x1, :lo12:T\n ldr x1, [x1, x0, lsl #3]\n br x1",
            ".section .rodata\n .p2align 3\n T: .quad one, one, leaf, grow",
        ),
    );
}

/// A table of numbers ends where code of any function names what follows.
#[test]
fn tables_end_at_the_next_named_address() {
    let code = |after: &str, more: &str| {
        format!(
            "fn f\n stp x29, x30, [sp, #-48]!\n mov x29, sp\n\
             adrp x1, T\n add x1, x1, :lo12:T\n ldrb w1, [x1, w0, uxtw]\n adr x2, one\n add x1, x2, w1, uxtb #2\n br x1\n\
             one: nop | sp+48 ra=c-40\n sub sp, sp, #64\n two: nop | {after}\n add sp, sp, #64\n ldp x29, x30, [sp], #48\n ret\n end\n\
             fn g\n {more}\n ret\n end\n .section .rodata\n T: .byte 0, 0\n U: .byte (two - one) / 4"
        )
    };
    judge(A64, &code("not sp+112 ra=c-40; not sp+48 ra=c-40", "nop"));
    judge(
        A64,
        &code(
            "sp+112 ra=c-40; not sp+48 ra=c-40",
            "adrp x0, U\n add x0, x0, :lo12:U\n ldrb w0, [x0]",
        ),
    );
}

/// If all instructions that set the register of a table are known, only their addresses are tables. Otherwise the jump may lead to any
/// instruction.
#[test]
fn tables_are_what_the_register_of_the_load_has() {
    let known = "sp+112 ra=c-40; not sp+48 ra=c-40";
    let unknown = "not sp+112 ra=c-40; not sp+48 ra=c-40";
    let code = |register: &str, before: &str, late: &str, after: &str| {
        let one = match after == known {
            true => " | sp+48 ra=c-40",
            false => "",
        };
        format!(
            "fn leaf\n ret\n end\n fn f\n stp x29, x30, [sp, #-48]!\n mov x29, sp\n mov x21, x0\n adr x20, S\n adr {register}, T\n\
             {before}\n 3: cbz x21, 4f\n ldrb w1, [{register}, w21, uxtw]\n adr x2, base\n add x1, x2, w1, uxtb #2\n br x1\n base: b 4f\n\
             one: nop{one}\n {late}\n b 3b\n 4: sub sp, sp, #64\n two: nop | {after}\n add sp, sp, #64\n\
             ldp x29, x30, [sp], #48\n ret\n end\n .section .rodata\n T: .byte 1, 0\n S: .byte (two - base) / 4\n V: .byte 0"
        )
    };
    for (register, before, after) in [
        ("x19", "nop", known),
        ("x19", "bl leaf", known),
        ("x9", "nop", known),
        // A callee may set the register, or an instruction on one of the ways sets it.
        ("x9", "bl leaf", unknown),
        ("x19", "cbz x21, 5f\n mov x19, x20\n 5: nop", unknown),
        ("x19", "cbz x21, 5f\n ldr x19, [sp, #16]\n 5: nop", unknown),
        ("x19", "cbz x21, 5f\n adr x19, S\n 5: nop", unknown),
    ] {
        judge(A64, &code(register, before, "nop", after));
    }
    // Another jump of the function, which is read later, comes with another address.
    let late = "cbz x0, 5f\n adr x9, V\n ldrb w1, [x9, w21, uxtw]\n mov x19, x20\n adr x2, three\n add x1, x2, w1, uxtb #2\n br x1\n\
         three: nop\n 5: nop";
    judge(A64, &code("x19", "nop", late, unknown));
    // Another function jumps behind the instruction that sets the register.
    let other = "fn g\n stp x29, x30, [sp, #-48]!\n mov x29, sp\n mov x21, x0\n adr x19, S\n b middle\n end\n";
    judge(
        A64,
        &format!("{other}{}", code("x19", "middle: nop", "nop", unknown)),
    );
}

#[test]
fn tables_are_read_without_bounds_arm() {
    let code = |jump: &str| {
        format!(
            "fn leaf\n bx lr\n end\n fn f\n push {{r11, lr}}\n mov r11, sp\n cmp r0, #1\n bhi 9f\n {jump}\n\
         one: nop | sp+8 ra=c-4; not sp+72 ra=c-4\n b 9f\n grow: sub sp, sp, #64 | sp+8 ra=c-4\n\
         9: bl leaf | fp+8 ra=c-4; not sp+8 ra=c-4; not sp+72 ra=c-4\n mov sp, r11\n pop {{r11, pc}}\n end"
        )
    };
    judge(
        A32,
        &code("ldr pc, [pc, r0, lsl #2]\n nop\n .long one, one, grow"),
    );
    judge(
        A32,
        &code("add pc, pc, r0, lsl #2\n nop\n b one\n b one\n b grow"),
    );
    judge(
        T32,
        &code(
            "tbb [pc, r0]\n 7: .byte (one - 7b) / 2, (one - 7b) / 2, (grow - 7b) / 2, (grow - 7b) / 2",
        ),
    );
    judge(
        T32,
        &code("tbh [pc, r0, lsl #1]\n 7: .hword (one - 7b) / 2, (one - 7b) / 2, (grow - 7b) / 2"),
    );
}

/// One table is one of each indexed jump of its function, from its middle too.
#[test]
fn tables_are_those_of_all_jumps_of_their_function() {
    judge(
        X86,
        "fn leaf\n ret\n end\n fn f\n push %rbp\n mov %rsp, %rbp\n cmp %rdi, %rsi\n je 5f\n jmp *T(,%rdi,8) | sp+16\n\
         5: sub $48, %rsp\n jmp *T+16(,%rdi,8) | sp+64\n one: nop | fp+16; not sp+16; not sp+64\n two: nop | fp+16; not sp+16\n\
         three: nop | fp+16; not sp+64; not sp+16\n leave\n ret\n end\n .section .rodata\n T: .quad one, two, three, one",
    );
    // A loop of operations: one of them makes the frame larger.
    judge(
        X86,
        "fn leaf\n ret\n end\n fn f\n push %rbp\n mov %rsp, %rbp\n 5: movzbl (%rdi), %eax | fp+16; not sp+16\n inc %rdi | fp+16\n\
         jmp *T(,%rax,8) | fp+16; not sp+16\n one: call leaf | fp+16; not sp+16\n jmp 5b\n two: sub $64, %rsp | fp+16; not sp+16\n jmp 5b | fp+16; not sp+80\n\
         three: leave | fp+16\n ret | sp+8\n end\n .section .rodata\n T: .quad one, two, three",
    );
}

/// A part of a function that lies elsewhere shares its tables.
#[test]
fn tables_of_a_part_elsewhere_are_those_of_the_function() {
    judge(
        X86,
        "fn leaf\n ret\n end\n fn f\n push %rbp\n mov %rsp, %rbp\n cmp %rdi, %rsi\n lea T(%rip), %rdx\n je cold_middle | sp+16\n jmp *(%rdx,%rdi,8) | sp+16\n\
         one: nop | fp+16; not sp+16; not sp+80\n leave\n ret\n end\n\
         fn cold bare\n 3: jmp 3b\n rows\n cold_middle: sub $64, %rsp\n jmp *(%rdx,%rdi,8)\n end\n .section .rodata\n T: .quad one, one",
    );
}

/// A jump through a pointer with the state of an entry is a call in the last place; with another state it leads anywhere.
#[test]
fn jumps_through_pointers_with_a_frame_lead_anywhere() {
    let rest = "end\n fn g\n push %rbx | sp+8; not sp+16\n pop %rbx | sp+16\n ret\n end\n .section .rodata\n .quad g";
    judge(
        X86,
        &format!("fn f\n push %rbx\n pop %rbx | sp+16\n jmp *%rax | sp+8\n {rest}"),
    );
    judge(X86, &format!("fn f\n jmp *8(%rdi) | sp+8\n {rest}"));
    let lost = "end\n fn g\n push %rbx | not sp+8; not sp+16; not sp+48\n pop %rbx | not sp+16\n ret\n end\n\
         fn h\n nop | sp+8\n ret\n end\n fn k\n call h\n call f\n ret\n end\n .section .rodata\n .quad g";
    judge(
        X86,
        &format!("fn f\n sub $40, %rsp\n jmp *%rax | sp+48\n {lost}"),
    );
    judge(
        X86,
        &format!("fn f\n sub $40, %rsp\n jmp *hook(%rip) | sp+48\n {lost}\n .data\n hook: .quad g"),
    );
    judge(
        X86,
        &format!("fn f\n pop %rax\n pop %rcx\n jmp *%rcx\n {lost}"),
    );
    judge(
        A64,
        "fn f\n sub sp, sp, #32\n br x9\n end\n fn g\n nop | not sp+0; not sp+32\n ret\n end\n .section .rodata\n .p2align 3\n .quad g",
    );
    judge(
        A64,
        "fn f\n sub sp, sp, #32\n add sp, sp, #32\n br x9 | sp+0\n end\n fn g\n nop | sp+0; not sp+32\n ret\n end\n .section .rodata\n .p2align 3\n .quad g",
    );
    judge(
        A64,
        "fn f\n str x30, [sp, #-16]!\n mov x30, #0\n ldr x9, [sp], #16\n br x9 | not sp+0\n end\n fn g\n nop | not sp+0\n ret\n end\n .section .rodata\n .p2align 3\n .quad g",
    );
    for set in [A32, T32] {
        judge(
            set,
            "fn f\n sub sp, sp, #32\n bx r3\n end\n fn g\n nop | not sp+0; not sp+32\n bx lr\n end\n .section .rodata\n .p2align 2\n .long g",
        );
        judge(
            set,
            "fn f\n bx r3 | sp+0\n end\n fn g\n nop | sp+0; not sp+32\n bx lr\n end\n .section .rodata\n .p2align 2\n .long g",
        );
    }
}

/// A jump through a pointer may lead to code of its function that nothing else reaches: labels that a table elsewhere names.
#[test]
fn code_that_nothing_else_reaches_has_the_state_of_open_jumps() {
    judge(
        X86,
        "fn k\n call f\n ret\n end\n fn f\n push %rbp\n mov %rsp, %rbp\n sub $32, %rsp\n cmp %rdi, %rsi\n je 5f\n jmp *%rax | sp+48\n 5: leave | fp+16\n ret\n\
         lost: cld | sp+48; not sp+16\n leave\n ret | not sp+8\n end",
    );
    judge(
        X86,
        "fn k\n call f\n ret\n end\n fn f\n push %rbp\n mov %rsp, %rbp\n cmp %rdi, %rsi\n je 5f\n push $1\n jmp *%rax\n 5: push $1 | not sp+16\n push $2\n jmp *%rdx | not sp+32\n\
         lost: cld | fp+16; not sp+24; not sp+32; not sp+16\n leave\n ret | not sp+8\n end",
    );
}

/// The linker's code for functions of other images jumps through a word, which keeps the caller's state.
#[test]
fn linkage_is_a_call_in_the_last_place() {
    judge(
        X86,
        "fn f\n push %rbp\n mov %rsp, %rbp\n push $1\n call stub | sp+24\n nop | sp+24; not sp+16\n leave\n ret\n end\n\
         fn g\n ret | sp+8\n end\n .section .plt, \"ax\"\n stub: jmp *slot(%rip)\n push $0\n jmp stub\n .data\n slot: .quad stub + 6",
    );
}

/// What follows a table is none of its entries.
#[test]
fn tables_end_before_other_words() {
    // Functions behind the last own entry, as in a table of methods.
    judge(
        X86,
        "fn leaf\n nop | sp+8; not sp+48\n ret\n end\n fn f\n push %rbp\n mov %rsp, %rbp\n sub $32, %rsp\n jmp *T(,%rdi,8) | sp+48\n\
         one: call leaf | sp+48\n leave | sp+48\n ret\n end\n fn k\n call leaf\n ret\n end\n .section .rodata\n T: .quad one, one, leaf, leaf",
    );
}

/// The last entries of a table may lead to a part of the function that lies elsewhere, which is declared. Functions whose call frame information
/// starts as behind a call are no such parts: an array of pointers lies behind the table.
#[test]
fn tables_end_with_parts_that_lie_elsewhere() {
    let code = |jump: &str, cold: &str, table: &str| {
        format!(
            "fn leaf\n ret\n end\n fn f\n push %rbp\n mov %rsp, %rbp\n sub $32, %rsp\n {jump} | sp+48\n\
             one: call leaf | sp+48\n leave | sp+48\n ret\n end\n {cold}\n .section .rodata\n {table}"
        )
    };
    let words = "T: .quad one, one, cold";
    let part = "fn cold\n nop | not sp+8\n 3: jmp 3b\n end";
    judge(X86, &code("jmp *T(,%rdi,8)", part, words));
    let jump = "lea T(%rip), %rax\n movslq (%rax,%rdi,4), %rcx\n add %rax, %rcx\n jmp *%rcx";
    let distances = "T: .long one - T, one - T, cold - T";
    judge(X86, &code(jump, part, distances));
    let part = "fde\n fn cold bare\n rows\n nop | sp+48; not sp+8\n 3: jmp 3b\n end\n endfde";
    judge(X86, &code(jump, part, distances));
    let part = "fde\n fn cold bare\n rows\n nop | not sp+48\n 3: jmp 3b\n end\n endfde";
    judge(X86, &code("jmp *T(,%rdi,8)", part, words));
    let pointed = "fde\n fn cold\n nop | sp+8; not sp+48\n ret\n end\n endfde";
    judge(X86, &code("jmp *T(,%rdi,8)", pointed, words));
}

/// If the register with the address of the table is unknown, each table that a function names is one of each of its jumps. A table of
/// instructions ends behind its last branch.
#[test]
fn all_tables_of_a_function_are_read() {
    let code = |table: &str, one: &str, two: &str| {
        format!(
            "fn f\n push %rbp\n mov %rsp, %rbp\n cmp %rdi, %rsi\n je 5f\n lea T(%rip), %rax\n jmp *(%rax,%rdi,8)\n\
             5: sub $48, %rsp\n {table}\n jmp *(%rax,%rdi,8)\n one: cld | fp+16; {one}\n leave\n ret\n\
             two: cld | fp+16; not sp+16; {two}\n leave\n ret\n end\n fn k\n call f\n ret\n end\n\
             .section .rodata\n T: .quad one, one, 0\n U: .quad two, two"
        )
    };
    judge(X86, &code("lea U(%rip), %rax", "sp+16; not sp+64", "sp+64"));
    judge(
        X86,
        &code(
            "lea U(%rip), %rax\n mov (%rdx), %rax",
            "not sp+16; not sp+64",
            "not sp+64",
        ),
    );
    judge(
        A32,
        "fn f\n push {r11, lr}\n mov r11, sp\n cmp r0, #1\n add pc, pc, r0, lsl #2\n nop\n b one\n b one\n sub sp, sp, #64 | sp+8 ra=c-4\n\
         one: nop | fp+8 ra=c-4; not sp+8 ra=c-4; not sp+72 ra=c-4\n mov sp, r11\n pop {r11, pc}\n end",
    );
}

/// Distances of 8 bytes.
#[test]
fn tables_have_distances_of_8_bytes() {
    judge(
        X86,
        &x86(
            "lea T(%rip), %rax\n mov (%rax,%rdi,8), %rcx\n add %rax, %rcx\n jmp *%rcx",
            ".section .rodata\n T: .quad one - T, one - T, grow - T",
        ),
    );
}
