//! Vector tables of AArch64: code that the processor enters in slots, without directives.

use super::support::Set::A64;
use super::support::judge;

/// What is true at the first instruction of a slot: the interrupted code used the current stack pointer, or another one.
const SAME_STACK: &str = "sp+0 ra=r33+0 fp=same; not r16904+0 ra=r33+0; not sp+0";
const OTHER_STACK: &str = "r16904+0 ra=r33+0 fp=same; not sp+0 ra=r33+0; not sp+0";
const UNKNOWN: &str = "not sp+0 ra=r33+0; not r16904+0 ra=r33+0; not sp+0";

/// A function that sets the register for the table.
const SETTER: &str = "fn _start bare\n adr x0, vectors\n msr vbar_el1, x0\n 9: b 9b\n end\n";

/// A table whose slots have these rows, in groups of four. Each slot branches to the code of its group: `slot_0` to `slot_3`. The first slot has
/// no row: a symbol is there, so that a row with the mark of trap code would be claimed of it.
fn table(rows: [&str; 4]) -> String {
    let slot = |number: usize| {
        let group = number / 4;
        let row = rows[group];
        format!(" .balign 128\n rows trap\n b slot_{group} | {row}\n")
    };
    let slots: String = (1..16).map(slot).collect();
    format!(".balign 2048\n fn vectors bare\n b slot_0\n{slots} end\n")
}

const RIGHT: [&str; 4] = [OTHER_STACK, SAME_STACK, OTHER_STACK, OTHER_STACK];

/// Judges a program that also uses another stack pointer.
fn judge_with(setter: &str, rows: [&str; 4], code: &str) {
    let user = "fn user\n msr sp_el0, x0\n ret\n end\n";
    let text = table(rows) + code + "fn handle\n ret\n end\n" + user + setter;
    judge(A64, &text);
}

#[test]
fn code_of_a_slot_has_the_interrupted_state() {
    let code = "rows trap\n slot_1: sub sp, sp, #32 | sp+0 ra=r33+0\n mrs x9, elr_el1 | sp+32 ra=r33+0; not sp+0 ra=r33+0\n\
         stp x30, x9, [sp, #16] | sp+32 ra=r9+0; not sp+32\n bl handle | sp+32 ra=c-8; not sp+32 ra=c-16; not sp+16 ra=c-8\n\
         ldr x9, [sp, #24]\n msr elr_el1, x9 | sp+32 ra=c-8\n ldr x30, [sp, #16]\n add sp, sp, #32 | sp+32 ra=r33+0\n eret | sp+0 ra=r33+0\n\
         slot_0: mrs x9, sp_el0 | r16904+0 ra=r33+0\n stp x30, x9, [sp, #-32]! | r9+0 ra=r33+0\n mrs x9, elr_el1 | (sp+8) ra=r33+0\n\
         str x9, [sp, #16]\n bl handle | (sp+8) ra=(sp+16); not sp+32 ra=(sp+16)\n eret\n\
         slot_2: b slot_2\n slot_3: b slot_3\n";
    for setter in [
        SETTER,
        // The address in other forms, and through a function that sets the register.
        "fn _start bare\n adrp x0, vectors\n add x0, x0, :lo12:vectors\n msr vbar_el1, x0\n 9: b 9b\n end",
        "fn _start bare\n ldr x0, =vectors\n msr vbar_el1, x0\n isb\n 9: b 9b\n end",
        "fn set\n msr vbar_el1, x0\n ret\n end\n fn _start bare\n adr x0, vectors\n bl set\n 9: b 9b\n end",
    ] {
        judge_with(setter, RIGHT, code);
    }
}

/// In code of slots that have the interrupted stack pointer in other places, its place is not known.
#[test]
fn code_that_slots_share_has_the_state_of_all_of_them() {
    let shared = "rows trap\n slot_0: slot_2: slot_3: nop | r16904+0 ra=r33+0; not sp+0 ra=r33+0\n eret\n\
         slot_1: nop | sp+0 ra=r33+0\n eret\n";
    judge_with(SETTER, RIGHT, shared);
    let shared = format!(
        "rows trap\n slot_0: slot_1: nop | {UNKNOWN}\n eret\n slot_2: b slot_2\n slot_3: b slot_3\n"
    );
    judge_with(SETTER, RIGHT, &shared);
}

