//! What instructions change.

use row_checker::instruction::Effect::{self, ComparesStackPointer, Set};
use row_checker::instruction::Operand::{
    self, Address, Computed, Load, Moved, Number, Registers, Sum, Unknown,
};
use row_checker::instruction::Size;

use crate::support::{START, compare, one};

const SP: u8 = 13;
const LR: u8 = 14;

fn store(base: u8, offset: i32, bytes: u32, value: Operand) -> Effect {
    Effect::Store {
        base,
        offset,
        size: Size::Bytes(bytes),
        value,
    }
}

fn word(base: u8, offset: i32, from: u8) -> Effect {
    store(base, offset, 4, Sum(from, 0))
}

const fn registers(left: u8, right: u8, shift: u8, subtracts: bool) -> Operand {
    Registers {
        left,
        right,
        shift,
        subtracts,
    }
}

/// A store of a register to an unknown place.
fn anywhere(register: u8) -> Effect {
    unplaced(Sum(register, 0))
}

/// A store of an unknown value to an unknown place.
fn anything() -> Effect {
    unplaced(Unknown)
}

fn unplaced(value: Operand) -> Effect {
    Effect::Store {
        base: SP,
        offset: 0,
        size: Size::Anywhere,
        value,
    }
}

/// A value that is computed from registers.
fn by(registers: &[u8]) -> Operand {
    let mask = registers
        .iter()
        .fold(0, |all, register| all | 1 << register);
    Computed(mask)
}

#[test]
fn values_are_sums_numbers_and_addresses() {
    let cases = [
        ("add r11, sp, #8", vec![Set(11, Sum(SP, 8))]),
        ("sub sp, sp, #64", vec![Set(SP, Sum(SP, -64))]),
        ("sub sp, r11, #8", vec![Set(SP, Sum(11, -8))]),
        ("mov sp, r4", vec![Set(SP, Sum(4, 0))]),
        ("sub sp, sp, r3", vec![Set(SP, registers(SP, 3, 0, true))]),
        (
            "add r0, sp, r3, lsl #2",
            vec![Set(0, registers(SP, 3, 2, false))],
        ),
        ("add sp, sp, r3, asr #2", vec![Set(SP, Moved)]),
        ("add r0, sp, r3, asr #2", vec![Set(0, by(&[SP, 3]))]),
        ("bic sp, sp, #7", vec![Set(SP, Moved)]),
        ("bfc sp, #0, #4", vec![Set(SP, Moved)]),
        ("bic sp, r0, #7", vec![Set(SP, Moved)]),
        ("rsb sp, sp, #7", vec![Set(SP, Moved)]),
        ("bic r0, sp, #7", vec![Set(0, by(&[SP]))]),
        ("mov r0, #5", vec![Set(0, Number(5))]),
        ("mvn r0, #0", vec![Set(0, Number(-1))]),
        ("movw r0, #0x1234", vec![Set(0, Number(0x1234))]),
        // The lower half that stays is known only if the instruction before set it.
        ("movt r0, #0x1234", vec![Set(0, by(&[0]))]),
        ("mov r0, r1, lsl #2", vec![Set(0, by(&[1]))]),
        ("mvn r0, r1", vec![Set(0, by(&[1]))]),
        ("adr r0, . + 16", vec![Set(0, Address(START + 19 * 4 + 16))]),
        ("mov lr, pc", vec![Set(LR, Address(START + 20 * 4 + 8))]),
        ("add r0, r0, pc", vec![Set(0, by(&[0]))]),
        ("mul r0, r1, r2", vec![Set(0, by(&[1, 2]))]),
        (
            "umull r0, r1, r2, r3",
            vec![Set(0, by(&[2, 3])), Set(1, by(&[2, 3]))],
        ),
        ("uxtb r0, r1", vec![Set(0, by(&[1]))]),
        ("cmp sp, r9", vec![ComparesStackPointer(9)]),
        ("cmp r9, sp", vec![ComparesStackPointer(9)]),
        ("cmpne sp, r9", vec![]),
        ("cmp sp, #0", vec![]),
    ];
    compare("arm_values", "arm", &cases);
}

