//! x86-64: calls and jumps in the bytes of code. Source: "Intel 64 and IA-32 Architectures Software Developer's Manual", volume
//! 2, CALL, JMP, Jcc, and tables 2-2 and 2-3 of the addressing forms.

use super::Registers;
use super::effect::effect;
use crate::code::{Effect, Instructions, Jump};

impl Instructions for Registers {
    const ALIGNMENT: usize = 1;

    #[inline]
    fn direct_call(bytes: &[u8], end: u64) -> Option<u64> {
        match bytes.last_chunk::<5>() {
            Some([0xe8, distance @ ..]) => Some(far(end, distance)),
            _ => None,
        }
    }

    fn is_indirect_call(bytes: &[u8], _: u64) -> bool {
        // Prefixes stand before the opcode, and change nothing behind it.
        (2..=7).any(|length: usize| {
            let start = bytes.len().checked_sub(length);
            let call = start.and_then(|start| bytes.get(start..));
            call.is_some_and(|call| indirect_call(call) == Some(length))
        })
    }

    fn jump(bytes: &[u8], at: u64) -> Option<(Jump, usize)> {
        let after = |length: u64| at.wrapping_add(length);
        Some(match *bytes {
            [0xe8, a, b, c, d, ..] => (Jump::Call(far(after(5), &[a, b, c, d])), 5),
            [0xe9, a, b, c, d, ..] => (Jump::To(far(after(5), &[a, b, c, d])), 5),
            [0x0f, 0x80..=0x8f, a, b, c, d, ..] => (Jump::To(far(after(6), &[a, b, c, d])), 6),
            [0xeb | 0x70..=0x7f, distance, ..] => {
                let distance = i64::from(distance.cast_signed());
                // Any two bytes can look like a short jump, as in `add rsp, 0x78` followed by `jmp`, so the search goes on with
                // the second byte. A distance of four bytes that leads to code is not taken for chance.
                (Jump::To(after(2).wrapping_add_signed(distance)), 1)
            }
            // FF /4 near, and /5 far, which has no form with a register.
            [0xff, modrm, ..] if modrm & 0x38 == 0x20 || modrm & 0x38 == 0x28 && modrm < 0xc0 => {
                (Jump::Anywhere, 1)
            }
            _ => return None,
        })
    }

    fn effect(bytes: &[u8], at: u64) -> Option<Effect> {
        effect(bytes, at)
    }

    fn ends(bytes: &[u8]) -> bool {
        matches!(
            bytes,
            // ret, int3, iret, hlt
            [.., 0xc3 | 0xcc | 0xcf | 0xf4]
                // ret with a number, jmp, call, ud2, sysret
                | [.., 0xc2, _, _]
                | [.., 0xeb, _]
                | [.., 0xe8 | 0xe9, _, _, _, _]
                | [.., 0x0f, 0x0b | 0x07]
                // jmp through a register
                | [.., 0xff, 0xe0..=0xe7]
        ) || Self::is_indirect_call(bytes, 0)
    }
}

fn far(after: u64, distance: &[u8; 4]) -> u64 {
    after.wrapping_add_signed(i32::from_le_bytes(*distance).into())
}

/// The length in bytes of the indirect call that `bytes` begin with: FF /2. A far call, FF /3, saves `cs` above the return address,
/// so no function that returns there by `ret` was called by one.
/// Not inlined, because six lengths are tried, and compilers make a copy for each.
#[inline(never)]
fn indirect_call(bytes: &[u8]) -> Option<usize> {
    let [0xff, modrm, rest @ ..] = bytes else {
        return None;
    };
    let (mode, operation, base) = (modrm >> 6, modrm >> 3 & 7, modrm & 7);
    if operation != 2 {
        return None;
    }
    // Without a base register there are four bytes of displacement, with a SIB byte too.
    let index = usize::from(mode != 3 && base == 4);
    let base = match rest {
        [sib, ..] if index == 1 => sib & 7,
        _ => base,
    };
    let displacement: usize = match (mode, base) {
        (0, 5) | (2, _) => 4,
        (1, _) => 1,
        _ => 0,
    };
    displacement.checked_add(index)?.checked_add(2)
}
