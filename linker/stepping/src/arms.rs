//! Classifies instructions of AArch64 and of 32-bit ARM by their effect on the call stack.
//!
//! Returns need no kind of their own: the truth takes any jump to a waiting function's address, with its stack pointer, for a return.

use crate::machine::{Decoded, Kind};

const fn of(kind: Kind, length: u8) -> Option<Decoded> {
    Some(Decoded { kind, length })
}

/// An instruction of AArch64.
#[must_use]
pub fn a64(bytes: &[u8]) -> Option<Decoded> {
    let word = u32::from_le_bytes(*bytes.first_chunk()?);
    let kind = match word {
        // bl
        _ if word >> 26 == 0b10_0101 => Kind::Calls,
        // blr, and blraa and its relatives
        _ if word & 0xffff_fc1f == 0xd63f_0000 || word & 0xfeff_f800 == 0xd63f_0800 => Kind::Calls,
        // br, ret, and those with authentication
        _ if word & 0xfe9f_f000 == 0xd61f_0000 => Kind::JumpsByPointer,
        // b
        _ if word >> 26 == 0b00_0101 => Kind::Jumps,
        // svc
        _ if word & 0xffe0_001f == 0xd400_0001 => Kind::System,
        // add and sub of an immediate number to sp, from another register
        _ if word & 0x3f80_001f == 0x1100_001f && word >> 5 & 31 != 31 && word >> 29 & 1 == 0 => {
            Kind::LoadsStackPointer
        }
        _ => Kind::Other,
    };
    of(kind, 4)
}

/// An instruction of ARM code.
#[must_use]
pub fn a32(bytes: &[u8]) -> Option<Decoded> {
    let word = u32::from_le_bytes(*bytes.first_chunk()?);
    let is_conditional = word >> 28 != 0xf;
    let kind = match word {
        // bl, blx
        _ if is_conditional && word & 0x0f00_0000 == 0x0b00_0000 => Kind::Calls,
        _ if word & 0xfe00_0000 == 0xfa00_0000 => Kind::Calls,
        _ if word & 0x0fff_fff0 == 0x012f_ff30 => Kind::Calls,
        // svc
        _ if is_conditional && word & 0x0f00_0000 == 0x0f00_0000 => Kind::System,
        // b
        _ if is_conditional && word & 0x0f00_0000 == 0x0a00_0000 => Kind::Jumps,
        // mov sp, and add and sub of an immediate number to sp, from another register
        _ if word & 0x0fff_fff0 == 0x01a0_d000 => Kind::LoadsStackPointer,
        _ if matches!(word >> 20 & 0xfe, 0x28 | 0x24)
            && word >> 12 & 15 == 13
            && word >> 16 & 15 != 13 =>
        {
            Kind::LoadsStackPointer
        }
        _ => Kind::Other,
    };
    of(kind, 4)
}

/// An instruction of Thumb code.
#[must_use]
pub fn thumb(bytes: &[u8]) -> Option<Decoded> {
    let first = u16::from_le_bytes(*bytes.first_chunk()?);
    if first >> 11 < 0b1_1101 {
        let kind = match first {
            // blx
            _ if first & 0xff87 == 0x4780 => Kind::Calls,
            // svc
            _ if first & 0xff00 == 0xdf00 => Kind::System,
            // mov sp
            _ if first & 0xff87 == 0x4685 => Kind::LoadsStackPointer,
            // b
            _ if first >> 11 == 0b1_1100 => Kind::Jumps,
            _ => Kind::Other,
        };
        return of(kind, 2);
    }
    let second = u16::from_le_bytes(*bytes.get(2..)?.first_chunk()?);
    let kind = match first >> 11 {
        // bl, blx
        0b1_1110 if matches!(second >> 12, 0b1100..=0b1111) => Kind::Calls,
        // add and sub of an immediate number to sp, from another register
        0b1_1110
            if matches!(first & 0xfbef, 0xf100 | 0xf1a0)
                && second >> 8 & 15 == 13
                && first & 15 != 13 =>
        {
            Kind::LoadsStackPointer
        }
        _ => Kind::Other,
    };
    of(kind, 4)
}
