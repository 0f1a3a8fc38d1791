//! Addresses that code names, and tables of its jumps.

use row_checker::architecture::Architecture as _;
use row_checker::arm::Arm;
use row_checker::instruction::{Flow, IndirectJump, TableBase, TableForm};
use row_checker::program::Program;

use crate::support::{START, assembled, instructions};

/// The named addresses, as distances from the start: of the instruction that names, and of what it names.
fn named(program: &Program<'_>) -> Vec<(u64, u64)> {
    let all: Vec<_> = instructions(program).iter().map(|(at, _)| *at).collect();
    let named = Arm.named(program, &all).into_iter();
    named
        .map(|it| (it.at - START, it.address - START))
        .collect()
}

/// The last indirect jump of a text.
fn jump(name: &str, set: &str, text: &str) -> IndirectJump {
    let program = assembled(name, set, text);
    let all = instructions(&program);
    let index = all
        .iter()
        .rposition(|(_, it)| it.flow == Flow::IndirectJump)
        .unwrap();
    let before: Vec<_> = all[..index].iter().rev().map(|(at, _)| *at).collect();
    let found = Arm.indirect_jump(&program, all[index].0, &before);
    // The tables do not depend on the register with the target.
    IndirectJump {
        register: None,
        ..found
    }
}

fn table(size: u8, signed: bool, scale: u8, base: TableBase, table: Option<u64>) -> IndirectJump {
    IndirectJump {
        forms: vec![TableForm {
            size,
            signed,
            scale,
            base,
        }],
        table: table.map(|distance| START + distance),
        is_indexed: true,
        counts_from_labels: base != TableBase::Zero,
        ..IndirectJump::default()
    }
}

#[test]
fn addresses_are_named_where_they_are_complete() {
    let text = "adr r0, . + 16\n movw r1, #0x0010\n movt r1, #0x0010\n ldr r2, [pc, #4]\n mov r3, #16\n b .\n .long 0x100020\n .long 0x300000\n nop";
    let found = named(&assembled("arm_named", "arm", text));
    assert_eq!(found, [(0, 16), (8, 16), (12, 0x20)]);
}

#[test]
fn conditional_halves_name_several_addresses() {
    let text = "movw r1, #8\n movweq r1, #4\n movt r1, #0x10\n movw r1, #12\n movt r1, #0x10";
    let found = named(&assembled("arm_named", "arm", text));
    assert_eq!(found, [(8, 4), (8, 8), (16, 12)]);
    // Both halves under one condition: an older constant does not get the upper half.
    let text = "mov r1, #0\n movweq r1, #4\n movteq r1, #0x10\n nop\n nop\n nop\n nop";
    assert_eq!(named(&assembled("arm_halves", "arm", text)), [(8, 4)]);
    let text = "mov r1, #0\n movweq r1, #4\n movtne r1, #0x10\n nop\n nop\n nop\n nop";
    let found = named(&assembled("arm_other_halves", "arm", text));
    assert_eq!(found, [(8, 0), (8, 4)]);
}

#[test]
fn distances_are_added_to_the_program_counter() {
    // Of position-independent code, and of a procedure linkage table in two parts, of which the first names nothing.
    let text = "ldr r0, [pc, #4]\n add r0, pc, r0\n b .\n .long 8\n add r12, pc, #0\n add r12, r12, #4\n nop\n nop";
    let program = assembled("arm_distances", "arm", text);
    assert_eq!(named(&program), [(4, 20), (20, 28)]);
    let relocatable = Program {
        is_relocatable: true,
        traps: Vec::new(),
        ..program
    };
    assert_eq!(named(&relocatable), [(4, 20), (20, 28)]);
}

#[test]
fn addresses_of_thumb_code_have_no_lowest_bit() {
    let text = "movw r1, #5\n movt r1, #0x10\n nop\n adr r0, . + 4\n nop\n nop";
    let found = named(&assembled("arm_bit", "thumb", text));
    assert_eq!(found, [(4, 4), (10, 14)]);
}

#[test]
fn tables_of_bytes_and_halves_follow_the_jump() {
    let bytes = jump("arm_tbb", "thumb", "nop\n tbb [pc, r0]");
    let base = TableBase::At(START + 6);
    assert_eq!(bytes, table(1, false, 2, base, Some(6)));
    let halves = jump("arm_tbb", "thumb", "nop\n tbh [pc, r0, lsl #1]");
    assert_eq!(halves, table(2, false, 2, base, Some(6)));
    let elsewhere = jump("arm_tbb", "thumb", "nop\n tbb [r1, r0]");
    assert_eq!(elsewhere, table(1, false, 2, base, None));
}

