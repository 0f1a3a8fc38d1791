//! Blocks of conditional T32 instructions: the condition of an instruction is in an `it` instruction before it.
//!
//! T32 has one way to divide code into instructions: a half with one of three patterns in its upper bits starts an instruction of 32 bits
//! unless it ends one, and any other half ends an instruction. So the number of halves with these patterns before an address tells whether
//! an instruction starts there.

use arm_instructions::{ALWAYS, t32_length};

use crate::program::Program;

/// The condition under which an instruction is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// The condition with this number.
    Known(u8),
    /// Not known.
    Unknown,
}

impl Condition {
    /// Whether the instruction is always executed.
    pub(super) fn is_always(self) -> bool {
        self == Self::Known(ALWAYS)
    }
}

/// Instructions of a block at most.
const INSTRUCTIONS: u32 = 4;
/// Halves from an `it` instruction to the last instruction of its block at most.
const HALVES: u64 = 1 + 2 * (INSTRUCTIONS as u64 - 1);

/// Returns the condition of a T32 instruction if a block contains it. At an address where the code before does not let an instruction start,
/// the condition is not known: other code may jump to that address from a block.
pub(super) fn condition(program: &Program<'_>, at: u64) -> Option<Condition> {
    let start = start_of_code(program, at);
    if !is_boundary(program, start, at) {
        return Some(Condition::Unknown);
    }
    (1..=HALVES)
        .map_while(|distance| at.checked_sub(2 * distance))
        .take_while(|before| *before >= start)
        .find_map(|before| in_block_of(program, start, before, at))
}

/// Returns the condition of the instruction at `at` if the instruction at `before` is an `it` whose block contains it.
fn in_block_of(program: &Program<'_>, start: u64, before: u64, at: u64) -> Option<Condition> {
    let half = half(program, before)?;
    let (pattern, first, mask) = (half >> 8, half >> 4 & 15, half & 15);
    if pattern != 0xbf || mask == 0 || !is_boundary(program, start, before) {
        return None;
    }
    let count = INSTRUCTIONS - mask.trailing_zeros();
    let mut next = before + 2;
    for number in 0..count {
        if next == at {
            // Manual: A2.5.2 "Execution state registers", `ITSTATE`. The lowest bit of each further condition is in the mask.
            let lowest = match number {
                0 => first & 1,
                _ => mask >> (INSTRUCTIONS - number) & 1,
            };
            return Some(Condition::Known((first & 14 | lowest) as u8));
        }
        next += u64::from(t32_length(self::half(program, next)?));
    }
    None
}

/// Whether an instruction starts at an address, in code that starts at `start`.
fn is_boundary(program: &Program<'_>, start: u64, at: u64) -> bool {
    let mut first = at;
    while first > start && half(program, first - 2).is_some_and(|half| t32_length(half) == 4) {
        first -= 2;
    }
    (at - first).is_multiple_of(4)
}

/// The start of the T32 code that contains an address, without data or other code before it.
fn start_of_code(program: &Program<'_>, at: u64) -> u64 {
    let section = program.section(at).map_or(at, |section| section.address);
    let after = program.modes.partition_point(|(start, _)| *start <= at);
    let code = after
        .checked_sub(1)
        .map_or(section, |index| program.modes[index].0);
    code.max(section)
}

fn half(program: &Program<'_>, at: u64) -> Option<u16> {
    Some(u16::from_le_bytes(*program.code(at)?.first_chunk()?))
}
