//! A32 and T32 instructions, with the procedure call standard for the Arm architecture (AAPCS32).
//!
//! The crate `arm-instructions` decodes. An instruction that it does not know may do anything. These modules translate its operations, none of which they execute.

mod block;
mod constants;
mod jump;
mod memory;
mod read;
mod translate;

use arm_instructions::{LR, PC, SP};

use crate::architecture::{Architecture, Convention};
use crate::instruction::{IndirectJump, Instruction, Named, Register};
use crate::program::Program;

/// A32 and T32.
#[derive(Clone, Copy, Debug)]
pub struct Arm;

static CONVENTION: Convention = Convention {
    stack_pointer: SP,
    // r11. T32 code uses r7, which rows treat as one of the registers that callees keep.
    frame_pointer: 11,
    link: Some(LR),
    return_address: LR,
    trap_returns: &[LR],
    lost: PC,
    // r4 to r11.
    kept: 0xff << 4,
    // r0.
    results: 1,
    word: 4,
    unit: 2,
    aligns_at_traps: false,
    stores_keep_flags: true,
    vectors: None,
};

impl Architecture for Arm {
    fn convention(&self) -> &'static Convention {
        &CONVENTION
    }

    fn decode(&self, program: &Program<'_>, at: u64) -> Option<Instruction> {
        let length = read::length(program, at)?;
        let read = read::read(program, at);
        let known = read.and_then(|read| translate::translate(program, &read));
        Some(known.unwrap_or_else(|| Instruction::unlisted(length)))
    }

    fn named(&self, program: &Program<'_>, instructions: &[u64]) -> Vec<Named> {
        constants::named(program, instructions)
    }

    fn constant(&self, program: &Program<'_>, register: Register, before: &[u64]) -> Option<u64> {
        constants::constant_of(program, register, before, before.len()).map(u64::from)
    }

    fn indirect_jump(&self, program: &Program<'_>, at: u64, before: &[u64]) -> IndirectJump {
        jump::indirect_jump(program, at, before)
    }
}
