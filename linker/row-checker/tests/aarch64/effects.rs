//! The effects and the flow of control of instructions that build frames, and that enter and leave functions and trap code.

use row_checker::aarch64::{AArch64, ELR_EL1, SP, SP_EL0};
use row_checker::architecture::Architecture as _;
use row_checker::instruction::{Effect, Flow, Instruction, Operand, Register, Size};

use super::inputs::{decode, words};
use Effect::{ComparesStackPointer, Set};
use Operand::{
    Authenticated, Inserted, Load, Moved, Number, Registers, Signed, Sum, Unknown, Word,
};

/// Compares the effects of each instruction, and returns how control continues.
fn compare(name: &str, cases: &[(&str, &[Effect])]) {
    for (instruction, (text, effects)) in decoded(name, cases).iter().zip(cases) {
        assert_eq!(instruction.effects, *effects, "{text}");
        assert_eq!(instruction.flow, Flow::Next, "{text}");
    }
}

/// Decodes the text of each case.
fn decoded<T>(name: &str, cases: &[(&str, T)]) -> Vec<Instruction> {
    let texts: Vec<&str> = cases.iter().map(|(text, _)| *text).collect();
    let words = words(
        name,
        &format!(
            ".arch armv9.4-a+pauth-lr+cmpbr+memtag\n{}",
            texts.join("\n")
        ),
    );
    assert_eq!(words.len(), cases.len());
    let pairs = words.iter().zip(&texts);
    pairs
        .map(|(word, text)| decode(0x1000, *word).expect(text))
        .collect()
}

const fn store(base: Register, offset: i32, count: u32, value: Operand) -> Effect {
    Effect::Store {
        base,
        offset,
        size: Size::Bytes(count),
        value,
    }
}

/// A value that is computed from registers.
fn by(registers: &[Register]) -> Operand {
    let mask = registers
        .iter()
        .fold(0, |all, register| all | 1 << register);
    Operand::Computed(mask)
}

const fn registers(left: Register, right: Register, shift: u8, subtracts: bool) -> Operand {
    Registers {
        left,
        right,
        shift,
        subtracts,
    }
}

#[test]
fn frames_are_made_and_removed() {
    compare(
        "frames",
        &[
            (
                "stp x29, x30, [sp, #-32]!",
                &[
                    store(SP, -32, 8, Sum(29, 0)),
                    store(SP, -24, 8, Sum(30, 0)),
                    Set(SP, Sum(SP, -32)),
                ],
            ),
            (
                "ldp x29, x30, [sp], #32",
                &[
                    Set(SP, Sum(SP, 32)),
                    Set(29, Load(SP, 0)),
                    Set(30, Load(SP, 8)),
                ],
            ),
            ("mov x29, sp", &[Set(29, Sum(SP, 0))]),
            ("add x29, sp, #16", &[Set(29, Sum(SP, 16))]),
            ("mov sp, x29", &[Set(SP, Sum(29, 0))]),
            ("sub sp, sp, #1, lsl #12", &[Set(SP, Sum(SP, -4096))]),
            ("sub sp, sp, x9", &[Set(SP, registers(SP, 9, 0, true))]),
            (
                "add sp, sp, x9, lsl #2",
                &[Set(SP, registers(SP, 9, 2, false))],
            ),
            ("sub sp, sp, w9, uxtw", &[Set(SP, Moved)]),
            ("and sp, x9, #0xffffffffffffffc0", &[Set(SP, Moved)]),
            ("add wsp, wsp, #16", &[Set(SP, Moved)]),
            ("str x30, [sp, #8]", &[store(SP, 8, 8, Sum(30, 0))]),
            ("str xzr, [sp, #8]", &[store(SP, 8, 8, Number(0))]),
            ("str w30, [sp, #8]", &[store(SP, 8, 4, Unknown)]),
            (
                "str x30, [x18], #8",
                &[store(18, 0, 8, Sum(30, 0)), Set(18, Sum(18, 8))],
            ),
            (
                "ldr x30, [x18, #-8]!",
                &[Set(18, Sum(18, -8)), Set(30, Load(18, -8))],
            ),
            ("ldr w30, [sp, #8]", &[Set(30, Unknown)]),
            ("stp d8, d9, [sp, #16]", &[store(SP, 16, 16, Unknown)]),
            ("ldr x0, [sp, x1]", &[Set(0, Word)]),
            ("ldr xzr, [sp]", &[]),
        ],
    );
}

