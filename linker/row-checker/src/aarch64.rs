//! Decodes A64 instructions. Manual: Arm Architecture Reference Manual for A-profile architecture (DDI 0487), chapter C4.1.
//!
//! An instruction of a listed group sets every register that its fields can name to an unknown value. A word that the manual does not
//! allocate may do anything, because newer versions of the architecture may allocate it, and handlers may emulate it.

mod branches;
mod changes;
mod immediate;
mod memory;
mod named;
mod ordered;
mod registers;
mod slots;
mod system;
mod tables;
mod vectors;
mod word;

use crate::architecture::{Architecture, Convention};
use crate::instruction::{IndirectJump, Instruction, Named, Register};
use crate::program::{Mode, Program};
use changes::Changes;
use word::Word;

/// The frame pointer's register number.
const FP: Register = 29;
/// The link register's number.
const LR: Register = 30;
/// The stack pointer's register number. No state contains the zero register, which has the same number in instructions.
pub const SP: Register = 31;
/// The program counter's number.
const PC: Register = 32;
/// `ELR_EL1`, the system register with the address that `eret` returns to. Trap code saves and restores its value.
pub const ELR_EL1: Register = 33;
/// The same register of a level above, for code that changes to a lower level.
const ELR_ABOVE: Register = 39;
/// `SP_EL0`, the system register with the interrupted program's stack pointer. Trap code saves and restores its value.
pub const SP_EL0: Register = 40;
/// `VBAR_EL1`, the system register with the address of the vector table.
const VBAR_EL1: Register = 41;

/// The procedure call standard (AAPCS64).
static CONVENTION: Convention = Convention {
    stack_pointer: SP,
    frame_pointer: FP,
    link: Some(LR),
    return_address: LR,
    trap_returns: &[ELR_ABOVE, ELR_EL1],
    lost: PC,
    // x19 to x29.
    kept: 0x7ff << 19,
    // x0.
    results: 1,
    word: 8,
    unit: 4,
    aligns_at_traps: false,
    stores_keep_flags: true,
    vectors: Some(&slots::VECTORS),
};

/// 64-bit Arm.
#[derive(Clone, Copy, Debug)]
pub struct AArch64;

impl Architecture for AArch64 {
    fn convention(&self) -> &'static Convention {
        &CONVENTION
    }

    fn decode(&self, program: &Program<'_>, at: u64) -> Option<Instruction> {
        let word = word(program, at)?;
        Some(decode(word, at).unwrap_or_else(|| Instruction::unlisted(4)))
    }

    fn literal(&self, program: &Program<'_>, at: u64) -> Option<(u64, u64)> {
        memory::literal_bytes(word(program, at)?, at)
    }

    fn named(&self, program: &Program<'_>, instructions: &[u64]) -> Vec<Named> {
        named::named(program, instructions)
    }

    fn constant(&self, program: &Program<'_>, register: Register, before: &[u64]) -> Option<u64> {
        named::constant(program, register, before)
    }

    fn indirect_jump(&self, program: &Program<'_>, at: u64, before: &[u64]) -> IndirectJump {
        tables::indirect_jump(program, at, before)
    }
}

/// Returns the word of the instruction at an address.
fn word(program: &Program<'_>, at: u64) -> Option<Word> {
    if !at.is_multiple_of(4) || program.mode(at) == Mode::Data {
        return None;
    }
    let bytes = program.code(at)?.first_chunk()?;
    Some(Word(u32::from_le_bytes(*bytes)))
}

/// Decodes the instruction at an address. Returns `None` if the word is unallocated.
fn decode(word: Word, at: u64) -> Option<Instruction> {
    let changes = match word.bits(25, 4) {
        0 if word.bits(16, 16) == 0 => return Some(branches::undefined(word)),
        0 => vectors::matrix(word),
        2 => Some(vectors::scalable(word)),
        8 | 9 => immediate::changes(word, at),
        10 | 11 => return branches::decode(word, at),
        4 | 6 | 12 | 14 => memory::changes(word),
        5 | 13 => registers::changes(word),
        7 | 15 => Some(vectors::changes(word)),
        _ => None,
    };
    changes.map(Changes::instruction)
}
