//! Instructions after which less is known than their usual use suggests: A64.

use super::support::Set::A64;
use super::support::judge;

/// Control may continue after a word that the manual does not allocate, with registers that are not known.
#[test]
fn code_after_an_unallocated_word_may_be_entered_from_it() {
    for word in ["0x00201000", "0x02000000", "0xd4e00000"] {
        judge(
            A64,
            &format!(
                "fn f\n sub sp, sp, #16\n cbz x0, 3f\n sub sp, sp, #16\n .inst {word} | sp+32\n 3: nop | not sp+16; not sp+32\n add sp, sp, #16\n ret\n end"
            ),
        );
    }
}

/// Handlers and debuggers resume after each of these, whether other code leads there or not.
#[test]
fn exceptions_may_be_resumed() {
    for instruction in ["brk #0x800", "hlt #0xf000", "udf #7", "svc #0"] {
        judge(
            A64,
            &format!(
                "fn f\n sub sp, sp, #16\n cbz x0, 3f\n sub sp, sp, #16\n {instruction} | sp+32\n 3: nop | not sp+16; not sp+32\n add sp, sp, #16\n ret\n end"
            ),
        );
    }
}

/// An operating system, or a debugger, writes to memory whose address it gets, and returns a value.
#[test]
fn calls_of_other_software_write_memory_and_registers() {
    for instruction in ["mov x8, #64\n svc #1", "hvc #0", "smc #0", "hlt #0xf000"] {
        judge(
            A64,
            &format!(
                "fn f\n stp x29, x30, [sp, #-32]!\n mov x0, sp\n str x0, [sp, #16]\n {instruction} | sp+32 ra=c-24\n\
                 ldr x9, [sp, #16] | sp+32 ra=c-24; not r0+32 ra=c-24\n nop | sp+32 ra=c-24; not r9+32 ra=c-24\n ldp x29, x30, [sp], #32\n ret\n end"
            ),
        );
    }
}

/// An exception that is taken to the level of trap code overwrites `elr_el1`. The register has another name where EL2 runs the system.
#[test]
fn other_exceptions_overwrite_the_interrupted_address() {
    for instruction in [
        "msr daifclr, #2",
        "msr daif, x1",
        "brk #1",
        "udf #1",
        "hlt #1",
        "msr elr_el2, x1",
    ] {
        judge(
            A64,
            &format!(
                "fn entry trap\n sub sp, sp, #32 | sp+0 ra=r33+0\n {instruction} | sp+32 ra=r33+0\n nop | not sp+32 ra=r33+0\n add sp, sp, #32\n eret | not sp+0 ra=r33+0\n end"
            ),
        );
    }
    judge(
        A64,
        "fn entry trap\n sub sp, sp, #32 | sp+0 ra=r33+0\n msr daifset, #2 | sp+32 ra=r33+0\n nop | sp+32 ra=r33+0\n add sp, sp, #32\n eret | sp+0 ra=r33+0\n end",
    );
}

/// With `spsel` 0, `sp` is the register that is named `sp_el0` otherwise.
#[test]
fn selecting_a_stack_pointer_makes_both_unknown() {
    judge(
        A64,
        "fn entry trap\n nop | r16904+0 ra=r33+0\n msr spsel, #0 | r16904+0 ra=r33+0\n sub sp, sp, #16 | not r16904+0 ra=r33+0\n\
         nop | not r16904+0 ra=r33+0\n msr spsel, #1\n eret\n end",
    );
}

/// The constant -1 shifted by 40 has no value in the checker: by 31, the sum would be the caller's stack pointer at the end.
#[test]
fn far_shifts_of_a_constant_are_not_known() {
    let sums = "add x9, x9, #0xfff000\n".repeat(128);
    judge(
        A64,
        &format!(
            "fn f\n mov x1, #-1\n mov x2, sp\n add x9, x2, x1, lsl #40\n {sums} add x9, x9, #0x80000\n nop | sp+0; not r9+0\n ret\n end"
        ),
    );
}

/// `stzgm` zeroes the block that contains its address.
#[test]
fn blocks_of_tags_are_overwritten() {
    judge(
        A64,
        "fn f\n stp x29, x30, [sp, #-16]!\n .inst 0xd92003e0 | sp+16 ra=c-8\n nop | not sp+16 ra=c-8\n ldp x29, x30, [sp], #16\n ret\n end",
    );
}

/// An address is named by a difference, by a sum of registers, by a copy, and by a constant that begins with ones.
#[test]
fn addresses_are_named_by_any_arithmetic() {
    for name in [
        "adr x1, 9f\n sub x1, x1, #8",
        "adr x1, 9f\n mov x2, #-8\n add x1, x1, x2",
        "adr x2, 9f\n mov x1, x2\n sub x1, x1, #8",
        "mov x2, #2\n adr x1, 9f\n sub x1, x1, x2, lsl #2",
        "movn x1, #0xff, lsl #48\n movk x1, #0, lsl #48\n movk x1, #0, lsl #32\n movk x1, #0x10, lsl #16\n movk x1, #0x20",
    ] {
        judge(
            A64,
            &format!(
                "fn f\n cbz x0, 1f\n sub sp, sp, #16\n {name}\n br x1\n 1: nop | not sp+0; not sp+16\n nop\n 9: ret\n end\n fn g\n bl f\n 7: b 7b\n end"
            ),
        );
    }
}

/// Addresses that code computes in 32 bits are named.
#[test]
fn addresses_of_32_bits_are_named() {
    for steps in [
        "movz w9, #:abs_g0_nc:middle\n movk w9, #:abs_g1:middle",
        "adr x9, middle + 8\n sub w9, w9, #8",
        "ldrsw x9, 1f\n b 2f\n 1: .word middle\n 2:",
    ] {
        judge(
            A64,
            &format!(
                "fn g\n {steps}\n str x9, [x0]\n ret\n end\n fn f\n stp x29, x30, [sp, #-16]!\n middle: nop | not sp+16 ra=c-8\n\
                 ldp x29, x30, [sp], #16\n ret\n end"
            ),
        );
    }
}
