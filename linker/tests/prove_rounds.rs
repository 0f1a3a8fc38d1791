//! What functions have to know of each other. Small ones are followed first, so it must not matter whether there are large
//! ones, too.

use crate::common::proven::{START, function, linked, proof_of, prove, prove_linked, silent};
use linker::image::Image;
use linker::prove::unit::Found;
use linker::symbols::Symbols;

const TARGET: &str = "x86_64-unknown-linux-gnu";

fn check(name: &str, text: &[String], expected: &str) {
    let found = prove(&format!("rounds_{name}"), TARGET, &text.concat());
    assert_eq!(found, expected, "{}", text.concat());
}

/// 301 bytes of a function that calls nobody.
fn large() -> String {
    function("large", ".skip 300, 0x90\n ret")
}

/// Checks some functions alone, and with a large one behind them.
fn check_both(name: &str, text: &[String], expected: &str) {
    let found = prove(&format!("rounds_{name}"), TARGET, &text.concat());
    assert_eq!(found, expected, "{}", text.concat());
    let with_large = [text.concat(), large()].concat();
    let found = prove(&format!("rounds_{name}_large"), TARGET, &with_large);
    let others = found.lines().filter(|line| !line.ends_with(" agrees"));
    let expected = expected.lines().filter(|line| !line.ends_with(" agrees"));
    assert!(others.eq(expected), "{with_large}{found}");
}

#[test]
fn whether_a_function_returns_is_known_through_many_others() {
    // The row behind the call is wrong, if anything comes back.
    let caller =
        "push %rbx\n .cfi_def_cfa_offset 16\n call first\n .cfi_def_cfa_offset 24\n pop %rbx\n ret";
    for (name, body, expected) in [
        (
            "returns",
            "jmp second",
            "0..6 agrees\n6..7 mended sp+16 u c-8\n7..8 mended sp+8 u c-8\n8..13 made sp+8 u c-8\n13..18 made sp+8 u c-8\n18..23 made sp+8 \
             u c-8\n23..24 made sp+8 u c-8\n24..26 missing: no call of the function was found, and no path through the function returns\n",
        ),
        (
            "stops",
            "call stops",
            "0..6 agrees\n8..13 made sp+8 u c-8\n13..18 made sp+8 u c-8\n18..23 made sp+8 u c-8\n23..24 made sp+8 u c-8\n24..26 made sp+8 u c-8\n",
        ),
    ] {
        let text = [
            function("_start", caller),
            silent("first", body),
            silent("second", "jmp third"),
            silent("third", "jmp fourth"),
            silent("fourth", "ret"),
            silent("stops", "1: jmp 1b"),
        ];
        check_both(name, &text, expected);
    }
}

#[test]
fn what_stops_is_known_through_many_others() {
    // What is said behind the call agrees with the code, which never runs; without that nothing would be said.
    let caller =
        "push %rbx\n .cfi_def_cfa_offset 16\n call first\n pop %rbx\n .cfi_def_cfa_offset 8\n ret";
    let text = [
        function("_start", caller),
        silent("first", "call second\n ret"),
        silent("second", "call third\n ret"),
        silent("third", "1: jmp 1b"),
    ];
    let expected =
        "0..8 agrees\n8..13 made sp+8 u c-8\n14..19 made sp+8 u c-8\n20..22 made sp+8 u c-8\n";
    check_both("chain", &text, expected);
}

#[test]
fn what_a_function_changes_is_known_to_its_callers() {
    let text = [
        function(
            "_start",
            "push %rbp\n call enter\n nop\n mov %rbp, %rsp\n pop %rbp\n ret",
        ),
        silent("enter", "lea 8(%rsp), %rbp\n ret"),
    ];
    let expected = "0..1 agrees\n1..11 mended sp+16 c-16 c-8\n11..12 agrees\n12..17 made sp+8 u c-8\n17..18 made sp+8 r16+0 c-8\n";
    check_both("effect", &text, expected);
}

/// Functions that each call the next one; the last one loses the frame pointer, which each of them tells its callers.
fn losing(count: usize) -> String {
    let call = |number| {
        silent(
            &format!("call{number}"),
            &format!("call call{}\n ret", number + 1),
        )
    };
    let last = silent(&format!("call{count}"), "xor %ebp, %ebp\n ret");
    (1..count).map(call).collect::<String>() + &last
}