#[test]
fn lists_of_registers_are_words_in_ascending_order() {
    let cases = [
        (
            "push {r4, r11, lr}",
            vec![
                word(SP, -12, 4),
                word(SP, -8, 11),
                word(SP, -4, LR),
                Set(SP, Sum(SP, -12)),
            ],
        ),
        (
            "pop {r4, lr}",
            vec![
                Set(SP, Sum(SP, 8)),
                Set(4, Load(SP, 0)),
                Set(LR, Load(SP, 4)),
            ],
        ),
        (
            "pop {r4, pc}",
            vec![
                Set(SP, Sum(SP, 8)),
                Set(4, Load(SP, 0)),
                Set(LR, Load(SP, 4)),
            ],
        ),
        ("stmib r0, {r4, r5}", vec![word(0, 4, 4), word(0, 8, 5)]),
        ("stmda r0, {r4, r5}", vec![word(0, -4, 4), word(0, 0, 5)]),
        (
            "stmia r4!, {r4, r5}",
            vec![word(4, 0, 4), word(4, 4, 5), Set(4, Sum(4, 8))],
        ),
        (
            "ldmdb r11, {r4, r11, sp, pc}",
            vec![
                Set(4, Load(11, -16)),
                Set(11, Load(11, -12)),
                Set(SP, Load(11, -8)),
                Set(LR, Load(11, -4)),
            ],
        ),
        // Registers of user mode: those from r8 on may be others.
        (
            "stmib sp, {r7, r11, lr}^",
            vec![
                word(SP, 4, 7),
                store(SP, 8, 4, Unknown),
                store(SP, 12, 4, Unknown),
            ],
        ),
        (
            "ldmib sp, {r7, r11, lr}^",
            vec![Set(7, Load(SP, 4)), Set(11, Unknown)],
        ),
        (
            "vpush {d8, d9}",
            vec![store(SP, -16, 16, Unknown), Set(SP, Sum(SP, -16))],
        ),
        ("vpop {d8, d9}", vec![Set(SP, Sum(SP, 16))]),
    ];
    compare("arm_lists", "arm", &cases);
}

#[test]
fn accesses_move_their_base_before_or_after() {
    let cases = [
        ("ldr r4, [sp, #8]", vec![Set(4, Load(SP, 8))]),
        ("ldr sp, [r0]", vec![Set(SP, Load(0, 0))]),
        (
            "ldr r4, [sp], #8",
            vec![Set(SP, Sum(SP, 8)), Set(4, Load(SP, 0))],
        ),
        (
            "str lr, [sp, #-8]!",
            vec![word(SP, -8, LR), Set(SP, Sum(SP, -8))],
        ),
        ("ldrb r4, [sp, #8]", vec![Set(4, Unknown)]),
        ("strh r4, [sp, #8]", vec![store(SP, 8, 2, Unknown)]),
        ("strb r4, [r0, #-1]", vec![store(0, -1, 1, Unknown)]),
        // A store with an index is one to an unknown place.
        ("str r4, [sp, r0, lsl #2]", vec![anywhere(4)]),
        (
            "str r4, [sp, r0]!",
            vec![anywhere(4), Set(SP, registers(SP, 0, 0, false))],
        ),
        (
            "ldr r4, [sp], -r0",
            vec![Set(SP, Moved), Set(4, Load(SP, 0))],
        ),
        (
            "strd r4, r5, [sp, #-8]!",
            vec![word(SP, -8, 4), word(SP, -4, 5), Set(SP, Sum(SP, -8))],
        ),
        (
            "ldrd r4, r5, [sp], #8",
            vec![
                Set(4, Load(SP, 0)),
                Set(5, Load(SP, 4)),
                Set(SP, Sum(SP, 8)),
            ],
        ),
        (
            "strex r0, r1, [r2]",
            vec![store(2, 0, 4, Unknown), Set(0, Unknown)],
        ),
        ("vstr d8, [sp, #16]", vec![store(SP, 16, 8, Unknown)]),
        ("vldr d8, [sp, #16]", vec![]),
        // vst1.64 {d0, d1}, [r0]
        (".inst 0xf4000acf", vec![store(0, 0, 64, Unknown)]),
    ];
    compare("arm_accesses", "arm", &cases);
}

