//! AArch64: calls and jumps in the bytes of code. Source: "Arm Architecture Reference Manual for A-profile", C4.1 "A64
//! instruction set encoding", "Branches, Exception Generating and System instructions". Instructions are little-endian,
//! whatever the order of data.

use super::Registers;
use super::effect::effect;
use crate::code::{Effect, Instructions, Jump};

/// The bits that identify BR and BLR, which differ in bit 21 only, also with authentication (BRAA, BLRAA and so on). Bits 24 and 11 to 0 contain
/// the kind of authentication and the registers.
const REGISTER_MASK: u32 = 0xfeff_f000;
const BR: u32 = 0xd61f_0000;
const BLR: u32 = 0xd63f_0000;

impl Instructions for Registers {
    const ALIGNMENT: usize = 4;

    #[inline]
    fn direct_call(bytes: &[u8], end: u64) -> Option<u64> {
        let word = last(bytes, end)?;
        let is_bl = word & 0xfc00_0000 == 0x9400_0000;
        is_bl.then(|| target(end.wrapping_sub(4), word, 0, 26))
    }

    fn is_indirect_call(bytes: &[u8], end: u64) -> bool {
        last(bytes, end).is_some_and(|word| word & REGISTER_MASK == BLR)
    }

    fn jump(bytes: &[u8], at: u64) -> Option<(Jump, usize)> {
        let word = u32::from_le_bytes(*bytes.first_chunk()?);
        let to = |lowest, bits| Jump::To(target(at, word, lowest, bits));
        let jump = if word & 0xfc00_0000 == 0x1400_0000 {
            // B
            to(0, 26)
        } else if word & 0xff00_0000 == 0x5400_0000 || word & 0x7e00_0000 == 0x3400_0000 {
            // B.cond and BC.cond; CBZ and CBNZ
            to(5, 19)
        } else if word & 0x7e00_0000 == 0x3600_0000 {
            // TBZ and TBNZ
            to(5, 14)
        } else if word & REGISTER_MASK == BR {
            Jump::Anywhere
        } else {
            return None;
        };
        Some((jump, 4))
    }

    fn effect(bytes: &[u8], at: u64) -> Option<Effect> {
        effect(bytes, at)
    }

    fn ends(bytes: &[u8]) -> bool {
        let word = bytes.last_chunk().copied().map_or(0, u32::from_le_bytes);
        // B and BL
        word & 0x7c00_0000 == 0x1400_0000
            // BR, BLR, RET, ERET
            || word & 0xfe00_0000 == 0xd600_0000
            // UDF, BRK
            || word <= 0xffff
            || word & 0xffe0_001f == 0xd420_0000
    }
}

/// The instruction before `end`, which must be aligned as instructions are.
fn last(bytes: &[u8], end: u64) -> Option<u32> {
    let word = bytes.last_chunk().copied().map(u32::from_le_bytes);
    word.filter(|_| end & 3 == 0)
}

/// Where an instruction at `at` leads, whose distance in instructions is `bits` bits long and begins at bit `lowest`.
fn target(at: u64, word: u32, lowest: u32, bits: u32) -> u64 {
    let above = 32_u32.wrapping_sub(bits);
    let left = word.wrapping_shl(above.wrapping_sub(lowest)).cast_signed();
    at.wrapping_add_signed(i64::from(left.wrapping_shr(above)).wrapping_mul(4))
}