/// The manual leaves open what the register contains.
#[test]
fn a_base_register_that_is_loaded_or_stored_and_moved_is_unknown() {
    compare(
        "conflicts",
        &[
            // ldr x1, [x1], #8
            (".inst 0xf8408421", &[Set(1, Sum(1, 8)), Set(1, Unknown)]),
            // str x1, [x1], #8
            (
                ".inst 0xf8008421",
                &[store(1, 0, 8, Unknown), Set(1, Sum(1, 8))],
            ),
            // ldp x1, x1, [x2]
            (".inst 0xa9400441", &[Set(1, Unknown), Set(1, Unknown)]),
        ],
    );
}

#[test]
fn constants_and_addresses() {
    compare(
        "constants",
        &[
            ("mov x9, #0x1234", &[Set(9, Number(0x1234))]),
            ("mov w9, #0x12340000", &[Set(9, Number(0x1234_0000))]),
            ("mov x9, #-17", &[Set(9, Number(-17))]),
            // 0xffffffef
            ("mov w9, #-17", &[Set(9, Unknown)]),
            ("movz x9, #1, lsl #32", &[Set(9, Unknown)]),
            (
                "movk x9, #2, lsl #16",
                &[Set(
                    9,
                    Inserted {
                        register: 9,
                        bits: 2,
                        at: 16,
                    },
                )],
            ),
            ("movk w9, #2, lsl #16", &[Set(9, by(&[9]))]),
            ("mov x1, x2", &[Set(1, Sum(2, 0))]),
            ("mov x1, xzr", &[Set(1, Number(0))]),
            ("mov w1, wzr", &[Set(1, Number(0))]),
            ("mov w1, w2", &[Set(1, by(&[2]))]),
            ("add x1, x2, #3", &[Set(1, Sum(2, 3))]),
            ("adds x1, sp, #3", &[Set(1, Sum(SP, 3))]),
            ("add w1, w2, #3", &[Set(1, by(&[2]))]),
            (
                "add x1, x2, x3, lsl #4",
                &[Set(1, registers(2, 3, 4, false))],
            ),
            ("add x1, x2, w3, uxtw #2", &[Set(1, by(&[2, 3]))]),
            ("add x1, sp, w3, uxtw", &[Set(1, by(&[SP, 3]))]),
            ("and x1, x2, #-64", &[Set(1, by(&[2]))]),
            ("bic x1, x2, x3", &[Set(1, by(&[2, 3]))]),
            ("bfi x1, x2, #4, #8", &[Set(1, by(&[1, 2]))]),
            ("extr x1, x2, x3, #8", &[Set(1, by(&[2, 3]))]),
            ("csel x1, x2, x3, eq", &[Set(1, by(&[2, 3]))]),
            ("madd x1, x2, x3, x4", &[Set(1, by(&[2, 3, 4]))]),
            ("subp x1, sp, x3", &[Set(1, by(&[SP, 3]))]),
            ("rev x1, x2", &[Set(1, by(&[2]))]),
            ("fmov x1, d2", &[Set(1, Moved)]),
            ("add x1, x2, x3, lsr #4", &[Set(1, by(&[2, 3]))]),
            ("sub x1, x2, xzr", &[Set(1, Sum(2, 0))]),
            ("neg x1, x2", &[Set(1, by(&[2]))]),
            ("adr x1, .+8", &[Set(1, Operand::Address(0x1008))]),
            (
                ".inst 0xb0000001 // adrp x1, .+0x1000",
                &[Set(1, Operand::Address(0x2000))],
            ),
        ],
    );
}

