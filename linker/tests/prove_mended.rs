//! What becomes of an image's rows, what is said of those that were wrong, and how much of the code is proven.

use crate::common::proven::{START, function, linked, silent, text};
use linker::cfi::Frames;
use linker::image::Image;
use linker::prove::Rows;
use linker::symbols::Symbols;

const X86_64: &str = "x86_64-unknown-linux-gnu";
const AARCH64: &str = "aarch64-unknown-none-softfloat";

/// Functions with their rows, and what has none: by offsets.
fn frames(frames: &Frames) -> String {
    let mut out = String::new();
    for function in &frames.functions {
        let (start, end) = (function.start - START, function.end() - START);
        let signal = if function.signal { " signal" } else { "" };
        let key = if function.key_b { " key B" } else { "" };
        out += &format!("{start}..{end}{signal}{key}\n");
        for row in &function.rows {
            out += &format!("  +{} {}\n", row.offset, text(row));
        }
    }
    for left in &frames.left_out {
        let start = left.start - START;
        out += &format!("{start}..{} left out: {}\n", start + left.size, left.why);
    }
    out
}

/// What is written about code, and what contradicts it.
fn says(rows: &Rows, image: &Image<'_>) -> String {
    let proof = rows.proof.as_ref().unwrap();
    let mut out = Vec::new();
    proof.tally.write(&mut out).unwrap();
    proof.tally.functions.write(&mut out).unwrap();
    let mut out = String::from_utf8(out).unwrap();
    out += &format!("{} bytes fill room\n", proof.tally.filling);
    for one in proof.contradictions(image, &rows.described) {
        let found = match one.found {
            Ok(row) => text(&row),
            Err(reason) => reason.to_string(),
        };
        let before = one.before.as_deref().unwrap_or("nothing");
        out += &format!(
            "{}..{}: {}, is {found}, at {} after {before}\n",
            one.start - START,
            one.end - START,
            text(&one.said),
            one.instruction
        );
    }
    let made = rows.made();
    for range in &made {
        out += &format!("{}..{} made\n", range.start - START, range.end - START);
    }
    let count = &proof.made;
    out += &format!("{} functions, {} rows made\n", count.functions, count.rows);
    out
}

fn check(name: &str, target: &str, text: &[String], expected_frames: &str, expected: &str) {
    let data = linked(&format!("mended_{name}"), target, &text.concat(), &[]);
    let image = Image::parse(&data).unwrap();
    let rows = Rows::of(&image, true, Frames::default(), &Symbols::of(&image.file)).unwrap();
    let found = frames(&rows.frames);
    assert_eq!(found, expected_frames);
    assert_eq!(says(&rows, &image), expected);
}

