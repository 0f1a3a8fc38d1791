//! Jump tables that lead astray.

use super::*;

#[test]
fn two_tables() {
    // The first one ends where the second one starts.
    check("two_tables", &[function("_start", "push %rbx\n movzbl %dil, %edi\n lea first(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n add %rdx, %rax\n jmp *%rax\n
        1: pop %rbx\n ret\n 2: push %rax\n movzbl %sil, %esi\n lea second(%rip), %rdx\n movslq (%rdx,%rsi,4), %rax\n add %rdx, %rax\n jmp *%rax\n 3: pop %rax\n pop %rbx\n ret\n 4: pop %rax\n jmp 1b"),
        ".section .rodata\n .p2align 2\n first: .long 1b - first, 2b - first\n second: .long 3b - second, 4b - second\n .long -1\n .text\n".to_owned()], "0..1 agrees\n1..22 mended sp+16 u c-8\n22..23 agrees\n23..24 mended sp+16 u c-8\n24..45 mended sp+24 u c-8\n45..46 mended sp+16 u c-8\n46..47 agrees\n47..48 mended sp+24 u c-8\n48..50 mended sp+16 u c-8\n");
    // An entry that leads into an instruction is none of the table.
    check("middle", &[function("_start", "push %rbx\n movzbl %dil, %edi\n lea first(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n add %rdx, %rax\n jmp *%rax\n 1: mov $0x5858, %eax\n pop %rbx\n ret\n"),
        ".section .rodata\n .p2align 2\n first: .long 1b - first, 1b + 1 - first, 1b - first\n .text\n".to_owned()], "0..1 agrees\n1..27 mended sp+16 u c-8\n27..28 agrees\n");
}

#[test]
fn tables_that_lead_astray() {
    let head = "push %rbx\n lea table(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n add %rdx, %rax\n jmp *%rax\n";
    let bounded =
        format!("cmp $2, %rdi\n ja 1f\n {head} 1: ud2\n 2: mov $0x5858, %eax\n pop %rbx\n ret");
    // The comparison says that there are three entries, and one of them leads to another function, which returns with a word
    // too much on the stack then.
    check(
        "astray_out",
        &[
            function("_start", &bounded),
            silent("other", "ret"),
            ".section .rodata\n .p2align 2\n table: .long 2b - table, \
         2b - table, other - table\n .text\n"
                .to_owned(),
        ],
        "0..32 undecided: the stack depth at a function exit differs from the depth at the function entry\n32..33 \
         missing: the stack depth at a function exit differs from the depth at the function entry\n",
    );
    // Without rows nothing says where instructions start, but that no two share bytes.
    let guessed = format!("movzbl %dil, %edi\n {head} 2: mov $0x585858, %eax\n pop %rbx\n ret");
    for (name, middle, expected) in [
        (
            "astray_middle",
            "2b + 2",
            "0..6 agrees\n6..34 missing: the code contains an indirect jump with unknown targets\n",
        ),
        (
            "astray_not",
            "2b",
            "0..6 agrees\n6..11 made sp+8 u c-8\n11..33 made sp+16 u c-8\n33..34 made sp+8 u c-8\n",
        ),
    ] {
        let table = format!(
            ".section .rodata\n .p2align 2\n table: .long 2b - table, {middle} - table\n .long -1\n .text\n"
        );
        check(
            name,
            &[
                function("_start", "call silent\n ret"),
                silent("silent", &guessed),
                table,
            ],
            expected,
        );
    }
    // Bytes between them that never run are no matter.
    let with_gap = format!("{guessed}\n nop\n 3: pop %rbx\n ret");
    check("astray_gap", &[function("_start", "call silent\n ret"), silent("silent", &with_gap), ".section .rodata\n .p2align 2\n table: .long 2b - table, 3b - table\n .long -1\n .text\n".to_owned()], "0..6 agrees\n6..11 made sp+8 u c-8\n11..33 made sp+16 u c-8\n33..34 made sp+8 u c-8\n35..36 made sp+16 u c-8\n36..37 made sp+8 u c-8\n");
}

/// A piece that was moved away belongs to its function: nothing but its end bounds the table, whose entries lead to both.
#[test]
fn a_table_in_a_piece_of_a_function() {
    let text = [
        function("_start", "call f\n ret"),
        function("f", "test %edi, %edi\n js f.cold\n 1: nop\n ret\n 2: ret"),
        function(
            "f.cold",
            "movzbl %dil, %edi\n lea table(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n add %rdx, %rax\n jmp *%rax\n 3: ret",
        ),
        ".section .rodata\n .p2align 2\n table: .long 1b - table, 2b - table, 3b - table\n .long -1\n .text\n"
            .to_owned(),
    ];
    check("table_in_piece", &text, "0..38 agrees\n");
}
