//! T32, instructions of 32 bits. Manual: Arm Architecture Reference Manual for ARMv7-A and ARMv7-R (DDI 0406), A6.3 "32-bit Thumb instruction
//! encoding", whose order this has. Bits are numbered as in the manual's page of each instruction, those of the first half from 16 on.

use super::bits::Bits;
use super::coprocessor;
use super::op::{ALWAYS, Decoded, Op, PC, SP, Source};
use super::t16;

mod accesses;

/// Decodes the T32 instruction at the start of `code`, whose address is `at`. In a block of conditional instructions fewer of them set the
/// flags. The block has the condition, so that the result has only a branch's own. `None`: as for A32.
#[must_use]
pub fn decode(code: &[u8], at: u32, is_in_block: bool) -> Option<Decoded> {
    let first = u16::from_le_bytes(*code.first_chunk()?);
    if length(first) == 2 {
        let (op, condition) = t16::decode(first, at, is_in_block)?;
        return Some(Decoded {
            op,
            length: 2,
            condition,
        });
    }
    let second = u16::from_le_bytes(*code.get(2..)?.first_chunk()?);
    let bits = Bits(u32::from(first) << 16 | u32::from(second));
    let (op, condition) = match (bits.get(27, 2), bits.is(15)) {
        (2, true) => control(bits, at)?,
        (1, _) => (first_group(bits)?, ALWAYS),
        (2, false) => (immediate(bits)?, ALWAYS),
        _ => (last_group(bits)?, ALWAYS),
    };
    Some(Decoded {
        op,
        length: 4,
        condition,
    })
}

/// Length, in bytes, of the T32 instruction whose first half is `first`.
#[must_use]
pub const fn length(first: u16) -> u8 {
    if first >> 11 >= 0b1_1101 { 4 } else { 2 }
}

/// A6.3, op1 01.
fn first_group(bits: Bits) -> Option<Op> {
    match (bits.is(26), bits.is(25), bits.is(22)) {
        (true, ..) => vectors(bits),
        // The conditional selections of ARMv8.1-M have this bit.
        (false, true, _) if bits.is(15) => None,
        (false, true, _) => {
            let shift = bits.get(12, 3) << 2 | bits.get(6, 2);
            let right = match bits.get(4, 2) {
                0 => Source::Register(bits.register(0), shift as u8),
                _ => Source::Other,
            };
            data(bits, right)
        }
        (false, false, false) => accesses::multiple(bits),
        (false, false, true) => accesses::two(bits),
    }
}

/// A6.3.1 and A6.3.11: arithmetic and logic.
fn data(bits: Bits, right: Source) -> Option<Op> {
    let (to, left, flags) = (bits.register(8), bits.register(16), bits.is(20));
    // The shifts of 64 bits of ARMv8.1-M, which write two registers.
    if bits.get(21, 4) == 2 && flags && matches!(bits.register(0), SP | PC) && is_register(bits) {
        return None;
    }
    Some(match (bits.get(21, 4), to, left) {
        (13, PC, _) if flags => Op::Compare(left, right),
        (0 | 4 | 8, PC, _) if flags => Op::Flags,
        (_, PC, _) => return None,
        (2, _, PC) => Op::Move {
            to,
            from: right,
            inverts: false,
            flags,
        },
        (3, _, PC) => Op::Move {
            to,
            from: right,
            inverts: true,
            flags,
        },
        (operation @ (0 | 1), ..) => Op::And {
            to,
            left,
            right,
            clears: operation == 1,
            flags,
        },
        (operation @ (8 | 13), ..) => Op::Add {
            to,
            left,
            right,
            subtracts: operation == 13,
            flags,
        },
        _ => Op::Unknown {
            to: bits.mask(8),
            flags,
        },
    })
}

/// Whether the second source of an instruction of that group is a register, and no constant.
fn is_register(bits: Bits) -> bool {
    bits.get(27, 2) == 1
}

/// A6.3.1 to A6.3.3.
fn immediate(bits: Bits) -> Option<Op> {
    let number = bits.get(26, 1) << 11 | bits.get(12, 3) << 8 | bits.get(0, 8);
    if !bits.is(25) {
        return data(bits, Source::Constant(expand(number)));
    }
    let (to, left) = (bits.register(8), bits.register(16));
    let half = bits.get(16, 4) << 12 | number;
    if to == PC {
        return None;
    }
    Some(match bits.get(20, 5) {
        0b0_0000 | 0b0_1010 => Op::Add {
            to,
            left,
            right: Source::Constant(number),
            subtracts: bits.is(21),
            flags: false,
        },
        0b0_0100 => Op::Move {
            to,
            from: Source::Constant(half),
            inverts: false,
            flags: false,
        },
        0b0_1100 => Op::Top {
            to,
            half: half as u16,
        },
        // bfc, as in A32.
        0b1_0110 if left == PC => {
            let lowest = bits.get(12, 3) << 2 | bits.get(6, 2);
            return Bits::clear(to, lowest, bits.get(0, 5));
        }
        0b1_0000..=0b1_1110 => Op::Unknown {
            to: bits.mask(8),
            flags: false,
        },
        _ => return None,
    })
}

