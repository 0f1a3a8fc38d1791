//! Rows of each architecture.

use super::*;

#[test]
fn x86_64_default_rows() {
    let text = [
        function("_start", ".cfi_undefined rip\n hlt"),
        // Two instructions at one address are one row, in the order of DWARF; and what repeats is not said again.
        function(
            "frame",
            " push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset rbp, -16\n mov %rsp, %rbp\n .cfi_def_cfa_register rbp\n
              nop\n .cfi_same_value rbx\n pop %rbp\n .cfi_def_cfa rsp, 8\n .cfi_restore rbp\n ret",
        ),
        // A remembered state inside another; GNU as keeps only one.
        function(
            "remember",
            " push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset rbp, -16\n nop\n .cfi_remember_state\n .cfi_def_cfa_offset 24\n
              nop\n .cfi_remember_state\n .cfi_def_cfa_offset 8\n .cfi_restore rbp\n nop\n .cfi_restore_state\n nop\n
              .cfi_restore_state\n nop",
        ),
        // Offsets of 1, 2 and 4 bytes, starts of 2 bytes, and a row behind the last instruction.
        function(
            "wide",
            " nop\n .cfi_def_cfa_offset 128\n nop\n .cfi_def_cfa_offset 40000\n .skip 300, 0x90\n .cfi_def_cfa_offset 16\n
              nop\n .cfi_def_cfa_offset 8",
        ),
        // The same rows as `frame`, which it shares in the table.
        function(
            "twin",
            " push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset rbp, -16\n mov %rsp, %rbp\n .cfi_def_cfa_register rbp\n
              nop\n pop %rbp\n .cfi_def_cfa rsp, 8\n .cfi_restore rbp\n ret",
        ),
    ];
    let (rows, left_out) = rows("x86_64_default_rows", X86_64, &text.concat());
    assert_eq!(
        rows,
        "size = 1 bytes  _start
  +0 RA undefined
size = 7 bytes  frame
  +0 sp+8 u f
  +1 sp+16 c-16 f
  +4 fp+16 c-16 f
  +6 sp+8 u f
size = 6 bytes  remember
  +0 sp+8 u f
  +1 sp+16 c-16 f
  +2 sp+24 c-16 f
  +3 sp+8 u f
  +4 sp+24 c-16 f
  +5 sp+16 c-16 f
size = 303 bytes  wide
  +0 sp+8 u f
  +1 sp+128 u f
  +2 sp+40000 u f
  +302 sp+16 u f
size = 7 bytes  twin
  +0 sp+8 u f
  +1 sp+16 c-16 f
  +4 fp+16 c-16 f
  +6 sp+8 u f
"
    );
    assert_eq!(left_out, [""; 0]);
}

#[test]
fn x86_64_flexible_rows() {
    let text = [
        // GCC's realigned stack: the CFA in r10, then behind a pointer in the frame.
        function(
            "_start",
            " lea 8(%rsp), %r10\n .cfi_def_cfa r10, 0\n push %rbp\n .cfi_escape 0x10, 6, 2, 0x76, 0\n push %r10\n
              .cfi_escape 0x0f, 3, 0x76, 0x78, 0x06\n pop %r10\n .cfi_def_cfa r10, 0\n ret",
        ),
        // The return address in a register, and another than the usual one.
        function(
            "retpoline",
            " pop %r11\n .cfi_def_cfa_offset 0\n .cfi_register rip, r11\n push %r11\n .cfi_def_cfa_offset 8\n
              .cfi_offset rip, -8\n ret",
        ),
        // The frame pointer in a register, and as a value.
        function(
            "parked",
            " mov %rbp, %r12\n .cfi_register rbp, r12\n nop\n .cfi_escape 0x16, 6, 2, 0x77, 0x10\n nop\n
              .cfi_val_offset rbp, 16\n ret",
        ),
        // A trap frame: error code and saved registers between the CFA and the return address.
        function(
            "trap",
            " .cfi_signal_frame\n .cfi_def_cfa rsp, 48\n .cfi_offset rip, -40\n nop\n .cfi_escape 0x10, 6, 2, 0x23, 0x40\n nop",
        ),
    ];
    let (rows, left_out) = rows("x86_64_flexible_rows", X86_64, &text.concat());
    assert_eq!(
        rows,
        "size = 11 bytes, attr = \"F\"  _start
  +0 sp+8 u f
  +5 r10+0 u f
  +6 r10+0 (fp+0) f
  +8 (fp-8) (fp+0) f
  +10 r10+0 (fp+0) f
size = 5 bytes, attr = \"F\"  retpoline
  +0 sp+8 u f
  +2 sp+0 u r11+0
  +4 sp+8 u f
size = 6 bytes, attr = \"F\"  parked
  +0 sp+8 u f
  +3 sp+8 r12+0 f
  +4 sp+8 sp+16 f
  +5 sp+8 sp+24 f
size = 2 bytes, attr = \"SF\"  trap
  +0 sp+48 u c-40
  +1 sp+48 c+64 c-40
"
    );
    assert_eq!(left_out, [""; 0]);
}