#[test]
fn system_instructions_change_what_they_may() {
    let unknown = |list: &[u8]| list.iter().map(|it| Set(*it, Unknown)).collect::<Vec<_>>();
    let mut called = vec![anything()];
    called.extend(unknown(&[0, 1, 2, 3, 12, LR]));
    let mut firmware = vec![anything()];
    firmware.extend(unknown(&[0, 1, 2, 3, 4, 5, 6, 7, 12, LR]));
    let modes = unknown(&[SP, 8, 9, 10, 11, 12, LR]);
    let cases = [
        // hvc, hlt
        (".inst 0xe1400070", firmware),
        (".inst 0xe10f0070", called),
        ("cps #19", modes.clone()),
        ("msr cpsr_c, r0", modes),
        ("cpsid i", vec![]),
        ("msr cpsr_f, r0", vec![]),
        ("mrs r0, cpsr", vec![Set(0, by(&[]))]),
        ("mrc p15, 0, sp, c13, c0, 4", vec![Set(SP, Moved)]),
        ("wfi", vec![]),
        ("dsb sy", vec![]),
    ];
    compare("arm_system", "arm", &cases);
}

#[test]
fn thumb_code_has_the_same_effects() {
    let cases = [
        (
            "push {r4, r7, lr}",
            vec![
                word(SP, -12, 4),
                word(SP, -8, 7),
                word(SP, -4, LR),
                Set(SP, Sum(SP, -12)),
            ],
        ),
        ("add r7, sp, #4", vec![Set(7, Sum(SP, 4))]),
        ("sub sp, #32", vec![Set(SP, Sum(SP, -32))]),
        ("sub.w sp, sp, #4096", vec![Set(SP, Sum(SP, -4096))]),
        ("add sp, r3", vec![Set(SP, registers(SP, 3, 0, false))]),
        ("bfc r4, #0, #4", vec![Set(4, by(&[4]))]),
        ("mov sp, r4", vec![Set(SP, Sum(4, 0))]),
        (
            "str.w lr, [sp, #-4]!",
            vec![word(SP, -4, LR), Set(SP, Sum(SP, -4))],
        ),
        (
            "strd r4, r5, [sp, #8]",
            vec![word(SP, 8, 4), word(SP, 12, 5)],
        ),
        ("cmp sp, r4", vec![ComparesStackPointer(4)]),
        ("adr r0, . + 8", vec![Set(0, Address(START + 36))]),
        (
            "pop {r4, r7}",
            vec![
                Set(SP, Sum(SP, 8)),
                Set(4, Load(SP, 0)),
                Set(7, Load(SP, 4)),
            ],
        ),
        ("nop", vec![]),
        ("nop", vec![]),
    ];
    compare("arm_thumb", "thumb", &cases);
}

#[test]
fn literals_are_numbers_or_addresses() {
    let number = one("arm_literal", "arm", "ldr r0, =0x12345678");
    assert_eq!(number.effects, [Set(0, Number(0x1234_5678))]);
    let address = one("arm_literal", "arm", "ldr r0, =0x100004");
    assert_eq!(address.effects, [Set(0, Address(START + 4))]);
    // The lowest bit selects T32, and is no part of the address.
    let address = one("arm_literal", "thumb", "ldr r0, =0x100003\n nop");
    assert_eq!(address.effects, [Set(0, Address(START + 2))]);
}
