//! Instructions after which less is known than their usual use suggests: A32 and T32.

use super::support::Set::{A32, T32};
use super::support::judge;

/// Control may continue after an instruction that the decoder does not know, with registers that are not known. `$` is the instruction.
const JOINED: &str = "fn f\n push {r4, lr}\n cmp r0, #0\n beq 3f\n sub sp, sp, #8\n $ | sp+16 ra=c-4\n\
                      3: nop | not sp+8 ra=c-4; not sp+16 ra=c-4\n add sp, sp, #8\n pop {r4, pc}\n end";

#[test]
fn code_after_an_unknown_instruction_may_be_entered_from_it() {
    for instruction in [
        "swp r0, r1, [r2]",
        "setend be",
        "srsdb sp!, #19",
        "stc p14, c5, [r1], #4",
        "bxj r0",
        "subne pc, r1, #4",
        "subne pc, pc, r1, lsl #2",
        // mrs r0, sp_usr
        ".inst 0xe1010200",
        // vstr.16 s0, [r1]
        ".inst 0xed810900",
    ] {
        judge(A32, &JOINED.replace('$', instruction));
    }
    // setend be; le lr, f; srsdb sp!, #19
    for instruction in [".inst.n 0xb658", ".inst.w 0xf00fc003", ".inst.w 0xe82dc013"] {
        judge(T32, &JOINED.replace('$', instruction));
    }
}

/// The loops of ARMv8.1-M have encodings beside those of calls to A32.
#[test]
fn loops_are_no_calls() {
    judge(
        T32,
        "fn f\n push {r4, lr}\n .inst.w 0xf00fc003\n nop | not sp+8 ra=c-4\n pop {r4, pc}\n end",
    );
}

/// Handlers and debuggers resume after each of these, whether other code leads there or not.
#[test]
fn exceptions_may_be_resumed() {
    for instruction in ["bkpt #0", "udf #0", "svc #0", ".inst 0xe10f0070"] {
        judge(A32, &JOINED.replace('$', instruction));
    }
    for instruction in ["bkpt #0", "udf #0", "svc #0", ".inst.n 0xbab0"] {
        judge(T32, &JOINED.replace('$', instruction));
    }
}

/// An operating system, or a debugger, writes to memory whose address it gets.
#[test]
fn calls_of_other_software_write_memory() {
    for (set, instruction) in [
        (A32, "mov r7, #4\n svc #0"),
        (T32, "movs r7, #4\n svc #1"),
        (A32, ".inst 0xe10f0070"),
        (T32, ".inst.n 0xbab0"),
    ] {
        judge(
            set,
            &format!(
                "fn f\n push {{r4, lr}}\n sub sp, sp, #8\n mov r0, sp\n str r0, [sp]\n {instruction} | sp+16 ra=c-4\n\
                 ldr r5, [sp] | sp+16 ra=c-4\n nop | sp+16 ra=c-4; not r5+16 ra=c-4\n add sp, sp, #8\n pop {{r4, pc}}\n end"
            ),
        );
    }
}

/// The mode of fast interrupts has its own `r8` to `r12`, and a list with `^` names those of programs.
#[test]
fn modes_have_registers_of_their_own() {
    for change in ["cps #0x11", "msr cpsr_c, r0"] {
        judge(
            A32,
            &format!(
                "fn f\n push {{r11, lr}}\n add r11, sp, #4\n {change} | fp+4 ra=c-4\n nop | not fp+4 ra=c-4\n cps #0x13\n pop {{r11, pc}}\n end"
            ),
        );
    }
    judge(
        A32,
        "fn f\n push {r11, lr}\n sub sp, sp, #8\n str sp, [sp]\n ldm sp, {r11}^ | sp+16 ra=c-4\n\
         nop | sp+16 ra=c-4; not fp+16 ra=c-4\n add sp, sp, #8\n pop {r11, pc}\n end",
    );
    judge(
        A32,
        "fn f\n sub sp, sp, #8\n stm sp, {r10, r11}^ | sp+8\n nop | sp+8; not sp+8 fp=c-4\n add sp, sp, #8\n bx lr\n end",
    );
}

/// A stack pointer that is computed is moved, and not another one that is loaded.
#[test]
fn callees_that_compute_the_stack_pointer_move_it() {
    for instruction in [
        "orr sp, sp, #8",
        "eor sp, sp, r0",
        "rsb sp, r0, sp",
        "mvn sp, r0",
        "bic sp, r0, #7",
    ] {
        judge(
            A32,
            &format!(
                "fn g\n {instruction}\n bx lr\n end\n fn f\n push {{r4, lr}}\n bl g | sp+8 ra=c-4\n nop | not sp+8 ra=c-4\n pop {{r4, pc}}\n end"
            ),
        );
    }
}