#[test]
fn a_stack_pointer_that_is_not_the_cfa_becomes_it() {
    let text = [
        function("_start", " nop\n .cfi_val_offset rsp, 0\n nop\n .cfi_same_value rsp\n nop"),
        function("longjmp", " nop\n .cfi_register rsp, r8\n nop"),
        function(
            "sigreturn",
            " .cfi_signal_frame\n .cfi_escape 0x10, 7, 3, 0x77, 0xa0, 1\n nop\n .cfi_def_cfa_offset 16\n nop",
        ),
        // What the processor pushes at an exception: ss, rsp, rflags, cs, rip; then a saved frame pointer.
        function(
            "trap",
            " .cfi_signal_frame\n .cfi_def_cfa rsp, 40\n .cfi_offset rip, -40\n .cfi_offset rsp, -16\n push %rbp\n
              .cfi_adjust_cfa_offset 8\n .cfi_rel_offset rbp, 0\n nop",
        ),
    ];
    let (x86_64, left_out) = rows("stack_pointer_x86_64", X86_64, &text.concat());
    assert_eq!(
        x86_64,
        "size = 3 bytes, attr = \"F\"  _start
  +0 sp+8 u f
  +2 sp+0 u (sp+0)
size = 2 bytes, attr = \"F\"  longjmp
  +0 sp+8 u f
  +1 r8+0 u (sp+0)
size = 2 bytes, attr = \"SF\"  sigreturn
  +0 (sp+160) u (sp+0)
  +1 (sp+160) u (sp+8)
size = 2 bytes, attr = \"SF\"  trap
  +0 (sp+24) u (sp+0)
  +1 (sp+32) (sp+0) (sp+8)
"
    );
    assert_eq!(left_out, [""; 0]);

    let text = function(
        "_start",
        " .cfi_signal_frame\n .cfi_def_cfa sp, 304\n .cfi_offset sp, -56\n .cfi_offset x30, -48\n .cfi_offset x29, -72\n nop",
    );
    let (aarch64, left_out) = rows("stack_pointer_aarch64", AARCH64, &text);
    assert_eq!(
        aarch64,
        "size = 4 bytes, attr = \"SF\"  _start
  +0 (sp+248) (sp+232) (sp+256)
"
    );
    assert_eq!(left_out, [""; 0]);
}

#[test]
fn what_cannot_be_said_is_reported_and_leaves_the_rest() {
    let text = [
        function("_start", " nop\n .cfi_escape 0x16, 6, 3, 0x77, 0, 0x1f\n nop\n nop\n .cfi_restore rbp\n nop"),
        function("lost", " nop\n .cfi_undefined rsp\n nop"),
        function("undefined", " .cfi_undefined rbp\n nop"),
        function("expression", " .cfi_escape 0x0f, 5, 0x77, 8, 0x06, 0x23, 8\n nop"),
        function("column", " .cfi_return_column r11\n nop"),
        function("sigreturn", " .cfi_signal_frame\n .cfi_escape 0x0f, 3, 0x77, 8, 0x06\n .cfi_offset rsp, -16\n nop\n nop"),
        ".globl simple\n.type simple, %function\nsimple:\n.cfi_startproc simple\n nop\n.cfi_endproc\n.size simple, 1\n".to_owned(),
    ];
    let (rows, left_out) = rows("what_cannot_be_said", X86_64, &text.concat());
    assert_eq!(
        rows,
        "size = 1 bytes  _start
  +0 sp+8 u f
size = 1 bytes  _start
  +0 sp+8 u f
size = 1 bytes  lost
  +0 sp+8 u f
size = 2 bytes, attr = \"S\"  sigreturn
"
    );
    let expected = [
        "_start+0x1 at 0xffffffff80100001 (2 bytes): frame pointer: unsupported DWARF expression (2 operations)",
        "lost+0x1 at 0xffffffff80100005 (1 bytes): stack pointer: undefined",
        "undefined at 0xffffffff80100006 (1 bytes): frame pointer: undefined",
        "expression at 0xffffffff80100007 (1 bytes): CFA: unsupported DWARF expression (3 operations)",
        "column at 0xffffffff80100008 (1 bytes): call frame information has the unsupported return address column 11",
        "sigreturn at 0xffffffff80100009 (2 bytes): stack pointer: unsupported rule: the value is relative to a CFA that is loaded from memory",
        "simple at 0xffffffff8010000b (1 bytes): call frame information has no rule for the CFA",
    ];
    assert_eq!(left_out, expected);
}

