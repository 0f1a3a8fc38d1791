//! ARM and Thumb: calls and jumps in the bytes of code. Source: "Arm Architecture Reference Manual for ARMv7-A", A8.8 "Alphabetical
//! list of instructions", B, BL, BLX, BX, CBZ, MOV, LDR. Instructions are little-endian, whatever the order of data.

use super::Registers;
use crate::code::{Instructions, Jump};

/// The bit of a pointer to code that tells Thumb.
const THUMB: u64 = 1;
/// The condition of an ARM instruction that is always run, and the number that marks those without a condition.
const ALWAYS: u32 = 0xe000_0000;
const NO_CONDITION: u32 = 0xf000_0000;

impl Instructions for Registers {
    const ALIGNMENT: usize = 2;

    #[inline(always)]
    fn place(pointer: u64) -> u64 {
        pointer & !THUMB
    }

    #[inline]
    fn direct_call(bytes: &[u8], end: u64) -> Option<u64> {
        let end_of_code = Self::place(end);
        if end & THUMB != 0 {
            let (first, second) = thumb_pair(bytes.last_chunk()?);
            let target = end_of_code.wrapping_add_signed(thumb_distance(first, second));
            return match (first & 0xf800, second & 0xd001) {
                // BL
                (0xf000, 0xd000 | 0xd001) => Some(wrap(target) | THUMB),
                // BLX, to ARM code
                (0xf000, 0xc000) => Some(wrap(target & !3)),
                _ => None,
            };
        }
        let word = word(bytes, end_of_code)?;
        let target = arm_target(end_of_code.wrapping_sub(4), word);
        match (word & NO_CONDITION, word & 0x0f00_0000) {
            // BLX, to Thumb code: bit 24 counts a halfword.
            (NO_CONDITION, 0x0a00_0000 | 0x0b00_0000) => {
                Some(wrap(target.wrapping_add(u64::from(word >> 23 & 2))) | THUMB)
            }
            (0..NO_CONDITION, 0x0b00_0000) => Some(target),
            _ => None,
        }
    }

    fn is_indirect_call(bytes: &[u8], end: u64) -> bool {
        if end & THUMB != 0 {
            // BLX register
            let last = bytes.last_chunk().map(|last| u16::from_le_bytes(*last));
            return last.is_some_and(|last| last & 0xff87 == 0x4780);
        }
        let Some(last) = word(bytes, end) else {
            return false;
        };
        // BLX register, under any condition
        if last & 0x0fff_fff0 == 0x012f_ff30 && last < NO_CONDITION {
            return true;
        }
        // MOV lr, pc and a write of pc behind it: how ARMv4 calls.
        let before = bytes.len().checked_sub(4).and_then(|at| bytes.get(..at));
        let before = before.and_then(<[u8]>::last_chunk);
        before == Some(&[0x0f, 0xe0, 0xa0, 0xe1])
    }

    fn jump(bytes: &[u8], at: u64) -> Option<(Jump, usize)> {
        // Behind many functions are their constants, which may look like jumps.
        if at & THUMB != 0 {
            return Some((thumb_jump(bytes, at)?, 2));
        }
        match bytes.first_chunk() {
            Some(word) if at & 3 == 0 => Some((arm_jump(u32::from_le_bytes(*word), at)?, 4)),
            _ => None,
        }
    }

    /// Compiled functions do not run on into the next one, and behind many are their constants, which are no instructions. Where
    /// assembly runs on, a call of the function before is not taken for one of the next: then the list is in doubt.
    fn ends(_: &[u8]) -> bool {
        true
    }
}

/// The ARM instruction before `end`.
fn word(bytes: &[u8], end: u64) -> Option<u32> {
    let word = bytes.last_chunk().copied().map(u32::from_le_bytes);
    word.filter(|_| end & 3 == 0)
}

/// Where an ARM branch at `at` leads: its distance counts words, from two instructions further on.
fn arm_target(at: u64, word: u32) -> u64 {
    let distance = (word << 8).cast_signed() >> 6;
    wrap(at.wrapping_add(8).wrapping_add_signed(distance.into()))
}

