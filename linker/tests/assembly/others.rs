//! Big-endian AArch64, s390x, and version 2 of the format.

use super::*;

#[test]
fn big_endian_rows() {
    let text = function(
        "_start",
        " stp x29, x30, [sp, #-512]!\n .cfi_def_cfa_offset 512\n .cfi_offset x29, -512\n .cfi_offset x30, -504\n ret",
    );
    let (found, left_out) = rows("big_endian_rows", "aarch64_be-unknown-linux-gnu", &text);
    assert_eq!(
        found,
        "size = 8 bytes  _start
  +0 sp+0 u u
  +4 sp+512 c-512 c-504
"
    );
    assert_eq!(left_out, [""; 0]);
}

#[test]
fn s390x_rows() {
    let text = [
        function("_start", " .cfi_undefined 14\n nopr"),
        // The usual frame, whose register 15 is where the caller leaves room for it.
        function(
            "frame",
            " stmg %r11, %r15, 88(%r15)\n .cfi_offset 11, -72\n .cfi_offset 14, -48\n .cfi_offset 15, -40\n
              lay %r15, -168(%r15)\n .cfi_def_cfa_offset 328\n lgr %r11, %r15\n .cfi_def_cfa_register 11\n
              lmg %r11, %r15, 256(%r11)\n .cfi_restore 11\n .cfi_restore 14\n .cfi_restore 15\n .cfi_def_cfa 15, 160\n
              br %r14",
        ),
        // A leaf keeps registers in floating-point registers.
        function(
            "leaf",
            " ldgr %f0, %r11\n .cfi_register 11, 16\n nopr\n .cfi_register 14, 17\n nopr\n .cfi_restore 11\n nopr",
        ),
        function("frame_only", " nopr\n .cfi_offset 11, -72\n nopr"),
        // What does not divide by 8, and stack pointers that are not the usual ones.
        function("odd", " nopr\n .cfi_def_cfa_offset 163\n nopr"),
        function("switched", " nopr\n .cfi_register 15, 1\n nopr\n .cfi_offset 15, 8\n nopr"),
    ];
    let (rows, left_out) = rows("s390x_rows", "s390x-unknown-linux-gnu", &text.concat());
    assert_eq!(
        rows,
        "size = 2 bytes  _start
  +0 RA undefined
size = 24 bytes  frame
  +0 sp+160 u u
  +6 sp+160 c-72 c-48
  +12 sp+328 c-72 c-48
  +16 fp+328 c-72 c-48
  +22 sp+160 u u
size = 10 bytes, attr = \"F\"  leaf
  +0 sp+160 u u
  +4 sp+160 r16+0 u
  +6 sp+160 r16+0 r17+0
  +8 sp+160 u r17+0
size = 4 bytes  frame_only
  +0 sp+160 u u
  +2 sp+160 c-72 u
size = 2 bytes  odd
  +0 sp+160 u u
size = 4 bytes, attr = \"F\"  switched
  +0 sp+160 u u
  +2 r1+160 u u
"
    );
    assert_eq!(
        left_out,
        [
            "odd+0x2 at 0xffffffff8010002a (2 bytes): CFA: the CFA offset is not a multiple of 8",
            "switched+0x4 at 0xffffffff80100030 (2 bytes): stack pointer: unsupported rule: SFrame cannot express a stack pointer that is loaded from memory and differs from the CFA",
        ]
    );
}

#[test]
fn version_2_has_what_it_has_words_for() {
    let text = [
        function("_start", ".cfi_undefined rip\n hlt"),
        function(
            "frame",
            " push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset rbp, -16\n pop %rbp\n .cfi_def_cfa_offset 8\n
              .cfi_restore rbp\n ret",
        ),
        function("other", " nop\n .cfi_def_cfa r10, 0\n nop"),
        function("trap", " .cfi_signal_frame\n nop"),
        function(
            "twin",
            " push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset rbp, -16\n pop %rbp\n .cfi_def_cfa_offset 8\n
              .cfi_restore rbp\n ret",
        ),
    ];
    let (rows, left_out) = rows_of("version_2", X86_64, &text.concat(), &["--sframe=v2"]);
    assert_eq!(
        rows,
        "size = 1 bytes  _start
  +0 RA undefined
size = 3 bytes  frame
  +0 sp+8 u f
  +1 sp+16 c-16 f
  +2 sp+8 u f
size = 3 bytes  twin
  +0 sp+8 u f
  +1 sp+16 c-16 f
  +2 sp+8 u f
"
    );
    assert_eq!(
        left_out,
        [
            "other at 0xffffffff80100004 (2 bytes): its rules require SFrame version 3 (--sframe=v3)",
            "trap at 0xffffffff80100006 (1 bytes): signal frames require SFrame version 3 (--sframe=v3)",
        ]
    );
}

#[test]
fn version_2_of_s390x_has_registers_in_rows() {
    let text = function(
        "_start",
        " ldgr %f0, %r11\n .cfi_register 11, 16\n nopr\n .cfi_register 14, 17\n nopr",
    );
    let target = "s390x-unknown-linux-gnu";
    let (rows, left_out) = rows_of("version_2_s390x", target, &text, &["--sframe=v2"]);
    assert_eq!(
        rows,
        "size = 8 bytes  _start
  +0 sp+160 u u
  +4 sp+160 r16+0 u
  +6 sp+160 r16+0 r17+0
"
    );
    assert_eq!(left_out, [""; 0]);
}