#[test]
fn aarch64_rows() {
    let text = [
        function("_start", " .cfi_undefined x30\n nop"),
        function(
            "signed",
            " paciasp\n .cfi_negate_ra_state\n stp x29, x30, [sp, #-32]!\n .cfi_def_cfa_offset 32\n .cfi_offset x29, -32\n
              .cfi_offset x30, -24\n mov x29, sp\n .cfi_def_cfa x29, 32\n ldp x29, x30, [sp], #32\n .cfi_def_cfa sp, 0\n
              .cfi_restore x29\n .cfi_restore x30\n autiasp\n .cfi_negate_ra_state\n ret",
        ),
        function(
            "link_only",
            " str x30, [sp, #-16]!\n .cfi_def_cfa_offset 16\n .cfi_offset x30, -16\n ldr x30, [sp], #16\n
              .cfi_def_cfa_offset 0\n .cfi_restore x30\n ret",
        ),
        // What GNU as gives up on: the frame pointer saved and the return address not.
        function(
            "frame_only",
            " str x29, [sp, #-16]!\n .cfi_def_cfa_offset 16\n .cfi_offset x29, -16\n ldr x29, [sp], #16\n
              .cfi_def_cfa_offset 0\n .cfi_restore x29\n ret",
        ),
        function("other_base", " mov x9, sp\n .cfi_def_cfa x9, 16\n ret"),
        function("longjmp", " .cfi_def_cfa x0, 0\n .cfi_offset x30, 88\n .cfi_register sp, x5\n nop"),
        function("jump", " nop\n .cfi_def_cfa x0, 0\n .cfi_offset x30, 88\n nop"),
        function("moved", " mov x9, x30\n .cfi_register x30, x9\n ret"),
        function("key_b", " .cfi_b_key_frame\n pacibsp\n .cfi_negate_ra_state\n ret"),
        // A signal frame that says no more than that: nothing is lost.
        ".type silent, %function\nsilent:\n.cfi_startproc simple\n.cfi_signal_frame\n nop\n.cfi_endproc\n.size silent, 4\n".to_owned(),
        function("vector", " .cfi_signal_frame\n .cfi_def_cfa sp, 272\n .cfi_offset x30, -32\n .cfi_offset x29, -40\n nop"),
    ];
    let (rows, left_out) = rows("aarch64_rows", AARCH64, &text.concat());
    assert_eq!(
        rows,
        "size = 4 bytes  _start
  +0 RA undefined
size = 24 bytes  signed
  +0 sp+0 u u
  +4 sp+0 u u[s]
  +8 sp+32 c-32 c-24[s]
  +12 fp+32 c-32 c-24[s]
  +16 sp+0 u u[s]
  +20 sp+0 u u
size = 12 bytes  link_only
  +0 sp+0 u u
  +4 sp+16 u c-16
  +8 sp+0 u u
size = 12 bytes, attr = \"F\"  frame_only
  +0 sp+0 u u
  +4 sp+16 c-16 u
  +8 sp+0 u u
size = 8 bytes, attr = \"F\"  other_base
  +0 sp+0 u u
  +4 r9+16 u u
size = 4 bytes, attr = \"F\"  longjmp
  +0 r5+0 u (r0+88)
size = 8 bytes, attr = \"F\"  jump
  +0 sp+0 u u
  +4 r0+0 u c+88
size = 8 bytes, attr = \"F\"  moved
  +0 sp+0 u u
  +4 sp+0 u r9+0
size = 8 bytes, pauth = B key  key_b
  +0 sp+0 u u
  +4 sp+0 u u[s]
size = 4 bytes, attr = \"S\"  silent
size = 4 bytes, attr = \"S\"  vector
  +0 sp+272 c-40 c-32
"
    );
    assert_eq!(left_out, [""; 0]);
}