fn arm_jump(word: u32, at: u64) -> Option<Jump> {
    let rest = word & !NO_CONDITION;
    if word >= NO_CONDITION {
        return None;
    }
    // B
    if rest & 0x0f00_0000 == 0x0a00_0000 {
        return Some(Jump::To(arm_target(at, word)));
    }
    // BX and MOV pc, unless by lr, which is how functions return; LDR pc of a constant, as in linkers' veneers.
    let by_register = matches!(rest & 0x0fff_fff0, 0x012f_ff10 | 0x01a0_f000) && rest & 15 != 14;
    let constant = word & NO_CONDITION == ALWAYS && rest & 0x0f7f_f000 == 0x051f_f000;
    (by_register || constant).then_some(Jump::Anywhere)
}

fn thumb_jump(bytes: &[u8], at: u64) -> Option<Jump> {
    let first = u16::from_le_bytes(*bytes.first_chunk()?);
    // Also the bit for Thumb, which stays.
    let after = at.wrapping_add(4);
    let to = |distance: i64| Some(Jump::To(wrap(after.wrapping_add_signed(distance))));
    let short = i64::from((first << 5).cast_signed() >> 4);
    match first {
        // B
        0xe000..=0xe7ff => return to(short),
        // B under a condition
        0xd000..=0xddff => {
            return to(i64::from(first.to_le_bytes()[0].cast_signed()).wrapping_mul(2));
        }
        _ => {}
    }
    // CBZ and CBNZ
    if first & 0xf500 == 0xb100 {
        return to(i64::from(first >> 3 & 0x40 | first >> 2 & 0x3e));
    }
    // BX and MOV pc, unless by lr
    if matches!(first & 0xff87, 0x4700 | 0x4687) && first >> 3 & 15 != 14 {
        return Some(Jump::Anywhere);
    }
    let (first, second) = thumb_pair(bytes.first_chunk()?);
    match (first & 0xf800, second & 0xd000) {
        // B.W
        (0xf000, 0x9000) => to(thumb_distance(first, second)),
        // B.W under a condition
        (0xf000, 0x8000) if first >> 6 & 15 < 14 => to(conditional_distance(first, second)),
        // LDR.W pc of a constant, as in linkers' veneers
        _ if first & 0xff7f == 0xf85f && second & 0xf000 == 0xf000 => Some(Jump::Anywhere),
        _ => None,
    }
}

fn thumb_pair(bytes: &[u8; 4]) -> (u16, u16) {
    let [a, b, c, d] = *bytes;
    (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]))
}

/// The distance of BL, BLX and B.W: S, I1, I2, ten bits, eleven bits, a zero. I1 and I2 are stored as J1 and J2, inverted if S is 0.
fn thumb_distance(first: u16, second: u16) -> i64 {
    let (first, second) = (u32::from(first), u32::from(second));
    let sign = first >> 10 & 1;
    let [i1, i2] = [second >> 13 & 1, second >> 11 & 1].map(|stored| (stored ^ sign ^ 1) & 1);
    let number = sign << 24 | i1 << 23 | i2 << 22 | (first & 0x3ff) << 12 | (second & 0x7ff) << 1;
    ((number << 7).cast_signed() >> 7).into()
}

/// The distance of B.W under a condition: S, J2, J1, six bits, eleven bits, a zero.
fn conditional_distance(first: u16, second: u16) -> i64 {
    let (first, second) = (u32::from(first), u32::from(second));
    let number = (first >> 10 & 1) << 20
        | (second >> 11 & 1) << 19
        | (second >> 13 & 1) << 18
        | (first & 0x3f) << 12
        | (second & 0x7ff) << 1;
    ((number << 11).cast_signed() >> 11).into()
}

/// Addresses have 32 bits.
const fn wrap(address: u64) -> u64 {
    address & 0xffff_ffff
}
