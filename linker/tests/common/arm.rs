//! An image for 32-bit ARM.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::{assemble, scripts, sframe_link, stderr};

/// A function in ARM code, and one in Thumb code, which it calls.
pub const TEXT: &str = "
.syntax unified
.cfi_sections .debug_frame
.arm
.text
.global __aeabi_unwind_cpp_pr0
.type __aeabi_unwind_cpp_pr0, %function
__aeabi_unwind_cpp_pr0:
    bx lr
.size __aeabi_unwind_cpp_pr0, . - __aeabi_unwind_cpp_pr0
.global _start
.type _start, %function
_start:
    .fnstart
    .save {{r4, lr}}
    push {{r4, lr}}
    bl in_thumb
    pop {{r4, pc}}
    .fnend
.size _start, . - _start
.global main
.type main, %function
main:
    .cfi_startproc
    .cfi_undefined lr
    bl _start
    udf #0
    .cfi_endproc
.size main, . - main
.thumb
.global in_thumb
.thumb_func
.type in_thumb, %function
in_thumb:
    .fnstart
    .cfi_startproc
    push {{r4, r6, r7, lr}}
    .cfi_def_cfa_offset 16
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    .cfi_offset r6, -12
    .cfi_offset r4, -16
    add r7, sp, #8
    .cfi_def_cfa r7, 8
    sub sp, #32
    mov r4, sp
    sub.w r4, r7, #8
    mov sp, r4
    pop {{r4, r6, r7, pc}}
    .cfi_endproc
    .fnend
.size in_thumb, . - in_thumb
.arm
";

const SCRIPT: &str = "
ENTRY(_start)
SECTIONS {
    . = 0x40200000;
    .text : { *(.text .text.*) }
    .rodata : { *(.rodata .rodata.*) }
    .ARM.extab : { *(.ARM.extab .ARM.extab.*) }
    .ARM.exidx : { __exidx_start = .; *(.ARM.exidx .ARM.exidx.*) __exidx_end = .; }
    INCLUDE tables.ld
    .data : { *(.data .data.*) }
}
";

/// Links a text; the image, and what the link said.
pub fn link(folder: &Path, text: &str, options: &[&str]) -> (PathBuf, Output) {
    let object = assemble(folder, "armv7a-none-eabi", text);
    let (script, image) = (folder.join("script.ld"), folder.join("image"));
    fs::write(&script, SCRIPT).unwrap();
    let mut command = sframe_link();
    command.args(["-flavor", "gnu", "--build-id=sha1"]);
    command.arg(format!("-T{}", script.display()));
    command.arg(format!("-L{}", scripts())).args(options);
    command.arg(object).arg("-o").arg(&image);
    (image, command.output().unwrap())
}

/// [`link`], which must succeed.
pub fn linked(folder: &Path, text: &str, options: &[&str]) -> PathBuf {
    let (image, output) = link(folder, text, options);
    assert!(output.status.success(), "{}", stderr(&output));
    image
}