/// Where slots share code, its author may declare where the interrupted stack pointer is.
#[test]
fn directives_hold_in_code_that_slots_share() {
    let slots = " .balign 128\n b common\n".repeat(16);
    judge(
        A64,
        &format!(
            ".balign 2048\n fn vectors bare\n{slots} common: sub sp, sp, #32\n mrs x9, elr_el1\n str x9, [sp, #24]\n\
             fde trap\n rows trap\n mov x0, sp | sp+32 ra=c-8\n bl handle | sp+32 ra=c-8; not sp+16 ra=c-8; not sp+32\n endfde\n rows\n\
             add sp, sp, #32\n eret\n end\n\
             fn handle\n ret\n end\n fn user\n msr sp_el0, x0\n ret\n end\n{SETTER}"
        ),
    );
}

/// Code that never sets `SP_EL0` has one stack pointer, and all slots may share code.
#[test]
fn slots_of_code_with_one_stack_pointer_share_code() {
    let all = "b common | sp+0 ra=r33+0; not r16904+0 ra=r33+0; not sp+0";
    let slots: String = (1..16)
        .map(|_| format!(" .balign 128\n rows trap\n {all}\n"))
        .collect();
    let text = |setter: &str, common: &str| {
        format!(
            ".balign 2048\n fn vectors bare\n b common\n{slots} end\n\
             rows trap\n common: sub sp, sp, #32\n mrs x9, elr_el1 | {common}\n add sp, sp, #32\n eret\n\
             fn _start bare\n adr x0, vectors\n msr vbar_el1, x0\n {setter}\n 9: b 9b\n end"
        )
    };
    judge(A64, &text("nop", "sp+32 ra=r33+0; not sp+0 ra=r33+0"));
    // With another one, the slots differ.
    let slots: String = (1..16)
        .map(|_| " .balign 128\n b common\n".to_owned())
        .collect();
    for setter in [
        "msr sp_el0, x1",
        "msr sp_el1, x1",
        "msr spsel, #0",
        "msr spsel, x1",
    ] {
        let text = format!(
            ".balign 2048\n fn vectors bare\n b common\n{slots} end\n\
             rows trap\n common: sub sp, sp, #32\n mrs x9, elr_el1 | not sp+32 ra=r33+0; not r16904+0 ra=r33+0\n add sp, sp, #32\n eret\n\
             fn _start bare\n adr x0, vectors\n msr vbar_el1, x0\n {setter}\n 9: b 9b\n end"
        );
        judge(A64, &text);
    }
}

/// Where a slot would be in the middle of a function, the function is no vector table, although a return from a trap is reached.
#[test]
fn functions_are_no_vector_tables() {
    judge(
        A64,
        ".balign 2048\n fn first\n stp x29, x30, [sp, #-16]! | sp+0; not sp+0 ra=r33+0; not r16904+0 ra=r33+0\n nop | sp+16 ra=c-8; not sp+16 ra=r33+0\n\
             ldp x29, x30, [sp], #16\n ret\n end\n\
             fn second\n .rept 512\n nop\n .endr\n eret\n end\n\
             fn _start bare\n adr x0, first\n msr vbar_el1, x0\n 9: b 9b\n end",
    );
}

/// Slots that save registers in a function show a vector table only if this function reads the interrupted program counter.
#[test]
fn functions_that_slots_call_may_read_the_interrupted_program_counter() {
    let program = |before: &str, read: &str, rows: [&str; 2]| {
        let [first, saved] = rows;
        let slots: String = (1..16)
            .map(|_| " .balign 128\n b common\n".to_owned())
            .collect();
        format!(
            ".balign 2048\n fn vectors bare\n b common\n{slots} end\n\
             rows trap\n common: sub sp, sp, #32 | {first}\n str x30, [sp, #16]\n {before}\n bl save\n nop | {saved}\n 9: b 9b\n\
             fn other\n ret\n end\n fn save\n {read}\n str x9, [sp, #8]\n ret\n end\n\
             fn set\n mov x1, x0\n msr vbar_el1, x1\n ret\n end\n\
             fn _start bare\n adr x0, vectors\n str x0, [sp, #-16]!\n ldr x0, [sp], #16\n bl set\n 9: b 9b\n end"
        )
    };
    let right = ["sp+0 ra=r33+0", "sp+32 ra=c-24; not sp+32 ra=c-16"];
    let unknown = ["not sp+0 ra=r33+0", "not sp+32 ra=c-24"];
    for (before, read, rows) in [
        ("nop", "mrs x9, elr_el1", right),
        ("cbz x1, 9f", "mrs x9, elr_el1", right),
        ("nop", "mrs x9, esr_el1", unknown),
        // Not the first call.
        ("bl other", "mrs x9, elr_el1", unknown),
    ] {
        judge(A64, &program(before, read, rows));
    }
}