#[test]
fn comparisons_with_the_stack_pointer() {
    compare(
        "comparisons",
        &[
            ("cmp sp, x9", &[ComparesStackPointer(9)]),
            ("cmp sp, w9, uxtw", &[]),
            ("cmp sp, x9, lsl #1", &[]),
            ("cmn sp, x9", &[]),
            ("cmp sp, #16", &[]),
            ("cmp x9, x10", &[]),
            ("cmp x9, x10, uxtx", &[]),
        ],
    );
}

#[test]
fn return_addresses_are_signed_and_authenticated() {
    compare(
        "signed",
        &[
            ("paciasp", &[Set(30, Signed(30))]),
            ("pacibsp", &[Set(30, Signed(30))]),
            ("paciaz", &[Set(30, Signed(30))]),
            ("autiasp", &[Set(30, Authenticated(30))]),
            ("autibsp", &[Set(30, Authenticated(30))]),
            ("xpaclri", &[Set(30, Authenticated(30))]),
            ("pacia x30, sp", &[Set(30, Signed(30))]),
            ("autib x29, x1", &[Set(29, Authenticated(29))]),
            ("xpaci x1", &[Set(1, Authenticated(1))]),
            ("pacda x1, sp", &[Set(1, by(&[1]))]),
            ("pacia1716", &[Set(17, Signed(17))]),
            ("autiasppc .-4", &[Set(30, Authenticated(30))]),
        ],
    );
}

/// The decoder takes these for any of their group.
#[test]
fn authentication_with_the_program_counter_writes_every_register_of_its_group() {
    for instruction in decoded(
        "newer",
        &[
            ("paciasppc", ()),
            ("pacnbibsppc", ()),
            ("autiasppcr x5", ()),
            ("pacia171615", ()),
            ("autib171615", ()),
        ],
    ) {
        for register in [17, 30] {
            assert!(instruction.effects.contains(&Set(register, Unknown)));
        }
    }
}

#[test]
fn system_registers_of_trap_code() {
    compare(
        "trap",
        &[
            ("mrs x1, elr_el1", &[Set(1, Sum(ELR_EL1, 0))]),
            ("msr elr_el1, x1", &[Set(ELR_EL1, Sum(1, 0))]),
            ("msr elr_el1, xzr", &[Set(ELR_EL1, Number(0))]),
            ("mrs x1, sp_el0", &[Set(1, Sum(SP_EL0, 0))]),
            ("msr sp_el0, x1", &[Set(SP_EL0, Sum(1, 0))]),
            ("mrs x1, spsr_el1", &[Set(1, Unknown)]),
            ("msr spsr_el1, x1", &[]),
            ("bti c", &[]),
        ],
    );
}

