//! What an instruction does with the flow of control. Manual: Arm Architecture Reference Manual for ARMv7-A, chapters A5 and A6.

/// What an instruction does with the flow of control. Whether it does depends on its condition, which the machine tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// Nothing, or a jump to a known place.
    Other,
    /// Calls.
    Call,
    /// Goes to where a register or memory says: perhaps it returns.
    Indirect,
    /// Returns from an exception.
    TrapReturn,
}

/// An instruction, and its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) flow: Flow,
    pub(super) length: u64,
}

/// The instruction with these first bytes; `None` if there are too few.
pub(super) fn decode(bytes: &[u8], is_thumb: bool) -> Option<Instruction> {
    let word = u32::from_le_bytes(*bytes.first_chunk()?);
    if !is_thumb {
        return Some(Instruction {
            flow: arm(word),
            length: 4,
        });
    }
    let (first, second) = (word & 0xffff, word >> 16);
    let is_short = first >> 11 < 0b1_1101;
    Some(Instruction {
        flow: match is_short {
            true => short(first),
            false => long(first, second),
        },
        length: if is_short { 2 } else { 4 },
    })
}

/// Where a call in ARM code leads that names it.
pub(super) fn called(bytes: &[u8], pc: u64) -> Option<u64> {
    let word = u32::from_le_bytes(*bytes.first_chunk()?);
    let distance = i64::from((word << 8).cast_signed() >> 6);
    (word & 0x0f00_0000 == 0x0b00_0000 && word >> 28 != 15)
        .then(|| pc.wrapping_add(8).wrapping_add_signed(distance))
}

fn arm(word: u32) -> Flow {
    let rest = word & 0x0fff_ffff;
    match word >> 28 {
        // BLX to Thumb code; RFE.
        15 if word & 0x0e00_0000 == 0x0a00_0000 => Flow::Call,
        15 if word & 0x0e50_0000 == 0x0810_0000 => Flow::TrapReturn,
        15 => Flow::Other,
        _ if rest & 0x0f00_0000 == 0x0b00_0000 || rest & 0x0fff_fff0 == 0x012f_ff30 => Flow::Call,
        // BX; MOV pc; ADD pc; LDR pc; LDM with pc.
        _ if rest & 0x0fff_fff0 == 0x012f_ff10
            || rest & 0x0fff_fff0 == 0x01a0_f000
            || rest & 0x0ff0_f010 == 0x0080_f000
            || rest & 0x0c50_f000 == 0x0410_f000
            || rest & 0x0e10_8000 == 0x0810_8000 =>
        {
            Flow::Indirect
        }
        _ => Flow::Other,
    }
}

fn short(half: u32) -> Flow {
    match half {
        // BLX; BX; MOV pc; POP with pc.
        _ if half & 0xff87 == 0x4780 => Flow::Call,
        _ if half & 0xff87 == 0x4700 || half & 0xff87 == 0x4687 || half & 0xff00 == 0xbd00 => {
            Flow::Indirect
        }
        _ => Flow::Other,
    }
}

fn long(first: u32, second: u32) -> Flow {
    match first {
        // BL, BLX.
        _ if first & 0xf800 == 0xf000 && second & 0xc000 == 0xc000 => Flow::Call,
        // LDM with pc; LDR pc; TBB, TBH.
        _ if first & 0xfe50 == 0xe810 && second & 0x8000 != 0 => Flow::Indirect,
        _ if first & 0xff70 == 0xf850 && second & 0xf000 == 0xf000 => Flow::Indirect,
        _ if first & 0xfff0 == 0xe8d0 && second & 0xffe0 == 0xf000 => Flow::Indirect,
        _ => Flow::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_that_change_the_flow_are_known() {
        for (word, flow) in [
            (0xeb00_0000_u32, Flow::Call),   // bl
            (0xfa00_0000, Flow::Call),       // blx, to Thumb code
            (0xe12f_ff33, Flow::Call),       // blx r3
            (0xe12f_ff1e, Flow::Indirect),   // bx lr
            (0xe8bd_8800, Flow::Indirect),   // pop {r11, pc}
            (0xe49d_f004, Flow::Indirect),   // pop {pc}
            (0xe791_f100, Flow::Indirect),   // ldr pc, [r1, r0, lsl #2]
            (0xe1a0_f000, Flow::Indirect),   // mov pc, r0
            (0xf8bd_0a00, Flow::TrapReturn), // rfeia sp!
            (0xea00_0000, Flow::Other),      // b
            (0xe8bd_4800, Flow::Other),      // pop {r11, lr}
            (0xe92d_8000, Flow::Other),      // push {pc}
        ] {
            let found = decode(&word.to_le_bytes(), false);
            let wanted = Instruction { flow, length: 4 };
            assert_eq!(found, Some(wanted), "{word:#x}");
        }
        for (word, flow, length) in [
            (0xd000_f000_u32, Flow::Call, 4), // bl
            (0xe800_f000, Flow::Call, 4),     // blx, to ARM code
            (0x0000_4798, Flow::Call, 2),     // blx r3
            (0x0000_4770, Flow::Indirect, 2), // bx lr
            (0x0000_bd80, Flow::Indirect, 2), // pop {r7, pc}
            (0x8ff0_e8bd, Flow::Indirect, 4), // pop {r4-r11, pc}
            (0x0000_e7fe, Flow::Other, 2),    // b
            (0xb800_f000, Flow::Other, 4),    // b.w
        ] {
            let found = decode(&word.to_le_bytes(), true);
            assert_eq!(found, Some(Instruction { flow, length }), "{word:#x}");
        }
    }
}