/// Its rows find the frame by the frame pointer, also behind the call.
fn by_frame_pointer(callee: &str) -> String {
    let body = format!(
        "push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset %rbp, -16\n mov %rsp, %rbp\n .cfi_def_cfa_register %rbp
         call {callee}\n nop\n pop %rbp\n .cfi_def_cfa %rsp, 8\n ret"
    );
    function("_start", &body)
}

/// The caller of so many functions would be told too late what the last one loses, so nothing may be said of it; nor of those
/// between them to which it would have been told last.
#[test]
fn nothing_is_said_by_facts_that_are_not_final() {
    let text = [by_frame_pointer("call1"), losing(4)].concat();
    let found = prove("rounds_losing_4", TARGET, &text);
    let mended = "0..4 agrees\n4..11 mended sp+16 c-16 c-8\n11..12 agrees\n";
    assert!(found.starts_with(mended), "{found}");

    let text = [by_frame_pointer("call1"), losing(60)].concat();
    let found = prove("rounds_losing_60", TARGET, &text);
    let void = "0..12 undecided: analysis limit reached\n12..132 missing: analysis limit reached\n132..138 made ";
    assert!(found.starts_with(void), "{found}");
}

/// Small functions that are not finished when large ones are begun go on with those.
#[test]
fn small_functions_are_finished_with_large_ones() {
    let text = [by_frame_pointer("call1"), losing(60), large()].concat();
    let found = prove("rounds_losing_60_large", TARGET, &text);
    let mended = "0..4 agrees\n4..11 mended sp+16 c-16 c-8\n11..12 agrees\n12..18 made ";
    assert!(found.starts_with(mended), "{found}");
    let text = [by_frame_pointer("call1"), losing(100), large()].concat();
    let found = prove("rounds_losing_100_large", TARGET, &text);
    let void = "0..12 undecided: analysis limit reached\n12..";
    assert!(found.starts_with(void), "{found}");
}

#[test]
fn a_table_ends_where_that_of_another_function_starts() {
    // Its entries, taken for those of the first one, would lead to the nops with a stack of another depth.
    let text = [
        function(
            "_start",
            "push %rbx\n movzbl %dil, %edi\n lea first(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n add %rdx, %rax\n jmp *%rax\n
             1: pop %rbx\n ret\n 2: push %rax\n nop\n nop\n nop\n pop %rax\n pop %rbx\n ret",
        ),
        function(
            "second",
            "jmp 4f\n 3: ret\n 4: movzbl %dil, %edi\n lea other(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n add %rdx, %rax\n jmp *%rax",
        ),
        ".section .rodata\n .p2align 2\n first: .long 1b - first, 2b - first\n other: .long 3b - other\n .long -1\n .text\n"
            .to_owned(),
    ];
    let expected = "0..1 agrees\n1..22 mended sp+16 u c-8\n22..23 agrees\n23..24 mended sp+16 u c-8\n24..28 mended sp+24 u c-8\n28..29 mended sp+16 u c-8\n29..53 agrees\n";
    check_both("tables", &text, expected);
}

/// Its index is any byte, and the bytes behind its two entries lead into the same function: to a return with another stack than at the
/// entry, or to where another way has another depth of it.
#[test]
fn a_table_ends_where_the_code_would_contradict_itself() {
    let function_with = |third: &str| {
        let body = "push %rbx\n call *%rsi\n movzbl %al, %eax\n lea table(%rip), %rdx\n movslq (%rdx,%rax,4), %rax\n add %rdx, %rax\n jmp *%rax\n
             1: pop %rbx\n 3: ret\n 2: push %rax\n nop\n 4: pop %rax\n pop %rbx\n ret";
        let table = format!(
            ".section .rodata\n .p2align 2\n table: .long 1b - table, 2b - table, {third} - table, -1\n .text\n"
        );
        [function("_start", body), table]
    };
    let expected = "0..1 agrees\n1..23 mended sp+16 u c-8\n23..24 agrees\n24..25 mended sp+16 u c-8\n25..27 mended sp+24 u c-8\n27..28 mended sp+16 u c-8\n28..29 agrees\n";
    for (name, third) in [("table_unbalanced", "3b"), ("table_depths", "4b")] {
        check(name, &function_with(third), expected);
    }
}

