//! Trap code for AArch64, which is entered as its first row says, and code that ends in other ways than by a return.

use crate::common::proven::{function, prove, silent};

const TARGET: &str = "aarch64-unknown-none-softfloat";
/// The numbers of `ELR_EL1` and `SP_EL0` in call frame information.
const ELR: u32 = 33;

fn check(name: &str, text: &[String], expected: &str) {
    let found = prove(&format!("a64_traps_{name}"), TARGET, &text.concat());
    assert_eq!(found, expected, "{}", text.concat());
}

#[test]
fn trap_code_is_entered_as_its_first_row_says() {
    let sp_el0 = unwind::aarch64::SP_EL0;
    // From EL1: the stack pointer is the interrupted one, and ELR has the address.
    let head = format!(".cfi_signal_frame\n .cfi_def_cfa sp, 0\n .cfi_register x30, {ELR}\n");
    check(
        "el1",
        &[
            function(
                "_start",
                &format!(
                    "{head} sub sp, sp, #32\n stp x29, x30, [sp]\n mrs x9, elr_el1\n str x9, [sp, #16]\n bl other\n ldr x9, [sp, #16]\n msr elr_el1, x9\n ldp x29, x30, [sp]\n add sp, sp, #32\n eret"
                ),
            ),
            silent("other", "ret"),
        ],
        "0..4 agrees\n4..16 mended sp+32 u r33+0\n16..36 mended sp+32 u c-16\n36..40 agrees\n40..44 made sp+0 u u\n",
    );
    let head = format!(
        ".cfi_signal_frame\n .cfi_def_cfa sp, 0\n .cfi_register sp, {sp_el0}\n .cfi_register x30, {ELR}\n"
    );
    // The rows do not follow what is saved: they name a register that is not what it was.
    check(
        "el0",
        &[
            function(
                "_start",
                &format!(
                    "{head} sub sp, sp, #32\n mrs x9, sp_el0\n mrs x10, elr_el1\n stp x9, x10, [sp, #16]\n bl other\n ldp x9, x10, [sp, #16]\n msr sp_el0, x9\n msr elr_el1, x10\n add sp, sp, #32\n eret"
                ),
            ),
            silent("other", "ret"),
        ],
        "0..16 agrees\n16..28 withdrawn: the stack pointer is loaded from a register or from memory\n28..32 mended r9+0 u (sp+24)\n32..40 \
         agrees\n40..44 made sp+0 u u\n",
    );
    let head = ".cfi_signal_frame\n .cfi_def_cfa sp, 32\n .cfi_offset sp, -32\n .cfi_offset x30, -24\n .cfi_offset x29, -16\n";
    // What was interrupted lies in memory; x30 is the interrupted code's own.
    check(
        "kept",
        &[function(
            "_start",
            &format!(
                "{head} mov x29, xzr\n sub sp, sp, #16\n nop\n add sp, sp, #16\n ldp x9, x10, [sp]\n eret"
            ),
        )],
        "0..8 agrees\n8..16 mended (sp+16) (sp+32) (sp+24)\n16..24 agrees\n",
    );
    let head =
        ".cfi_signal_frame\n .cfi_def_cfa sp, 32\n .cfi_offset x30, -24\n .cfi_offset x29, -16\n";
    // So does its return address alone.
    check(
        "value",
        &[function(
            "_start",
            &format!("{head} mov x29, xzr\n sub sp, sp, #16\n nop\n b .\n"),
        )],
        "0..8 agrees\n8..16 mended sp+48 c-16 c-24\n",
    );
    // Such a row tells nothing.
    let head = ".cfi_signal_frame\n .cfi_def_cfa x9, 16\n .cfi_register x30, 33\n";
    check(
        "offset",
        &[function("_start", &format!("{head} nop\n eret"))],
        "",
    );
    let head = ".cfi_signal_frame\n .cfi_def_cfa x9, 0\n .cfi_register x30, 33\n";
    // The stack pointer is in a register.
    check(
        "register",
        &[function(
            "_start",
            &format!("{head} sub sp, sp, #16\n eret"),
        )],
        "0..8 agrees\n",
    );
}

#[test]
fn an_exception_return_alone_tells_nothing() {
    // What is called is a function, whatever it ends in.
    check(
        "eret",
        &[
            function("_start", "bl called\n ret"),
            silent("called", "sub sp, sp, #16\n add sp, sp, #16\n eret"),
            silent("uncalled", "sub sp, sp, #16\n add sp, sp, #16\n eret"),
        ],
        "0..4 agrees\n8..12 made sp+0 u u\n12..16 made sp+16 u u\n16..20 made sp+0 u u\n20..32 missing: no call of the function was found, and no path through the function returns\n",
    );
}

#[test]
fn signed_return_addresses() {
    let arch = ".arch armv8.3-a\n".to_owned();
    // The rows know of the signature.
    check(
        "signed_row",
        &[
            arch.clone(),
            function(
                "_start",
                "paciasp\n .cfi_negate_ra_state\n stp x29, x30, [sp, #-16]!\n .cfi_def_cfa_offset 16\n .cfi_offset x30, -8\n .cfi_offset x29, -16\n mov x30, xzr\n nop\n ldp x29, x30, [sp], #16\n .cfi_def_cfa_offset 0\n .cfi_restore x30\n .cfi_restore x29\n retaa",
            ),
        ],
        "0..24 agrees\n",
    );
    // To take a signature off that is not there changes nothing.
    check(
        "signed_wrong",
        &[
            arch.clone(),
            function(
                "_start",
                "nop\n .cfi_negate_ra_state\n nop\n .cfi_negate_ra_state\n ret",
            ),
        ],
        "0..12 agrees\n",
    );
    // The rows know nothing of the signature.
    check(
        "signed_tail",
        &[
            arch,
            function(
                "_start",
                "pacibsp\n str x30, [sp, #-16]!\n bl other\n ldr x30, [sp], #16\n autibsp\n b other",
            ),
            silent("other", "ret"),
        ],
        "0..4 agrees\n4..8 mended sp+0 u u[s]\n8..16 mended sp+16 u c-16[s]\n16..20 mended sp+0 u u[s]\n20..24 agrees\n24..28 made sp+0 u u\n",
    );
}