/// A6.3.2.
const fn expand(number: u32) -> u32 {
    let byte = number & 0xff;
    match number >> 8 & 15 {
        0 => byte,
        1 => byte << 16 | byte,
        2 => byte << 24 | byte << 8,
        3 => byte << 24 | byte << 16 | byte << 8 | byte,
        _ => (byte & 0x7f | 0x80).rotate_right(number >> 7 & 31),
    }
}

/// A6.3.4: branches and control.
fn control(bits: Bits, at: u32) -> Option<(Op, u8)> {
    let after = at.wrapping_add(4);
    let op = match (bits.is(14), bits.is(12)) {
        (true, true) => Op::Call(after.wrapping_add_signed(distance(bits))),
        // The loops and branches of ARMv8.1-M.
        (true, false) if bits.is(0) => return None,
        // To ARM code.
        (true, false) => Op::Call((after & !3).wrapping_add_signed(distance(bits) & !3)),
        (false, true) => Op::Jump(after.wrapping_add_signed(distance(bits))),
        (false, false) if bits.get(23, 3) != 7 => {
            let far = bits.get(26, 1) << 19
                | bits.get(11, 1) << 18
                | bits.get(13, 1) << 17
                | bits.get(16, 6) << 11
                | bits.get(0, 11);
            let distance = Bits(far).signed(0, 20) << 1;
            let condition = bits.get(22, 4) as u8;
            return Some((Op::Jump(after.wrapping_add_signed(distance)), condition));
        }
        (false, false) => match bits.get(20, 7) {
            0b011_1000 | 0b011_1001 if bits.is(5) => return None,
            // On a microcontroller: of a special register by its number, which may be a stack pointer, or select one.
            0b011_1000 if bits.get(0, 8) != 0 => Op::Mode,
            0b011_1000 => match bits.get(8, 4) & 1 {
                0 => Op::Flags,
                _ => Op::Mode,
            },
            0b011_1001 | 0b011_1011 => Op::Nothing,
            0b011_1010 if bits.is(8) => Op::Mode,
            // pac, pacbti: the result is in r12.
            0b011_1010 if matches!(bits.get(0, 8), 0x0d | 0x1d) => Op::Unknown {
                to: 1 << 12,
                flags: false,
            },
            0b011_1010 => Op::Nothing,
            0b011_1101 => Op::InterruptReturn,
            0b011_1110 | 0b011_1111 if !bits.is(5) => Op::Unknown {
                to: bits.mask(8),
                flags: false,
            },
            0b111_1110 => Op::Supervisor,
            0b111_1111 if bits.is(13) => Op::Trap,
            0b111_1111 => Op::Supervisor,
            _ => return None,
        },
    };
    Some((op, ALWAYS))
}

/// The distance of a branch: a sign, two bits that are stored inverted if it is positive, ten bits, eleven bits, a zero.
fn distance(bits: Bits) -> i32 {
    let sign = bits.get(26, 1);
    let [upper, lower] = [13, 11].map(|at| (bits.get(at, 1) ^ sign ^ 1) & 1);
    let number =
        sign << 24 | upper << 23 | lower << 22 | bits.get(16, 10) << 12 | bits.get(0, 11) << 1;
    Bits(number).signed(0, 25)
}

/// A6.3, op1 11.
fn last_group(bits: Bits) -> Option<Op> {
    if bits.is(26) {
        return vectors(bits);
    }
    match (bits.get(24, 2), bits.is(20)) {
        (0, _) | (1, true) => accesses::one(bits),
        (1, false) => Some(coprocessor::structures(bits)),
        (2, _) => data_of_registers(bits),
        _ => Some(multiply(bits)),
    }
}

/// A6.3.18: coprocessors, floating point, vectors.
fn vectors(bits: Bits) -> Option<Op> {
    match bits.get(24, 4) {
        0b1111 => Some(Op::Nothing),
        _ if bits.is(28) => coprocessor::unconditional(bits),
        _ => coprocessor::decode(bits),
    }
}

/// A6.3.12 to A6.3.15.
fn data_of_registers(bits: Bits) -> Option<Op> {
    let (to, from) = (bits.register(8), bits.register(0));
    if bits.get(12, 4) != 15 || to == PC {
        return None;
    }
    let extends = bits.is(7) && !bits.is(23) && bits.register(16) == PC && bits.get(4, 2) == 0;
    Some(match (bits.get(20, 4), extends) {
        (kind @ (1 | 5), true) => Op::Low {
            to,
            from,
            bits: if kind == 1 { 16 } else { 8 },
        },
        (kind, _) => Op::Unknown {
            to: bits.mask(8),
            flags: kind & 1 != 0 && !bits.is(7),
        },
    })
}

/// A6.3.16 and A6.3.17.
fn multiply(bits: Bits) -> Op {
    let upper = match bits.is(23) && bits.register(12) != PC {
        true => bits.mask(12),
        false => 0,
    };
    Op::Unknown {
        to: bits.mask(8) | upper,
        flags: false,
    }
}
