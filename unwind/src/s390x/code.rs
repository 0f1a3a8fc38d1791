//! s390x: calls and jumps in the bytes of code. Source: "z/Architecture Principles of Operation", chapter 7, BRANCH AND SAVE,
//! BRANCH RELATIVE AND SAVE (LONG), BRANCH ON CONDITION, BRANCH RELATIVE ON CONDITION (LONG). Big-endian; distances count
//! halfwords.

use super::Registers;
use crate::code::{Instructions, Jump};

impl Instructions for Registers {
    const ALIGNMENT: usize = 2;

    #[inline]
    fn direct_call(bytes: &[u8], end: u64) -> Option<u64> {
        // brasl
        if let Some([0xc0, how, distance @ ..]) = bytes.last_chunk::<6>()
            && how & 15 == 5
        {
            return Some(target(end.wrapping_sub(6), i32::from_be_bytes(*distance)));
        }
        // bras
        match bytes.last_chunk::<4>() {
            Some([0xa7, how, distance @ ..]) if how & 15 == 5 => {
                let distance = i16::from_be_bytes(*distance);
                Some(target(end.wrapping_sub(4), distance.into()))
            }
            _ => None,
        }
    }

    fn is_indirect_call(bytes: &[u8], _: u64) -> bool {
        // basr, which calls nothing when its second register is 0; bas
        matches!(bytes, [.., 0x0d, registers] if registers & 15 != 0)
            || matches!(bytes, [.., 0x4d, _, _, _])
    }

    fn jump(bytes: &[u8], at: u64) -> Option<(Jump, usize)> {
        Some(match *bytes {
            // brcl
            [0xc0, how, a, b, c, d, ..] if how & 15 == 4 => {
                (Jump::To(target(at, i32::from_be_bytes([a, b, c, d]))), 6)
            }
            // brc
            [0xa7, how, a, b, ..] if how & 15 == 4 => {
                let distance = i16::from_be_bytes([a, b]);
                (Jump::To(target(at, distance.into())), 4)
            }
            // bcr; register 0 is no jump, and 14 is how functions return.
            [0x07, registers, ..] if !matches!(registers & 15, 0 | 14) => (Jump::Anywhere, 2),
            _ => return None,
        })
    }

    fn ends(bytes: &[u8]) -> bool {
        matches!(
            bytes,
            // br, j, jg; a call; what is no instruction
            [.., 0x07, 0xf0..=0xff]
                | [.., 0xa7, 0xf4, _, _]
                | [.., 0xc0, 0xf4 | 0xe5, _, _, _, _]
                | [.., 0x0d, 0xe1..=0xef]
                | [.., 0, 0]
        )
    }
}

fn target(at: u64, halfwords: i32) -> u64 {
    at.wrapping_add_signed(i64::from(halfwords).wrapping_mul(2))
}
