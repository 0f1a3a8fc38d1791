//! Vector tables of AArch64 without directives.

use std::fs;
use std::path::Path;

use super::{AARCH64, judge};
use crate::common::{sframe, stdout};

/// A kernel with a vector table. `setter` sets the register for it. The slots of exceptions that keep the stack pointer branch to `common`, and the
/// others to `others`.
fn kernel(setter: &str, rows: &Rows, end: &str) -> String {
    let Rows {
        first,
        behind,
        saved,
        others,
    } = rows;
    let slot = |number: usize| {
        let to = if (4..8).contains(&number) {
            "common"
        } else {
            "others"
        };
        format!(" .balign 128\n b {to}\n")
    };
    let slots: String = (0..16).map(slot).collect();
    format!(
        "
.type outer, %function
outer:
 {setter}
 b .
.size outer, . - outer
handle:
 ret
.balign 2048
vectors:
{slots}
common:
 sub sp, sp, #32 | {first}
 mrs x9, elr_el1 | {behind}
 stp x30, x9, [sp, #16] | {behind}
 bl handle | {saved}
 ldp x30, x9, [sp, #16] | {saved}
 msr elr_el1, x9 | {saved}
 add sp, sp, #32 | {saved}
 {end} | {first}
others:
 b others | {others}
"
    )
}

/// The rows of a kernel.
#[derive(Clone, Copy)]
struct Rows {
    /// The first and the last instruction of `common`.
    first: &'static str,
    /// Behind its first instruction, which moves the stack pointer.
    behind: &'static str,
    /// When it has saved the link register.
    saved: &'static str,
    others: &'static str,
}

const TRAP: Rows = Rows {
    first: "sp+0 trap, x30",
    behind: "sp+32 trap, x30",
    saved: "sp+32 trap, x30 at sp+16",
    others: "Register(16904)+0 trap, x30",
};

/// Nothing is proven.
const NONE: Rows = Rows {
    first: "-",
    behind: "-",
    saved: "-",
    others: "sp+0 unproven",
};

#[test]
fn code_of_slots_is_trap_code() {
    for (name, setter) in [
        ("derived-vectors-adr", "adr x0, vectors\n msr vbar_el1, x0"),
        (
            "derived-vectors-page",
            "adrp x8, vectors\n add x8, x8, :lo12:vectors\n msr vbar_el1, x8\n isb",
        ),
        (
            "derived-vectors-literal",
            "ldr x0, =vectors\n msr vbar_el1, x0",
        ),
        (
            "derived-vectors-moved",
            "movz x1, #:abs_g1:vectors\n movk x1, #:abs_g0_nc:vectors\n mov x0, x1\n msr vbar_el1, x0",
        ),
    ] {
        let setter = format!("{setter}\n msr sp_el0, x1");
        judge(name, AARCH64, &kernel(&setter, &TRAP, "eret"));
    }
}

/// No code sets the other stack pointer, so that no slot finds one.
#[test]
fn slots_of_a_kernel_with_one_stack_pointer_have_the_same_rows() {
    let rows = Rows {
        others: "sp+0 trap, x30",
        ..TRAP
    };
    let setter = "adr x0, vectors\n msr vbar_el1, x0";
    judge(
        "derived-vectors-one-stack",
        AARCH64,
        &kernel(setter, &rows, "eret"),
    );
}

/// The end of a function that calls `set`; and `set`, which sets the register to its argument.
const SET: &str = "\n.size outer, . - outer\n.type set, %function\nset:\n mov x3, x0\n msr vbar_el1, x3\n ret\n.size set, . - set\nrest:";

#[test]
fn the_address_may_be_an_argument_of_the_function_that_sets_the_register() {
    let setter = "adr x0, vectors\n msr sp_el0, x1\n bl set\n b .\n.size outer, . - outer\n.type set, %function\nset:\n msr vbar_el1, x0\n ret\n.size set, . - set\nrest:";
    let program = kernel(setter, &TRAP, "eret").replace(".size outer, . - outer\nhandle", "handle");
    judge("derived-vectors-argument", AARCH64, &program);
}

/// Slots need no return from a trap if they lead to a read of the interrupted program counter, or if the register is seen to get the table's address.
#[test]
fn vectors_that_never_return_have_rows_of_trap_code() {
    let direct =
        "adrp x8, vectors\n add x8, x8, :lo12:vectors\n msr sp_el0, x1\n msr vbar_el1, x8\n isb";
    judge(
        "derived-vectors-endless",
        AARCH64,
        &kernel(direct, &TRAP, "b ."),
    );
    let hidden = |code: &str| {
        code.replace("mrs x9, elr_el1", "mov x9, x1")
            .replace("msr elr_el1, x9", "nop")
    };
    let passed = |setter: &str| {
        let setter = format!("{setter}\n msr sp_el0, x1\n bl set\n b .{SET}");
        kernel(&setter, &TRAP, "b .").replace(".size outer, . - outer\nhandle", "handle")
    };
    for (name, program) in [
        (
            "derived-vectors-endless-hidden",
            hidden(&kernel(direct, &TRAP, "b .")),
        ),
        (
            "derived-vectors-endless-argument",
            hidden(&passed("adr x0, vectors")),
        ),
        // Only the read of the interrupted program counter shows it.
        (
            "derived-vectors-endless-read",
            passed("adr x0, vectors\n str x0, [sp, #-16]!\n ldr x0, [sp], #16"),
        ),
    ] {
        judge(name, AARCH64, &program);
    }
}

/// Each slot of Linux adds `x0` to `sp` to check for a stack overflow, and computes both from the sum again.
#[test]
fn a_slot_may_add_a_register_to_the_stack_pointer_and_separate_the_sum() {
    let setter = "adr x0, vectors\n msr sp_el0, x1\n msr vbar_el1, x0";
    let lost = Rows {
        others: TRAP.others,
        ..NONE
    };
    let right = "sub x0, sp, x0 | -";
    for (name, changed, separated, rows) in [
        ("derived-vectors-check", "nop", right, TRAP),
        (
            "derived-vectors-check-changed",
            "add x0, x0, #16",
            right,
            lost,
        ),
        (
            "derived-vectors-check-other",
            "nop",
            "sub x0, sp, x1 | -",
            lost,
        ),
    ] {
        let check = format!(
            " add sp, sp, x0 | sp+0 trap, x30\n sub x0, sp, x0 | -\n tbnz x0, #14, 1f | -\n {changed} | -\n {separated}\n \
             sub sp, sp, x0 | -\n b common | {first}\n1: b .\n",
            first = rows.first
        );
        let program = kernel(setter, &rows, "eret").replace(" b common\n", &check);
        judge(name, AARCH64, &program);
    }
}

/// Without one of these facts the code is not known to be a vector table.
#[test]
fn other_code_has_no_rows_of_trap_code() {
    for (name, setter) in [
        ("derived-vectors-unset", "adr x0, vectors"),
        (
            "derived-vectors-other-level",
            "adr x0, vectors\n msr vbar_el2, x0",
        ),
        ("derived-vectors-unnamed", "ldr x0, [x1]\n msr vbar_el1, x0"),
        (
            "derived-vectors-middle",
            "adr x0, vectors + 128\n msr vbar_el1, x0",
        ),
    ] {
        judge(name, AARCH64, &kernel(setter, &NONE, "eret"));
    }
    // No slot leads to a return from a trap or to a read of the interrupted program counter, and the register's value is unknown.
    let setter = format!("adr x0, vectors\n ldr x0, [x0]\n bl set\n b .{SET}");
    let program = kernel(&setter, &NONE, "b .").replace(".size outer, . - outer\nhandle", "handle");
    let program = program.replace("mrs x9, elr_el1", "mov x9, x1");
    judge("derived-vectors-unknown-argument", AARCH64, &program);
}

/// Where directives begin, the code before them may have called: the link register has another value then.
#[test]
fn directives_say_nothing_of_the_link_register() {
    let program = "
.type outer, %function
outer:
 adr x0, vectors
 msr vbar_el1, x0
 msr sp_el0, x1
 b .
.size outer, . - outer
.type handle, %function
handle:
 ret
.size handle, . - handle
.balign 2048
vectors:
.rept 16
 .balign 128
 b common
.endr
common:
 sub sp, sp, #32
 mrs x9, elr_el1
 str x9, [sp, #24]
 bl handle
 .cfi_startproc simple
 .cfi_signal_frame
 .cfi_def_cfa sp, 32
 .cfi_offset x30, -8
 str x30, [sp] | sp+32 trap
 bl handle | sp+32 trap
 .cfi_endproc
 ldr x9, [sp, #24]
 msr elr_el1, x9
 add sp, sp, #32
 eret
";
    judge("derived-vectors-directives", AARCH64, program);
}

/// A place of the link register that does not follow from the code.
#[test]
fn sframe_check_finds_a_wrong_place_of_the_link_register() {
    let setter = "adr x0, vectors\n msr vbar_el1, x0\n msr sp_el0, x1";
    let name = "derived-vectors-wrong";
    judge(name, AARCH64, &kernel(setter, &TRAP, "eret"));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(name)
        .join("image");
    let mut data = fs::read(&path).unwrap();
    // The list ends with the number of its ranges and a magic. Each range ends with the place.
    let magic = data.windows(4).position(|bytes| bytes == b"SFLR").unwrap();
    let ranges = &mut data[..magic - 4];
    let place = ranges
        .rchunks_exact_mut(16)
        .find(|range| range[12..] == [16, 0, 0, 0]);
    place.unwrap()[12] = 8;
    fs::write(&path, data).unwrap();
    let check = sframe(&["check", "--coverage=0"], &path);
    assert!(!check.status.success());
    let says = "but the code does not confirm this location";
    assert!(stdout(&check).contains(says), "{}", stdout(&check));
}