#[test]
fn rows_are_kept_replaced_and_taken_out() {
    let text = [
        function(
            "_start",
            "push %rbx\n .cfi_def_cfa_offset 16\n pop %rbx\n .cfi_def_cfa_offset 8\n ret\n int3\n nop",
        ),
        // The push is not mentioned, the rest is right.
        function(
            "mended",
            "push %rbx\n nop\n nop\n .cfi_def_cfa_offset 16\n pop %rbx\n .cfi_def_cfa_offset 8\n ret",
        ),
        // Behind the change of stacks nothing is known.
        function(
            "withdrawn",
            "nop\n push %rbx\n mov (%rdi), %rsp\n nop\n pop %rbx\n ret",
        ),
        function("undecided", "push %rbx\n jmp *%rax"),
        // Nothing leads to the first of them; the others only fill room.
        function("unreached", "ret\n mov %eax, %ecx\n nop\n int3\n int3"),
    ];
    check("kept", X86_64, &text, "\
0..5
  +0 sp+8 u c-8
  +1 sp+16 u c-8
  +2 sp+8 u c-8
5..10
  +0 sp+8 u c-8
  +1 sp+16 u c-8
  +4 sp+8 u c-8
10..15
  +0 sp+8 u c-8
  +2 sp+16 u c-8
15..18
18..21
  +0 sp+8 u c-8
21..27
  +0 sp+8 u c-8
",
        "\
verified code: 68.00 % of 25 bytes. Right unwind row: 9 bytes, wrong unwind row with a known correction: 5 bytes, wrong unwind row without a known correction: 3 bytes, no unwind row: 0 bytes
    not verified, 3 bytes: the code contains an indirect jump with unknown targets
    not verified, 5 bytes: unreachable code
verified functions: 2 of 5 (40.00 %), functions with unwind rows that sframe-link corrected: 1
    wrong, 1 function: the stack pointer is loaded from a register or from memory
    not verified, 1 function: the code contains an indirect jump with unknown targets
    not verified, 1 function: unreachable code
2 bytes fill room
6..8: sp+8 u c-8, is sp+16 u c-8, at nop after push rbx
12..15: sp+8 u c-8, is sp+16 u c-8, at mov rsp,[rdi] after push rbx
15..18: sp+8 u c-8, is the stack pointer is loaded from a register or from memory, at 0xffffffff8010000c, at nop after mov rsp,[rdi]
0 functions, 0 rows made
");
}

#[test]
fn rows_are_made() {
    let text = [
        function(
            "_start",
            "call one\n call two\n call holey\n call lost\n ret",
        ),
        silent("one", "push %rbx\n pop %rbx\n ret\n nop\n nop\n"),
        silent(
            "two",
            "push %rbx\n test %edi, %edi\n je 1f\n pop %rbx\n ret\n int3\n 1: pop %rbx\n ret",
        ),
        silent(
            "holey",
            "test %edi, %edi\n je 1f\n ret\n .byte 6, 6\n 1: ret",
        ),
        silent("lost", "jmp *table(,%rdi,8)"),
        silent("other", "push %rax\n jmp *table(,%rdi,8)"),
        silent("endless", "1: jmp 1b"),
        silent("again", "1: jmp 1b"),
        ".data\n table: .quad lost\n .text\n".to_owned(),
    ];
    check("made", X86_64, &text, "\
0..21
  +0 sp+8 u c-8
21..24
  +0 sp+8 u c-8
  +1 sp+16 u c-8
  +2 sp+8 u c-8
26..36
  +0 sp+8 u c-8
  +1 sp+16 u c-8
  +6 sp+8 u c-8
  +8 sp+16 u c-8
  +9 sp+8 u c-8
36..41
  +0 sp+8 u c-8
43..44
  +0 sp+8 u c-8
44..51 left out: there is no call frame information, and no row can be synthesized from the code: the code contains an indirect jump with unknown targets, at 0xffffffff8010002c
51..63 left out: there is no call frame information, and no row can be synthesized from the code: no call of the function was found, and no path through the function returns
",
        "\
verified code: 65.00 % of 60 bytes. Right unwind row: 21 bytes, wrong unwind row with a known correction: 0 bytes, wrong unwind row without a known correction: 0 bytes, no unwind row: 18 bytes
    no row, 12 bytes: no call of the function was found, and no path through the function returns
    no row, 7 bytes: the code contains an indirect jump with unknown targets
    no row, 2 bytes: unreachable code
verified functions: 1 of 1 (100.00 %), functions with unwind rows that sframe-link corrected: 0
3 bytes fill room
21..24 made
26..36 made
36..41 made
43..44 made
4 functions, 10 rows made
");
}

#[test]
fn handlers_are_signal_frames() {
    let text = [
        function(
            "_start",
            ".cfi_signal_frame\n .cfi_def_cfa rsp, 40\n .cfi_offset rip, -40\n .cfi_offset rsp, -16\n push %rax\n nop\n pop %rax\n iretq",
        ),
        silent("handler", "push %rax\n pop %rax\n iretq"),
        // Its rows are those of a function, and wrong.
        function("described", "push %rax\n pop %rax\n iretq"),
    ];
    check(
        "signal",
        X86_64,
        &text,
        "\
0..5 signal
  +0 (sp+24) u (sp+0)
  +1 (sp+32) u (sp+8)
  +3 (sp+24) u (sp+0)
5..9 signal
  +0 (sp+24) u (sp+0)
  +1 (sp+32) u (sp+8)
  +2 (sp+24) u (sp+0)
9..13 signal
  +0 (sp+24) u (sp+0)
  +1 (sp+32) u (sp+8)
  +2 (sp+24) u (sp+0)
",
        "\
verified code: 100.00 % of 13 bytes. Right unwind row: 3 bytes, wrong unwind row with a known correction: 6 bytes, wrong unwind row without a known correction: 0 bytes, no unwind row: 4 bytes
verified functions: 2 of 2 (100.00 %), functions with unwind rows that sframe-link corrected: 2
0 bytes fill room
1..3: (sp+24) u (sp+0), is (sp+32) u (sp+8), at nop after push rax
9..10: sp+8 u c-8, is (sp+24) u (sp+0), at push rax after iretq
10..11: sp+8 u c-8, is (sp+32) u (sp+8), at pop rax after push rax
11..13: sp+8 u c-8, is (sp+24) u (sp+0), at iretq after pop rax
5..9 made
1 functions, 3 rows made
",
    );
}

#[test]
fn keys_are_kept() {
    let text = [
        ".arch armv8.3-a\n".to_owned(),
        function(
            "_start",
            ".cfi_b_key_frame\n pacibsp\n .cfi_negate_ra_state\n sub sp, sp, #16\n add sp, sp, #16\n autibsp\n .cfi_negate_ra_state\n ret",
        ),
        silent(
            "silent",
            "str x30, [sp, #-16]!\n bl silent\n ldr x30, [sp], #16\n ret\n nop",
        ),
    ];
    check(
        "key",
        AARCH64,
        &text,
        "\
0..20 key B
  +0 sp+0 u u
  +4 sp+0 u u[s]
  +8 sp+16 u u[s]
  +12 sp+0 u u[s]
  +16 sp+0 u u
20..36
  +0 sp+0 u u
  +4 sp+16 u c-16
  +12 sp+0 u u
",
        "\
verified code: 100.00 % of 36 bytes. Right unwind row: 16 bytes, wrong unwind row with a known correction: 4 bytes, wrong unwind row without a known correction: 0 bytes, no unwind row: 16 bytes
verified functions: 1 of 1 (100.00 %), functions with unwind rows that sframe-link corrected: 1
4 bytes fill room
8..12: sp+0 u u[s], is sp+16 u u[s], at add		sp, sp, #0x10 after sub		sp, sp, #0x10
20..36 made
1 functions, 3 rows made
",
    );
}

#[test]
fn rows_behind_a_gap_and_rows_for_what_was_left_out() {
    let text = [
        // The rows behind the change of stacks start a piece of their own.
        function(
            "_start",
            "push %rbx\n nop\n .cfi_def_cfa_offset 16\n test %edi, %edi\n je 1f\n mov (%rdi), %rsp\n 2: jmp 2b\n 1: nop\n pop %rbx\n .cfi_def_cfa_offset 8\n ret",
        ),
        // Nobody can say this in a row; what the code says can be.
        function(
            "left_out",
            ".cfi_escape 0x0f, 3, 0x77, 0x00, 0x20\n push %rbx\n pop %rbx\n ret",
        ),
        function(
            "other",
            ".cfi_escape 0x0f, 3, 0x77, 0x00, 0x20\n push %rbx\n jmp *%rax",
        ),
    ];
    check(
        "gap",
        X86_64,
        &text,
        "\
0..9
  +0 sp+8 u c-8
  +1 sp+16 u c-8
9..11
11..14
  +0 sp+16 u c-8
  +2 sp+8 u c-8
14..17
  +0 sp+8 u c-8
  +1 sp+16 u c-8
  +2 sp+8 u c-8
17..20 left out: there is no call frame information, and no row can be synthesized from the code: no call of the function was found, and no path through the function returns
",
        "\
verified code: 85.00 % of 20 bytes. Right unwind row: 11 bytes, wrong unwind row with a known correction: 1 bytes, wrong unwind row without a known correction: 2 bytes, no unwind row: 3 bytes
    no row, 3 bytes: no call of the function was found, and no path through the function returns
verified functions: 0 of 1 (0.00 %), functions with unwind rows that sframe-link corrected: 0
    wrong, 1 function: the stack pointer is loaded from a register or from memory
0 bytes fill room
1..2: sp+8 u c-8, is sp+16 u c-8, at nop after push rbx
9..11: sp+16 u c-8, is the stack pointer is loaded from a register or from memory, at 0xffffffff80100006, at jmp short 0FFFFFFFF80100009h after mov rsp,[rdi]
14..17 made
1 functions, 3 rows made
",
    );
}
