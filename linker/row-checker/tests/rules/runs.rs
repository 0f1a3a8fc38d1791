//! Instructions of which one condition tells which are executed.

use super::support::Set::{A32, T32};
use super::support::judge;

/// A function that pops its frame under a condition, a function that it may lead to, and a caller. `row`: the row of that function, which is accepted
/// or refused.
fn pops(popped: &str, row: &str, behind: &str) -> String {
    format!(
        "fn leaf\n nop | {row}\n bx lr\n end\n\
         fn f\n push {{r4, lr}}\n cmp r0, #0\n {popped}\n nop | {behind}\n pop {{r4, pc}} | {behind}\n end\n"
    )
}

const ENTRY: &str = "sp+0 r4=same; not sp+8 ra=c-4";
const UNKNOWN: &str = "not sp+0; not sp+8 ra=c-4";
const FRAME: &str = "sp+8 ra=c-4 r4=c-8; not sp+0";

#[test]
fn all_of_a_run_is_executed_or_nothing() {
    let caller = "fn caller\n push {r4, lr}\n bl f\n nop | sp+8 ra=c-4 r4=c-8; not sp+8 ra=c-8\n pop {r4, pc}\n end";
    for popped in [
        "popne {r4, lr} | sp+8 ra=c-4 r4=c-8\n bne leaf | not sp+0; not sp+8 ra=c-4 r4=c-8",
        "popne {r4, lr}\n movne r0, #1 | not sp+0; not sp+8 ra=c-4\n bne leaf",
        // What is always executed, or under the opposite condition, belongs to the run if it keeps the flags.
        "popne {r4, lr}\n moveq r0, #1\n bne leaf",
        "popne {r4, lr}\n ldr r0, [r1]\n bne leaf",
        "popcs {r4, lr}\n bcs leaf",
        "popne {r4, lr}\n bxne lr | not sp+0",
    ] {
        judge(A32, &(pops(popped, ENTRY, FRAME) + caller));
    }
    for popped in [
        "itt ne\n popne {r4, lr}\n bne leaf | not sp+0; not sp+8 ra=c-4 r4=c-8",
        "it ne\n popne {r4, lr}\n bne.w leaf | not sp+0; not sp+8 ra=c-4 r4=c-8",
        "itet ne\n popne {r4, lr}\n moveq r0, #1\n bne leaf",
        "itt ne\n popne {r4, lr}\n bxne lr",
    ] {
        judge(T32, &(pops(popped, ENTRY, FRAME) + caller));
    }
}

/// A branch under the opposite condition is taken with the frame, and passed without it.
#[test]
fn opposite_conditions_have_the_other_state() {
    let frame = "not sp+0; sp+8 ra=c-4 r4=c-8";
    let entry = "fn leaf bare\n rows\n nop | sp+8 ra=c-4 r4=c-8; not sp+0\n pop {r4, pc}\n\
                 fn f\n push {r4, lr}\n cmp r0, #0\n";
    judge(
        A32,
        &format!(
            "{entry} popeq {{r4, lr}}\n bne leaf\n nop | sp+0 r4=same; not sp+8 ra=c-4\n bx lr\n end"
        ),
    );
    judge(
        T32,
        &format!(
            "{entry} it eq\n popeq {{r4, lr}}\n bne.w leaf\n nop | sp+0 r4=same; not sp+8 ra=c-4\n bx lr\n end"
        ),
    );
    judge(
        A32,
        &format!(
            "fn f\n push {{r4, lr}}\n cmp r0, #0\n bne 2f\n 2: nop | {frame}\n pop {{r4, pc}}\n end"
        ),
    );
}

/// If the flags may change between two instructions under one condition, one of them may be executed and the other one not.
#[test]
fn changed_flags_end_a_run() {
    for between in [
        "cmp r1, #0",
        "adds r0, r0, #1",
        "movsne r0, #0",
        "ands r0, r0, r1",
        "msr cpsr_f, r0",
        "vmrs APSR_nzcv, fpscr",
        "mrc p14, #0, APSR_nzcv, c0, c1, #0",
        "svc #0",
        "bkpt #0",
        "bleq g",
        "bl g",
        "muls r0, r1, r0",
        "teq r0, r1",
    ] {
        let popped = format!(".fpu vfpv3\n popne {{r4, lr}}\n {between}\n bne leaf");
        let text = pops(&popped, UNKNOWN, UNKNOWN) + "fn g\n bx lr\n end";
        judge(A32, &text);
    }
    for between in ["cmp r1, #0", "adds r0, r0, #1", "bl g"] {
        let popped = format!("it ne\n popne {{r4, lr}}\n {between}\n bne.w leaf");
        judge(
            T32,
            &(pops(&popped, UNKNOWN, UNKNOWN) + "fn g\n bx lr\n end"),
        );
    }
    let other = "popne {r4, lr}\n bcs leaf";
    judge(A32, &pops(other, UNKNOWN, UNKNOWN));
}

/// Where control also comes from elsewhere, the flags are others.
#[test]
fn an_entry_ends_a_run() {
    let popped = "popne {r4, lr}\n 2: bne leaf";
    let elsewhere = [
        "fn g\n push {r4, lr}\n b 2b\n end",
        "fn g\n push {r4, lr}\n bl 2b\n pop {r4, pc}\n end",
        ".section .rodata\n .word 2b\n .text",
    ];
    for text in elsewhere {
        judge(A32, &(pops(popped, UNKNOWN, UNKNOWN) + text));
        let popped = "it ne\n popne {r4, lr}\n 2: bne.w leaf";
        let text = text.replace(".word 2b", ".word 2b + 1");
        judge(T32, &(pops(popped, UNKNOWN, UNKNOWN) + &text));
    }
}

/// Of an instruction under a condition between a comparison and its branch, the branch has the state in which its own condition does not hold.
#[test]
fn a_conditional_move_of_the_stack_pointer_ends_a_comparison() {
    judge(
        A32,
        "fn f\n push {r11, lr}\n mov r11, sp\n sub r12, sp, #16\n 2: sub sp, sp, #8\n cmp sp, r12\n addeq sp, sp, #8\n bne 2b\n\
         nop | not sp+24 ra=c-4\n mov sp, r11\n pop {r11, pc}\n end",
    );
}