#[test]
fn tables_of_addresses_are_loaded_with_an_index() {
    // The table, or the place of the instruction that uses register r1 as the table's address.
    for (set, text, place) in [
        ("arm", "ldr pc, [pc, r0, lsl #2]", Ok(8)),
        ("arm", "adr r1, .\n ldr pc, [r1, r0, lsl #2]", Err(4)),
        ("arm", "ldr r1, [r1, r0, lsl #2]\n bx r1", Err(0)),
        ("arm", "add r1, r1, r0, lsl #2\n ldr pc, [r1]", Err(0)),
        (
            "thumb",
            "lsls r0, r0, #2\n adds r0, r1, r0\n ldr r0, [r0]\n mov pc, r0",
            Err(2),
        ),
        (
            "thumb",
            "lsls r0, r0, #2\n ldr r0, [r1, r0]\n mov r2, r0\n bx r2",
            Err(2),
        ),
    ] {
        let expected = IndirectJump {
            pointer: place.err().map(|at| (START + at, 1)),
            ..table(4, true, 1, TableBase::Zero, place.ok())
        };
        assert_eq!(jump("arm_addresses", set, text), expected, "{text}");
    }
}

/// Such a jump may go elsewhere than to what consecutive words contain.
#[test]
fn other_indices_and_conditional_loads_are_no_tables() {
    for text in [
        "ldr pc, [pc, -r0, lsl #2]",
        "ldr pc, [pc, r0, lsl #3]",
        "ldr pc, [r1, r0, lsr #1]",
        "ldr pc, [r1, r0]",
        "lsl r0, r0, #3\n ldr pc, [r1, r0]",
        "lsl r0, r0, #1\n ldr pc, [r1, r0, lsl #2]",
        "add r0, r1, r0, lsl #3\n ldr pc, [r0]",
        "ldr r12, [r1]\n ldrne r12, [r2, r0, lsl #2]\n bx r12",
    ] {
        assert!(!jump("arm_indices", "arm", text).is_indexed, "{text}");
    }
}

#[test]
fn tables_of_distances_are_added_to_a_base() {
    let named = |load: u64, sum: u64| IndirectJump {
        pointer: Some((START + load, 1)),
        label: Some((START + sum, 1)),
        ..table(4, true, 1, TableBase::Named, None)
    };
    let text = "adr r1, .\n ldr r0, [r1, r0, lsl #2]\n add pc, r0, r1";
    assert_eq!(jump("arm_distance", "arm", text), named(4, 8));
    let text = "adr r1, .\n ldr r0, [r1, r0, lsl #2]\n add r0, r1, r0\n bx r0";
    assert_eq!(jump("arm_distance", "arm", text), named(4, 8));
    let at_start = |jump| IndirectJump {
        pointer: Some((START, 1)),
        ..jump
    };
    let text = "ldrb r0, [r1, r0]\n add pc, pc, r0, lsl #2";
    let bytes = table(1, false, 4, TableBase::At(START + 12), None);
    assert_eq!(jump("arm_distance", "arm", text), at_start(bytes));
    let text = "lsls r2, r2, #1\n ldrh r0, [r1, r2]\n lsls r0, r0, #1\n add pc, r0";
    let halves = IndirectJump {
        pointer: Some((START + 2, 1)),
        ..table(2, false, 2, TableBase::At(START + 10), None)
    };
    assert_eq!(jump("arm_distance", "thumb", text), halves);
}

#[test]
fn branches_after_a_sum_are_a_table() {
    let found = jump(
        "arm_branches",
        "arm",
        "cmp r0, #1\n addls pc, pc, r0, lsl #2\n b .\n b .\n b .",
    );
    assert_eq!(found, table(4, false, 1, TableBase::Inline, Some(12)));
}

#[test]
fn a_word_at_a_constant_address_is_an_import() {
    let text = "adr r12, . + 8\n add r12, r12, #4096\n ldr pc, [r12, #8]!";
    assert!(jump("arm_import", "arm", text).is_import);
    let text = "movw r12, #0\n movt r12, #0x20\n ldr r12, [r12]\n bx r12";
    assert!(jump("arm_import", "thumb", text).is_import);
    let text = "ldr r3, [r0]\n ldr r3, [r3, #8]\n bx r3";
    let by_pointer = jump("arm_import", "thumb", text);
    assert!(!by_pointer.is_import && !by_pointer.is_indexed);
}