/// A jump to a sum with the return address skips code of the caller.
#[test]
fn returns_to_another_place_are_no_returns() {
    for jump in [
        "add pc, lr, #4",
        "add pc, r0, lr",
        "addne pc, lr, r0\n bx lr",
    ] {
        judge(
            A32,
            &format!(
                "fn skip\n {jump} | sp+0\n end\n fn f\n push {{r4, lr}}\n bl skip\n sub sp, sp, #8\n nop | not sp+16 ra=c-4\n add sp, sp, #8\n pop {{r4, pc}}\n end"
            ),
        );
    }
}

/// Code does not continue in the other instruction set, neither by a jump to a label nor by the next address.
#[test]
fn code_of_the_other_set_is_not_entered() {
    for entry in ["b 3f", "nop"] {
        judge(
            A32,
            &format!(
                "fn f\n push {{r4, lr}}\n {entry} | sp+8 ra=c-4\n .thumb\n 3: sub sp, #8 | not sp+8 ra=c-4\n nop | not sp+16 ra=c-4\n pop {{r4, pc}}\n end"
            ),
        );
    }
    judge(
        T32,
        "fn f\n push {r4, lr}\n b 3f | sp+8 ra=c-4\n .p2align 2\n .arm\n 3: sub sp, sp, #8 | not sp+8 ra=c-4\n pop {r4, pc}\n end",
    );
}

/// An instruction that is not known writes to memory, and is no switch of stacks.
#[test]
fn an_unknown_instruction_may_overwrite_the_frame() {
    // swp r0, r1, [r2]; vstr.16 s0, [r2]
    for instruction in [".inst 0xe1020091", ".inst 0xed820900"] {
        judge(
            A32,
            &format!(
                "fn f\n push {{r4-r11, lr}}\n mov r2, sp\n {instruction}\n nop | not sp+36 ra=c-4 r4=c-36; not sp+36 ra=c-4\n pop {{r4-r11, pc}}\n end"
            ),
        );
    }
    // vstrw.32 q0, [r2]
    judge(
        T32,
        "fn f\n push {r4-r11, lr}\n mov r2, sp\n .inst.w 0xed821f00\n nop | not sp+36 ra=c-4 r4=c-36; not sp+36 ra=c-4\n pop {r4-r11, pc}\n end",
    );
}

/// Instructions of ARMv8.1-M in the encodings of older ones write other registers.
#[test]
fn instructions_of_newer_microcontrollers_write_other_registers() {
    // lsll r4, r5, #1
    judge(
        T32,
        "fn f\n .inst.w 0xea55054f\n nop | not sp+0 r4=same\n bx lr\n end",
    );
    // pac r12, lr, sp; pacbti r12, lr, sp
    for instruction in ["0xf3af801d", "0xf3af800d"] {
        judge(
            T32,
            &format!(
                "fn f\n mov r12, sp\n .inst.w {instruction}\n nop | sp+0; not r12+0\n bx lr\n end"
            ),
        );
    }
    // vaddv.s8 r0, q0; csel r0, zr, r2, eq
    for instruction in ["0xeef10f00", "0xea5f8002"] {
        judge(
            T32,
            &format!(
                "fn f\n mov r0, sp\n mov r2, sp\n .inst.w {instruction}\n nop | not r0+0\n bx lr\n end"
            ),
        );
    }
}

/// A debugger or an emulator answers a breakpoint in r0, and firmware a call in r0 to r7.
#[test]
fn answers_are_in_registers() {
    judge(
        T32,
        "fn f\n push {r4, lr}\n movs r0, #12\n bkpt #0xab\n sub.w sp, sp, r0\n nop | not sp+20 ra=c-4\n pop {r4, pc}\n end",
    );
    judge(
        A32,
        "fn f\n push {r3, lr}\n .inst 0xe1600070\n nop | sp+8 ra=c-4; not sp+8 ra=c-4 r4=same; not sp+8 ra=c-4 r7=same\n pop {r3, pc}\n end",
    );
}

/// Addresses that code computes in several steps are named.
#[test]
fn addresses_of_several_steps_are_named() {
    for steps in [
        "ldr r3, =middle - 8\n add r3, r3, #8",
        "push {lr}\n movw r3, #:lower16:middle\n bl 1f\n 1: movt r3, #:upper16:middle\n pop {lr}",
        "mov r3, pc\n add r3, r3, #middle - 1f\n 1:",
        "movw r3, #:lower16:middle - 8\n movt r3, #:upper16:middle - 8\n add r3, r3, #8",
    ] {
        judge(
            A32,
            &format!(
                "fn g\n {steps}\n str r3, [r0]\n bx lr\n .ltorg\n end\n fn f\n push {{r4, lr}}\n middle: nop | not sp+8 ra=c-4\n pop {{r4, pc}}\n end"
            ),
        );
    }
}
