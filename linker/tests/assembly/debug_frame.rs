//! `.debug_frame` beside `.eh_frame`.

use super::*;

#[test]
fn debug_frame_says_what_eh_frame_does_not() {
    // LLVM writes one kind of section for all of a file, so one file is the other's neighbour.
    let only_debug = [
        ".cfi_sections .debug_frame\n".to_owned(),
        function("_start", ".cfi_undefined rip\n call callee\n hlt"),
        function(
            "callee",
            " push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset rbp, -16\n pop %rbp\n ret",
        ),
    ];
    let expected = "size = 6 bytes  _start
  +0 RA undefined
size = 3 bytes  callee
  +0 sp+8 u f
  +1 sp+16 c-16 f
";
    let (found, left_out) = rows("debug_frame", X86_64, &only_debug.concat());
    assert_eq!(found, expected);
    assert_eq!(left_out, [""; 0]);
    // Both say something about the same functions: `.eh_frame` counts.
    let both = only_debug
        .concat()
        .replace(".debug_frame", ".eh_frame, .debug_frame");
    let (found, left_out) = rows("both_frames", X86_64, &both);
    assert_eq!(found, expected);
    assert_eq!(left_out, [""; 0]);
}

#[test]
fn trap_code_has_no_mark_in_debug_frame_and_other_code_none_in_eh_frame() {
    // The caller's stack pointer lies on the stack: the processor has pushed it, or code that switches stacks.
    let saved = " .cfi_def_cfa rsp, 40\n .cfi_offset rip, -40\n .cfi_offset rsp, -16\n nop";
    let rules = "  +0 (sp+24) u (sp+0)\n";
    for (name, sections, mark, attributes) in [
        ("marked", ".eh_frame", " .cfi_signal_frame\n", "SF"),
        ("no_mark", ".eh_frame", "", "F"),
        ("lost_mark", ".debug_frame", " .cfi_signal_frame\n", "SF"),
    ] {
        let text = [
            format!(".cfi_sections {sections}\n"),
            function("_start", &format!("{mark}{saved}")),
        ];
        let (found, left_out) = rows(&format!("trap_{name}"), X86_64, &text.concat());
        let expected = format!("size = 1 bytes, attr = \"{attributes}\"  _start\n{rules}");
        assert_eq!(found, expected, "{name}");
        assert_eq!(left_out, [""; 0]);
    }
}

#[test]
fn debug_frame_of_removed_code_is_no_function() {
    let text = [
        ".cfi_sections .debug_frame\n.section .text.a,\"ax\",%progbits\n".to_owned(),
        function("_start", " nop\n .cfi_def_cfa_offset 16\n ret"),
        ".section .text.b,\"ax\",%progbits\n".to_owned(),
        function("unused", " nop\n ret"),
    ];
    let (found, left_out) = rows_of("removed", AARCH64, &text.concat(), &["--gc-sections"]);
    assert_eq!(
        found,
        "size = 8 bytes  _start
  +0 sp+0 u u
  +4 sp+16 u u
"
    );
    assert_eq!(left_out, [""; 0]);
}
