//! Ways that code for x86-64 takes besides jumps, calls and returns, and code that compilers and linkers say nothing of.

use crate::common::proven::{function, prove, prove_linked, silent};

const TARGET: &str = "x86_64-unknown-linux-gnu";

fn check(name: &str, text: &[String], expected: &str) {
    let found = prove(&format!("x86_ways_{name}"), TARGET, &text.concat());
    assert_eq!(found, expected, "{}", text.concat());
}

#[test]
fn a_far_return_goes_on_where_it_was_told() {
    let text = [function(
        "_start",
        "push $8\n lea 1f(%rip), %rax\n push %rax\n lretq\n 1: ret",
    )];
    // It takes a segment off the stack, too.
    check(
        "far",
        &text,
        "0..2 agrees\n2..10 mended sp+16 u c-8\n10..12 mended sp+24 u c-8\n12..13 agrees\n",
    );
}

#[test]
fn a_frame_realigned_as_gcc_does() {
    let body = "lea 8(%rsp), %r10\n and $-32, %rsp\n push -8(%r10)\n push %rbp\n mov %rsp, %rbp\n push %r10\n call other\n
         pop %r10\n pop %rbp\n lea -8(%r10), %rsp\n ret";
    let text = [function("_start", body), silent("other", "ret")];
    // 5 bytes, 4, 4, 1, 3, 2, 5, 2, 1, 4 and 1. While `other` runs, r10 is its own; it lies on the stack.
    check(
        "drap",
        &text,
        "0..9 agrees\n9..17 mended r10+0 u c-8\n17..19 mended r10+0 (sp+0) c-8\n19..26 mended (sp+0) (sp+8) c-8\n26..27 mended r10+0 (sp+0) c-8\n27..31 mended r10+0 u c-8\n31..32 agrees\n32..33 made sp+8 u c-8\n",
    );
}

#[test]
fn handlers_that_never_return() {
    let text = [
        // With an error code `rax` is pushed once more than it is saved.
        silent(
            "_start",
            "push %rax\n push %rcx\n push %rax\n sub $16, %rsp\n cld\n lea 1f(%rip), %rdi\n call stops\n 1: ud2",
        ),
        silent("without_code", "push %rcx\n cld\n call stops\n ud2"),
        silent("calls_nobody", "push %rcx\n cld\n 1: jmp 1b"),
        // Nothing says of these how they are entered.
        silent("keeps_the_flag", "push %rcx\n nop\n call stops\n ud2"),
        silent("clears_it_first", "cld\n push %rcx\n call stops\n ud2"),
        silent(
            "clears_it_elsewhere",
            "push %rcx\n test %edi, %edi\n je 1f\n cld\n 1: call stops\n ud2",
        ),
        silent("stops", "1: jmp 1b"),
    ];
    check(
        "diverging",
        &text,
        "0..1 made (sp+32) u (sp+8)\n1..2 made (sp+40) u (sp+16)\n2..3 made (sp+48) u (sp+24)\n3..7 made (sp+56) u (sp+32)\n7..20 made \
         (sp+72) u (sp+48)\n22..23 made (sp+24) u (sp+0)\n23..29 made (sp+32) u (sp+8)\n31..32 made (sp+24) u (sp+0)\n32..35 made (sp+32) u \
         (sp+8)\n35..42 missing: no call of the function was found, and no path through the function returns\n44..51 missing: no call of the function was found, and no path through the function returns\n53..64 missing: no call of the function was found, and no path through the function returns\n66..68 made sp+8 u c-8\n",
    );
}

#[test]
fn a_handler_that_is_called_is_a_function() {
    let text = [
        function("_start", "call diverges"),
        silent("diverges", "push %rcx\n cld\n call stops\n ud2"),
        silent("stops", "1: jmp 1b"),
    ];
    check(
        "called_handler",
        &text,
        "0..5 agrees\n5..6 made sp+8 u c-8\n6..12 made sp+16 u c-8\n14..16 made sp+8 u c-8\n",
    );
}

#[test]
fn code_with_a_label_only() {
    let text = [
        function("_start", "call label\n ret"),
        "label: push %rbx\n pop %rbx\n ret\n".to_owned(),
        "returns: push %rbx\n pop %rbx\n ret\n".to_owned(),
        "endless: push %rbx\n 1: jmp 1b\n".to_owned(),
        // The way that compilers name what they have made.
        "_RNvC4core4spin: push %rbx\n 1: jmp 1b\n".to_owned(),
        "goes_on: jmp label\n".to_owned(),
    ];
    check(
        "label",
        &text,
        "0..6 agrees\n6..7 made sp+8 u c-8\n7..8 made sp+16 u c-8\n8..9 made sp+8 u c-8\n9..10 made sp+8 u c-8\n10..11 made sp+16 u \
         c-8\n11..12 made sp+8 u c-8\n12..15 missing: no call of the function was found, and no path through the function returns\n15..16 made sp+8 u c-8\n16..18 made sp+16 u \
         c-8\n18..20 made sp+8 u c-8\n",
    );
}

#[test]
fn a_trap_behind_which_the_row_agrees() {
    let text = [
        function(
            "_start",
            "push %rbx\n .cfi_def_cfa_offset 16\n ud2\n pop %rbx\n ret",
        ),
        function("stops", "push %rbx\n ud2\n pop %rbx\n ret"),
    ];
    // The handler goes on behind the first one.
    check(
        "trap",
        &text,
        "0..4 agrees\n4..5 mended sp+8 u c-8\n5..6 agrees\n6..8 mended sp+16 u c-8\n",
    );
}

#[test]
fn entries_of_linkage_tables_lead_to_what_never_returns() {
    let text = [
        function(
            "_start",
            "push %rbx\n call abort@PLT\n pop %rbx\n push %rbx\n ret",
        ),
        function("returns", "push %rbx\n call getpid@PLT\n pop %rbx\n ret"),
        function(
            "throws",
            "push %rbx\n call _ZSt20__throw_length_errorPKc@PLT\n ret",
        ),
        function("by_word", "push %rbx\n call *exit@GOTPCREL(%rip)\n ret"),
    ];
    // Behind those calls the stack is not that of a return.
    let expected = "0..1 agrees\n1..6 mended sp+16 u c-8\n9..10 agrees\n10..16 mended sp+16 u c-8\n16..18 agrees\n18..23 mended sp+16 u c-8\n24..25 agrees\n25..31 mended sp+16 u c-8\n";
    for (switch, entries) in [
        (
            "now",
            "48..54 made sp+8 u c-8\n64..70 made sp+8 u c-8\n80..86 made sp+8 u c-8\n",
        ),
        (
            "force-ibt",
            "96..106 made sp+8 u c-8\n112..122 made sp+8 u c-8\n128..138 made sp+8 u c-8\n",
        ),
    ] {
        let name = format!("x86_ways_plt_{switch}");
        let found = prove_linked(&name, TARGET, &text.concat(), &["-shared", "-z", switch]);
        assert_eq!(found, format!("{expected}{entries}"));
    }
}
