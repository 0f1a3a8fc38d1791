//! Reads the instruction at an address, in the instruction set of that address.

use arm_instructions::{
    ALWAYS, Indexing, Op, PC, Place, Source, decode_a32, decode_t32, t32_length,
};

use super::block::{self, Condition};
use crate::instruction::Operand;
use crate::program::{Mode, Program};

/// An instruction, its address and its set.
pub(super) struct Read {
    pub(super) op: Op,
    pub(super) length: u8,
    pub(super) condition: Condition,
    pub(super) at: u64,
    pub(super) is_thumb: bool,
}

/// Returns whether code at an address is T32, and the code. `None`: no instruction can be there.
fn code<'program>(program: &'program Program<'_>, at: u64) -> Option<(bool, &'program [u8])> {
    let is_thumb = match program.mode(at) {
        Mode::Usual => false,
        Mode::Thumb => true,
        Mode::Data => return None,
    };
    let is_aligned = at.is_multiple_of(if is_thumb { 2 } else { 4 });
    let code = program.code(at).filter(|_| is_aligned)?;
    Some((is_thumb, code))
}

/// Returns the length of the instruction at an address, whether its effect is known or not.
pub(super) fn length(program: &Program<'_>, at: u64) -> Option<u8> {
    let (is_thumb, code) = code(program, at)?;
    let first = u16::from_le_bytes(*code.first_chunk()?);
    let length = if is_thumb { t32_length(first) } else { 4 };
    (code.len() >= usize::from(length)).then_some(length)
}

/// Reads the instruction at an address. `None`: there is none, or its effect is not known.
pub(super) fn read(program: &Program<'_>, at: u64) -> Option<Read> {
    let (is_thumb, code) = code(program, at)?;
    let address = u32::try_from(at).ok()?;
    let (decoded, condition) = match is_thumb {
        false => {
            let decoded = decode_a32(u32::from_le_bytes(*code.first_chunk()?), address)?;
            (decoded, Condition::Known(decoded.condition))
        }
        true => match block::condition(program, at) {
            Some(condition) => {
                let decoded = decode_t32(code, address, true)?;
                // Unpredictable: a branch with a condition of its own.
                let has_two = decoded.condition != ALWAYS;
                (
                    decoded,
                    if has_two {
                        Condition::Unknown
                    } else {
                        condition
                    },
                )
            }
            None => {
                let decoded = decode_t32(code, address, false)?;
                (decoded, Condition::Known(decoded.condition))
            }
        },
    };
    Some(Read {
        op: decoded.op,
        length: decoded.length,
        condition,
        at,
        is_thumb,
    })
}

impl Read {
    /// The value of the program counter as a source.
    pub(super) const fn pc(&self) -> u64 {
        self.at + if self.is_thumb { 4 } else { 8 }
    }

    /// The program counter plus a number of bytes: the address of `adr`, or of a literal.
    pub(super) const fn near(&self, bytes: u32) -> u64 {
        ((self.pc() & !3) as u32).wrapping_add(bytes) as u64
    }

    /// The word that an access at a constant distance from the program counter reads. Only words in code count, because nothing writes them.
    pub(super) fn literal(&self, program: &Program<'_>, place: Place) -> Option<u32> {
        match (place.base, place.offset, place.indexing) {
            (PC, Source::Constant(bytes), Indexing::Offset) => {
                let word = program.code(self.near(bytes))?.first_chunk()?;
                Some(u32::from_le_bytes(*word))
            }
            _ => None,
        }
    }

    /// The result of arithmetic on the registers that the fields of the instruction name. Constants count as fields, too, so that there may
    /// be too many registers, but not too few.
    pub(super) fn computed(&self, program: &Program<'_>) -> Operand {
        let code = program.code(self.at).unwrap_or_default();
        let halves = |at: usize| {
            code.get(at..at + 2)
                .map_or(0, |half| u16::from_le_bytes([half[0], half[1]]))
        };
        let (first, second) = (halves(0), halves(2));
        let (upper, lower) = match (self.is_thumb, self.length) {
            (true, 2) => {
                let fields = [first & 7, first >> 3 & 7, first >> 3 & 15, first >> 6 & 7];
                return Operand::Computed(fields.iter().fold(0, |all, field| all | 1 << field));
            }
            (true, _) => (first, second),
            (false, _) => (second, first),
        };
        // A move from a register of vectors or floating-point numbers.
        if matches!(upper >> 8 & 15, 12 | 14) && lower >> 9 & 7 == 5 {
            return Operand::Moved;
        }
        let fields = [upper & 15, lower & 15, lower >> 8 & 15, lower >> 12 & 15];
        Operand::Computed(fields.iter().fold(0, |all, field| all | 1 << field))
    }
}

/// A constant in code as a value: an address if a section of the program contains it.
pub(super) fn constant(program: &Program<'_>, value: u32) -> Operand {
    match program.is_relocatable {
        true => Operand::Number(value.cast_signed()),
        false => address(program, value.into()),
    }
}

/// An address as a value: a number if no section of the program contains it.
pub(super) fn address(program: &Program<'_>, value: u64) -> Operand {
    match program.section(value) {
        Some(_) => Operand::Address(program.instruction_at(value)),
        None => Operand::Number((value as u32).cast_signed()),
    }
}
