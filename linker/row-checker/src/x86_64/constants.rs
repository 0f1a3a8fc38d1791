//! Constants that code makes in a register.

use std::collections::BTreeMap;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic, OpKind, Register as Iced};

use super::{decode, effects};
use crate::instruction::{Effect, Operand, Register};
use crate::program::Program;

/// How many instructions of 32-bit code are read.
const NEAR: usize = 64;

/// The constant that a register contains after these instructions, the nearest first.
pub(super) fn constant(program: &Program<'_>, register: Register, before: &[u64]) -> Option<u64> {
    let mut known: BTreeMap<Register, u64> = BTreeMap::new();
    for at in before.iter().rev() {
        let effects = effects::effects(&decode(program, *at)?);
        let value = |operand: &Operand| match operand {
            Operand::Number(number) => Some(i64::from(*number).cast_unsigned()),
            Operand::Address(address) => Some(*address),
            Operand::Sum(from, bytes) => {
                Some(known.get(from)?.wrapping_add_signed((*bytes).into()))
            }
            _ => None,
        };
        let sets = effects.iter().filter_map(|effect| match effect {
            Effect::Set(to, operand) => Some((*to, value(operand))),
            _ => None,
        });
        for (to, value) in sets.collect::<Vec<_>>() {
            match value {
                Some(value) => known.insert(to, value),
                None => known.remove(&to),
            };
        }
    }
    known.get(&register).copied()
}

/// The constant that 32-bit code loads into the stack pointer before its first branch.
pub(super) fn loaded_in_32_bits(program: &Program<'_>, start: u64) -> Option<u64> {
    let code = program.code(start)?;
    let decoder = Decoder::with_ip(32, code, start, DecoderOptions::NONE);
    let mut loaded = None;
    for instruction in decoder.into_iter().take(NEAR) {
        if instruction.flow_control() != FlowControl::Next {
            break;
        }
        if instruction.op0_kind() != OpKind::Register || instruction.op0_register() != Iced::ESP {
            continue;
        }
        loaded = match (instruction.mnemonic(), instruction.op1_kind()) {
            (Mnemonic::Mov, OpKind::Immediate32) => Some(u64::from(instruction.immediate32())),
            (Mnemonic::Lea, OpKind::Memory)
                if instruction.memory_base() == Iced::None
                    && instruction.memory_index() == Iced::None =>
            {
                Some(instruction.memory_displacement64())
            }
            _ => None,
        };
    }
    loaded
}