#[test]
fn flow_of_control() {
    let authenticated: &[Effect] = &[Set(30, Authenticated(30))];
    let unknown: &[Effect] = &[Set(32, Unknown)];
    let trapped: &[Effect] = &[Set(ELR_EL1, Unknown)];
    let cases: [(_, (_, _, &[Effect])); 28] = [
        ("b .+8", (Flow::Jump, 0x1008, &[])),
        ("b .-8", (Flow::Jump, 0xff8, &[])),
        ("bl .+8", (Flow::Call, 0x1008, &[])),
        ("b.eq .+8", (Flow::Branch, 0x1008, &[])),
        ("b.al .+8", (Flow::Jump, 0x1008, &[])),
        ("bc.ne .+8", (Flow::Branch, 0x1008, &[])),
        ("cbz x1, .+8", (Flow::Branch, 0x1008, &[])),
        ("cbnz w1, .-4", (Flow::Branch, 0xffc, &[])),
        ("tbnz x1, #40, .+8", (Flow::Branch, 0x1008, &[])),
        ("cbgt x1, x2, .+8", (Flow::Branch, 0x1008, &[])),
        ("cbhi w1, #3, .-8", (Flow::Branch, 0xff8, &[])),
        ("br x1", (Flow::IndirectJump, 0, &[Set(32, Sum(1, 0))])),
        ("braa x1, sp", (Flow::IndirectJump, 0, unknown)),
        ("brabz x1", (Flow::IndirectJump, 0, unknown)),
        ("blr x1", (Flow::IndirectCall, 0, &[])),
        ("blraa x1, x2", (Flow::IndirectCall, 0, &[])),
        ("ret", (Flow::Return, 0, &[])),
        ("ret x9", (Flow::Return, 0, &[Set(30, Sum(9, 0))])),
        ("retaa", (Flow::Return, 0, authenticated)),
        ("retab", (Flow::Return, 0, authenticated)),
        ("retaasppc .-8", (Flow::Return, 0, authenticated)),
        ("retabsppcr x5", (Flow::Return, 0, authenticated)),
        ("eret", (Flow::TrapReturn, 0, &[])),
        ("eretaa", (Flow::TrapReturn, 0, &[])),
        ("drps", (Flow::Unknown, 0, &[])),
        ("brk #1", (Flow::Trap, 0, trapped)),
        ("udf #1", (Flow::Trap, 0, trapped)),
        ("udf #0", (Flow::Trap, 0, trapped)),
    ];
    for (instruction, (text, (flow, target, effects))) in decoded("flow", &cases).iter().zip(&cases)
    {
        assert_eq!(
            (instruction.flow, instruction.target),
            (*flow, *target),
            "{text}"
        );
        assert_eq!(instruction.effects, *effects, "{text}");
        assert_eq!(instruction.is_not_equal, *text == "bc.ne .+8", "{text}");
        assert_eq!(instruction.is_padding, *text == "udf #0", "{text}");
        assert_eq!(
            (instruction.length, instruction.is_conditional),
            (4, false),
            "{text}"
        );
    }
    assert!(decoded("nop", &[("nop", ())])[0].is_padding);
}

#[test]
fn calls_of_other_software_change_argument_registers_and_memory() {
    let cases = [
        ("svc #1", 18),
        ("hvc #0", 18),
        ("smc #0", 18),
        ("hlt #1", 0),
    ];
    for (instruction, (name, last)) in decoded("calls", &cases).into_iter().zip(cases) {
        let mut expected = vec![Effect::Store {
            base: SP,
            offset: 0,
            size: Size::Anywhere,
            value: Unknown,
        }];
        expected.extend((0..=last).map(|register| Set(register, Unknown)));
        expected.push(Set(ELR_EL1, Unknown));
        // Linux ignores the number in the instruction.
        let is_call = |effect: &Effect| matches!(effect, Effect::SystemCall(_));
        let is_last = instruction.effects.last().is_some_and(is_call);
        assert_eq!(is_last, name == "svc #1", "{name}");
        let effects = instruction.effects.into_iter();
        let effects: Vec<Effect> = effects.filter(|effect| !is_call(effect)).collect();
        assert_eq!((instruction.flow, effects), (Flow::Halt, expected));
    }
}

#[test]
fn unallocated_words_may_do_anything() {
    for word in [
        // Groups of chapter C4.1 without instructions.
        0x0200_0000,
        0x0600_0000,
        // A logical constant of 64 bits in 32; move wide without an operation, and by 32 bits in 32.
        0x1240_0000,
        0x3280_0000,
        0x52c0_0000,
        // Additions: rotated; extended and shifted by 5; of another extension.
        0x8bc0_0000,
        0x8b20_1400,
        0x0b60_0000,
        // An exception; br with a last field.
        0xd4e0_0000,
        0xd61f_0001,
        // ldpsw that is not temporal; a word that is loaded to 32 bits with its sign.
        0x6840_0000,
        0xb8c0_0000,
    ] {
        assert_eq!(
            decode(0, word),
            Some(Instruction::unlisted(4)),
            "{word:08x}"
        );
    }
    // Not aligned.
    assert_eq!(decode(2, 0xd503_201f), None);
}

#[test]
fn calls_keep_the_registers_of_the_procedure_call_standard() {
    let convention = AArch64.convention();
    assert_eq!(
        convention.kept,
        (19..=29).map(|register| 1 << register).sum()
    );
    assert_eq!((convention.stack_pointer, convention.link), (SP, Some(30)));
}
