//! Code that runs straight to its return, which the checker follows at each call of it. Compilers outline parts of functions so.

use super::support::Set::{A32, A64, T32};
use super::support::judge;

/// A function that keeps its return address in a register during a call.
fn keeps(callee: &str, after: &str) -> String {
    format!(
        "fn f\n mov x1, x30 | sp+0\n bl callee\n mov x30, x1\n ret | {after}\n end\n fn callee bare\n {callee}\n end\n fn other\n ret\n end"
    )
}

#[test]
fn registers_that_straight_code_does_not_change_are_kept() {
    for callee in [
        "ret",
        "mov x2, #1\n ldr x3, [x0]\n str x3, [x0, #8]\n ret",
        "cmp w8, #2\n ret",
    ] {
        judge(A64, &keeps(callee, "sp+0; not sp+16"));
    }
    let long = "nop\n".repeat(32) + "ret";
    for callee in [
        // It changes the register.
        "mov x1, #0\n ret",
        "ldr x1, [x0]\n ret",
        // It branches, calls, calls the system, or is too long.
        "cbz x0, 3f\n 3: ret",
        "b other",
        "str x30, [sp, #-16]!\n bl other\n ldr x30, [sp], #16\n ret",
        "svc #0\n ret",
        "brk #1\n ret",
        &long,
        // It does not return to the call.
        "mov x30, x0\n ret",
        "ret x3",
    ] {
        judge(A64, &keeps(callee, "not sp+0"));
    }
    // The callee of a pointer may be any code.
    judge(
        A64,
        "fn f\n mov x1, x30 | sp+0\n blr x3\n mov x30, x1\n ret | not sp+0\n end",
    );
}

#[test]
fn registers_that_straight_code_does_not_change_are_kept_arm() {
    for set in [A32, T32] {
        for (callee, after) in [
            ("bx lr", "sp+0; not sp+8"),
            ("movs r2, #1\n bx lr", "sp+0; not sp+8"),
            ("movs r1, #1\n bx lr", "not sp+0"),
            ("cmp r0, #0\n it ne\n movne r2, #1\n bx lr", "not sp+0"),
            ("cmp r0, #0\n beq 3f\n 3: bx lr", "not sp+0"),
        ] {
            judge(
                set,
                &format!(
                    "fn f\n mov r1, lr | sp+0\n bl callee\n mov lr, r1\n bx lr | {after}\n end\n fn callee bare\n {callee}\n end"
                ),
            );
        }
    }
}

/// Parts of a prologue and of an epilogue: the frame is the caller's.
#[test]
fn straight_code_changes_the_frame_of_its_caller() {
    judge(
        A64,
        "fn top\n stp x29, x30, [sp, #-16]!\n bl f\n nop | sp+16 ra=c-8; not sp+32 ra=c-8\n ldp x29, x30, [sp], #16\n ret\n end\n\
         fn f\n stp x29, x30, [sp, #-48]!\n bl save | sp+48 ra=c-40; not sp+32 ra=c-40\n\
         mov x29, x0 | sp+48 ra=c-40 fp=same; not sp+48 fp=same; not sp+32 ra=c-40\n\
         bl load | sp+48 ra=c-40 fp=c-48; not sp+48 ra=c-40 fp=same\n\
         ldr x30, [sp, #8] | sp+48 ra=c-40 fp=same; not sp+32 ra=c-40\n mov x1, x30\n\
         bl shrink | sp+48; not sp+32\n mov x30, x1 | not sp+32\n add sp, sp, #32 | sp+32; not sp+48\n ret | sp+0 fp=same\n end\n\
         fn save bare\n stp x19, x20, [sp, #16]\n ret\n end\n\
         fn load bare\n ldr x29, [sp]\n ldp x19, x20, [sp, #16]\n ret\n end\n\
         fn shrink bare\n add sp, sp, #16\n ret\n end",
    );
}

/// The row of a call serves while the callee runs: words that it frees or overwrites are lost to the row.
#[test]
fn words_that_straight_code_frees_are_lost_to_the_row_of_its_call() {
    let f = |callee: &str, row: &str| {
        format!(
            "fn top\n str x30, [sp, #-16]!\n bl f | sp+16 ra=c-16\n ldr x30, [sp], #16\n ret\n end\n\
             fn f\n stp x29, x30, [sp, #-32]! | sp+0\n bl top | sp+32 ra=c-24\n ldp x29, x9, [sp]\n bl callee | {row}\n mov x30, x9\n ret | sp+0\n end\n\
             fn callee bare\n {callee}\n end"
        )
    };
    for callee in [
        "add sp, sp, #32\n nop\n ret",
        "add sp, sp, #32\n ret",
        "str x0, [sp, #8]\n add sp, sp, #32\n ret",
        "ldp x0, x1, [sp], #16\n ldp x0, x1, [sp], #16\n ret",
    ] {
        judge(A64, &f(callee, "not sp+32 ra=c-24"));
    }
    let kept = "fn f\n stp x29, x30, [sp, #-32]! | sp+0\n bl callee | sp+32 ra=c-24; not sp+16 ra=c-24\n ldp x29, x30, [sp], #32\n ret\n end\n\
                fn callee bare\n add sp, sp, #0\n mov x0, #1\n ret\n end";
    judge(A64, kept);
}

/// The row of a call does not use a word that the callee overwrites with its own return address.
#[test]
fn a_straight_callee_overwrites_a_word_with_its_return_address() {
    judge(
        A64,
        "fn f\n stp x29, x30, [sp, #-16]!\n bl g | not sp+16 ra=c-8\n ldp x29, x30, [sp], #16\n ret\n end\n fn g bare\n str x30, [sp, #8]\n ret\n end",
    );
}
