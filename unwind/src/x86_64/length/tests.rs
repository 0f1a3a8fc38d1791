//! Lengths and operands, held against another decoder.

extern crate std;

use std::collections::BTreeMap;
use std::vec::Vec;

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, Register};
use object::{Object, ObjectSection};

use super::decode;

/// What another decoder says of the instruction that these bytes begin with.
fn other(bytes: &[u8]) -> Option<Instruction> {
    let instruction = Decoder::new(64, bytes, DecoderOptions::NONE).decode();
    (!instruction.is_invalid()).then_some(instruction)
}

/// Every instruction of this program, one after another.
#[test]
fn the_instructions_of_a_program_end_where_they_do() {
    let path = std::env::current_exe().expect("this program");
    let data = std::fs::read(path).expect("its file");
    let file = object::File::parse(&*data).expect("ELF");
    let text = file.section_by_name(".text").expect("its code");
    let mut rest = text.data().expect("its bytes");
    let mut instructions = 0;
    while let Some(instruction) = other(rest) {
        let length = instruction.len();
        let ours = decode(rest);
        assert_eq!(
            ours.map(|ours| ours.length),
            Some(length),
            "{:x?}",
            &rest[..length]
        );
        rest = &rest[length..];
        instructions += 1;
    }
    assert!(
        rest.is_empty() && instructions > 100_000,
        "{instructions}, {}",
        rest.len()
    );
}

/// Any bytes: what both know has the same length.
#[test]
fn any_bytes_have_the_length_that_others_say() {
    let mut state = 1_u64;
    let (mut known, mut both) = (0, 0);
    let mut wrong = BTreeMap::new();
    for _ in 0..1_000_000 {
        let bytes: Vec<u8> = (0..16)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        let Some(instruction) = other(&bytes) else {
            continue;
        };
        known += 1;
        // Intel's processors ignore the prefix for 16 bits of a near branch, AMD's do not.
        let near = matches!(
            instruction.mnemonic(),
            Mnemonic::Call | Mnemonic::Jmp | Mnemonic::Xbegin
        ) || instruction.is_jcc_short_or_near();
        if near && bytes[..instruction.len()].contains(&0x66) {
            continue;
        }
        if let Some(ours) = decode(&bytes) {
            if ours.length != instruction.len() {
                wrong.insert(std::format!("{:?}", instruction.code()), bytes);
            }
            both += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong:x?}");
    // Those that are missing are XOP's and 3DNow's, and instructions without a meaning that others print nevertheless.
    assert!(both * 100 > known * 97, "{both} of {known}");
}

/// What moves the stack pointer or the frame pointer is told, or loses it.
#[test]
fn nothing_else_writes_the_registers_that_are_followed() {
    let mut factory = iced_x86::InstructionInfoFactory::new();
    let mut state = 7_u64;
    let mut writes = 0;
    let mut wrong = BTreeMap::new();
    for _ in 0..1_000_000 {
        let bytes: Vec<u8> = (0..16)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        let (Some(instruction), Some(effect)) =
            (other(&bytes), crate::x86_64::effect::effect(&bytes, 0))
        else {
            continue;
        };
        let info = factory.info(&instruction);
        for used in info.used_registers() {
            let written = matches!(
                used.access(),
                iced_x86::OpAccess::Write
                    | iced_x86::OpAccess::ReadWrite
                    | iced_x86::OpAccess::CondWrite
                    | iced_x86::OpAccess::ReadCondWrite
            );
            let change = match used.register().full_register() {
                Register::RSP => effect.stack_pointer,
                Register::RBP => effect.frame_pointer,
                _ => continue,
            };
            if !written || used.register() == Register::AH || used.register() == Register::CH {
                continue;
            }
            writes += 1;
            let moves = used.register().full_register() == Register::RSP
                && (effect.before != 0 || effect.after != 0);
            let calls_or_returns = effect.flow != crate::code::Flow::Next;
            if change == crate::code::Change::Kept && !moves && !calls_or_returns {
                wrong.insert(std::format!("{:?}", instruction.code()), bytes.clone());
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:x?}");
    assert!(writes > 1000, "{writes}");
}