/// The last way but one ends in a call of what never returns, which is not known at first: until then it seems to go on into the last one,
/// with another depth of the stack. No entry of the table may be left out for that.
#[test]
fn a_table_is_as_long_as_ever_once_more_is_known() {
    let body = "push %rbx\n call *%rsi\n movzbl %al, %eax\n lea table(%rip), %rdx\n movslq (%rdx,%rax,4), %rax\n add %rdx, %rax\n jmp *%rax\n
         1: pop %rbx\n ret\n 2: push %rax\n push %rax\n call first\n 3: pop %rbx\n ret";
    let text = [
        function("_start", body),
        ".section .rodata\n .p2align 2\n table: .long 1b - table, 2b - table, 3b - table, -1\n .text\n".to_owned(),
        silent("first", "call second\n ret"),
        silent("second", "call third\n ret"),
        silent("third", "1: jmp 1b"),
    ];
    let expected = "0..1 agrees\n1..23 mended sp+16 u c-8\n23..24 agrees\n24..25 mended sp+16 u c-8\n25..26 mended sp+24 u c-8\n";
    let found = prove("table_then_known", TARGET, &text.concat());
    assert!(found.starts_with(expected), "{found}");
}

#[test]
fn what_is_called_is_a_function() {
    // Though it has no name.
    let text = [
        function("_start", "call first\n ret"),
        "first: push %rbx\n call .Lunnamed\n pop %rbx\n ret\n .Lunnamed: push %rbp\n pop %rbp\n ret\n"
            .to_owned(),
    ];
    check(
        "unnamed",
        &text,
        "0..6 agrees\n6..7 made sp+8 u c-8\n7..13 made sp+16 u c-8\n13..14 made sp+8 u c-8\n14..15 made sp+8 u c-8\n15..16 made sp+16 u c-8\n16..17 made sp+8 u c-8\n",
    );
    // What one function jumps to with a frame, and another calls, is no piece of the one.
    let text = [
        function("_start", "push %rbx\n call shared\n pop %rbx\n ret"),
        function("twin", "push %rbx\n jmp shared"),
        silent("shared", "nop\n ret"),
    ];
    check(
        "shared_called",
        &text,
        "0..1 agrees\n1..7 mended sp+16 u c-8\n7..9 agrees\n9..14 mended sp+16 u c-8\n14..16 made sp+8 u c-8\n",
    );
    // Two frames of different depth share nothing.
    let text = [
        function("_start", "push %rbx\n jmp shared"),
        function("twin", "push %rbx\n push %rbx\n jmp shared"),
        silent("shared", "pop %rbx\n ret"),
    ];
    check(
        "shared_depths",
        &text,
        "0..1 agrees\n1..6 mended sp+16 u c-8\n6..13 undecided: the stack depth at a function exit differs from the depth at the function entry\n13..15 missing: the stack depth at a function exit differs from the depth at the function entry\n",
    );
}

#[test]
fn pieces_and_functions_without_callers() {
    let start = "push %rbx\n .cfi_def_cfa_offset 16\n test %edi, %edi\n je _start.cold\n pop %rbx\n .cfi_def_cfa_offset 8\n ret";
    let text = [
        function("_start", start),
        function(
            "_start.cold",
            ".cfi_def_cfa_offset 16\n nop\n pop %rbx\n ret",
        ),
    ];
    check("cold", &text, "0..13 agrees\n13..14 mended sp+8 u c-8\n");
    let text = [
        function(
            "_start",
            ".cfi_undefined rip\n push %rbx\n call other\n hlt",
        ),
        silent("other", "ret"),
    ];
    check("outermost", &text, "0..7 agrees\n7..8 made sp+8 u c-8\n");
}

#[test]
fn jumps_through_words_with_a_prefix() {
    // As linkers wrote them at the time of MPX; with and without `endbr64`.
    let text = [
        function("_start", "push %rbx\n call marked\n pop %rbx\n nop\n ret"),
        function("second", "push %rbx\n call plain\n pop %rbx\n nop\n ret"),
        ".section .plt.bnd, \"ax\", %progbits\n nop\n marked: .byte 0xf3, 0x0f, 0x1e, 0xfa, 0xf2\n jmp *word(%rip)\n
         plain: .byte 0xf2\n jmp *word(%rip)\n .data\n word: .quad abort\n .text\n"
            .to_owned(),
    ];
    let found = prove_linked("rounds_bnd", TARGET, &text.concat(), &["-shared"]);
    assert_eq!(
        found,
        "0..1 agrees\n1..6 mended sp+16 u c-8\n9..10 agrees\n10..15 mended sp+16 u c-8\n19..30 made sp+8 u c-8\n30..37 made sp+8 u c-8\n"
    );
}

#[test]
fn reasons_name_the_instruction() {
    let text = [
        function("_start", "nop\n push %rbx\n mov (%rdi), %rsp\n nop\n ret"),
        function(
            "depths",
            "push %rbx\n test %edi, %edi\n je 1f\n pop %rbx\n 1: nop\n ret",
        ),
        function("jump", "push %rbx\n jmp *%rax"),
        function("unbalanced", "push %rbx\n ret"),
        function("room", "sub %rax, %rsp\n nop\n 1: jmp 1b"),
        function(
            "dead",
            "push %rbx\n .cfi_def_cfa_offset 16\n call stops\n pop %rbx\n nop\n ret",
        ),
        silent("stops", "1: jmp 1b"),
    ];
    let data = linked("rounds_reasons", TARGET, &text.concat(), &[]);
    let image = Image::parse(&data).unwrap();
    let mut found = String::new();
    for span in &proof_of(&image, &Symbols::of(&image.file)).spans {
        let (Found::Withdrawn(reason) | Found::Undecided(reason) | Found::Missing(reason)) =
            &span.found
        else {
            continue;
        };
        let (start, end) = (span.start - START, span.end - START);
        let at = reason.address().map(|at| at - START);
        assert_eq!(reason.to_string().contains(", at 0x"), at.is_some());
        found += &format!("{start}..{end} {}: {at:?}\n", reason.words());
    }
    let expected = "5..7 the stack pointer is loaded from a register or from memory: Some(2)
13..15 code paths with different stack depths join: Some(13)
15..16 the code contains an indirect jump with unknown targets: Some(16)
16..18 the code contains an indirect jump with unknown targets: Some(16)
18..19 the stack depth at a function exit differs from the depth at the function entry: Some(19)
19..20 the stack depth at a function exit differs from the depth at the function entry: Some(19)
23..26 the stack pointer is loaded from a register or from memory: Some(20)
33..35 the code follows a call that never returns: None
";
    assert_eq!(found, expected);
}

/// A call of what is no code makes no function of it, however often what calls it is followed.
#[test]
fn calls_of_what_is_no_code() {
    let text = [
        function("_start", "call jumps\n ret"),
        // `hidden` is found by this call, and that it never returns when it has been followed.
        function(
            "jumps",
            "test %edi, %edi\n je 1f\n call .Lhidden\n 1: call nowhere\n jmp nowhere",
        ),
        ".Lhidden: jmp .Lhidden\n".to_owned(),
    ];
    let switch = ["--defsym=nowhere=0xffffffff80200000"];
    let found = prove_linked("rounds_no_code", TARGET, &text.concat(), &switch);
    assert_eq!(
        found,
        "0..6 agrees\n6..25 undecided: the code contains bytes that are not a valid instruction\n25..27 made sp+8 u c-8\n"
    );
}

/// What is called and has no rows of its own is a function, also for the one that jumps there.
#[test]
fn functions_that_only_calls_tell() {
    let text = [
        function("_start", "call jumps\n call .Lhidden\n ret"),
        function(
            "jumps",
            "test %edi, %edi\n je 1f\n call .Lother\n 1: jmp .Lhidden",
        ),
        ".Lhidden: push %rbx\n pop %rbx\n ret\n .Lother: jmp .Lother\n".to_owned(),
    ];
    check(
        "hidden",
        &text,
        "0..22 agrees\n22..23 made sp+8 u c-8\n23..24 made sp+16 u c-8\n24..25 made sp+8 u c-8\n25..27 made sp+8 u c-8\n",
    );
}
