//! A32. Manual: Arm Architecture Reference Manual for ARMv7-A and ARMv7-R (DDI 0406), chapter A5 "ARM Instruction Set Encoding", whose order
//! this has.

use super::bits::Bits;
use super::coprocessor;
use super::op::{ALWAYS, Decoded, Indexing, Op, PC, Place, Source};

const LENGTH: u8 = 4;

/// Decodes the A32 instruction with these bits at an address. `None`: it is undefined, or its effect is not known.
#[must_use]
pub fn decode(word: u32, at: u32) -> Option<Decoded> {
    let bits = Bits(word);
    let (op, condition) = match bits.get(28, 4) {
        15 => (unconditional(bits, at)?, ALWAYS),
        condition => (conditional(bits, at)?, condition as u8),
    };
    Some(Decoded {
        op,
        length: LENGTH,
        condition,
    })
}

/// A5.2, bits 27 to 25.
fn conditional(bits: Bits, at: u32) -> Option<Op> {
    match bits.get(25, 3) {
        0 => match (
            bits.is(7) && bits.is(4),
            bits.get(23, 2) == 2 && !bits.is(20),
        ) {
            (true, _) if bits.get(5, 2) == 0 && !bits.is(24) => Some(multiply(bits)),
            (true, _) if bits.get(5, 2) == 0 => synchronize(bits),
            (true, _) => Some(extra_access(bits)),
            (false, true) if bits.is(7) => Some(halves(bits)),
            (false, true) => miscellaneous(bits),
            (false, false) => data(bits, shifted(bits)),
        },
        1 => match bits.get(20, 5) {
            0b1_0000 => Some(Op::Move {
                to: bits.register(12),
                from: Source::Constant(bits.get(16, 4) << 12 | bits.get(0, 12)),
                inverts: false,
                flags: false,
            }),
            0b1_0100 => Some(Op::Top {
                to: bits.register(12),
                half: (bits.get(16, 4) << 12 | bits.get(0, 12)) as u16,
            }),
            0b1_0010 | 0b1_0110 => Some(write_status(bits)),
            _ => data(bits, Source::Constant(constant(bits))),
        },
        2 => Some(access(
            bits,
            Source::Constant(bits.offset(bits.get(0, 12), 23)),
        )),
        3 if bits.is(4) => media(bits),
        3 => Some(access(bits, index(bits))),
        4 => multiple(bits),
        5 => {
            let to = at
                .wrapping_add(8)
                .wrapping_add_signed(bits.signed(0, 24) << 2);
            Some(if bits.is(24) {
                Op::Call(to)
            } else {
                Op::Jump(to)
            })
        }
        _ if bits.get(24, 4) == 15 => Some(Op::Supervisor),
        _ => coprocessor::decode(bits),
    }
}

/// A5.2.4: an immediate is rotated to the right by twice its upper four bits.
fn constant(bits: Bits) -> u32 {
    bits.get(0, 8).rotate_right(bits.get(8, 4) * 2)
}

fn shifted(bits: Bits) -> Source {
    match (bits.is(4), bits.get(5, 2)) {
        (false, 0) => Source::Register(bits.register(0), bits.get(7, 5) as u8),
        _ => Source::Other,
    }
}

/// A5.2.1 to A5.2.3.
fn data(bits: Bits, right: Source) -> Option<Op> {
    let (to, left, flags) = (bits.register(12), bits.register(16), bits.is(20));
    let opcode = bits.get(21, 4);
    if to == PC && !matches!(opcode, 8..=11) {
        return match (opcode, right, flags) {
            (_, _, true) => Some(Op::InterruptReturn),
            (13, Source::Register(from, 0), _) => Some(Op::JumpTo(from)),
            (4, ..) => Some(Op::Add {
                to,
                left,
                right,
                subtracts: false,
                flags,
            }),
            _ => None,
        };
    }
    Some(match opcode {
        0 | 14 => Op::And {
            to,
            left,
            right,
            clears: opcode == 14,
            flags,
        },
        2 | 4 => Op::Add {
            to,
            left,
            right,
            subtracts: opcode == 2,
            flags,
        },
        10 => Op::Compare(left, right),
        8 | 9 | 11 => Op::Flags,
        13 | 15 => Op::Move {
            to,
            from: right,
            inverts: opcode == 15,
            flags,
        },
        _ => Op::Unknown {
            to: bits.mask(12),
            flags,
        },
    })
}

/// A5.2.5.
fn multiply(bits: Bits) -> Op {
    let is_long = bits.is(23) || bits.get(21, 3) == 2;
    Op::Unknown {
        to: bits.mask(16) | if is_long { bits.mask(12) } else { 0 },
        flags: bits.is(20),
    }
}

/// A5.2.7.
fn halves(bits: Bits) -> Op {
    let is_long = bits.get(21, 2) == 2;
    Op::Unknown {
        to: bits.mask(16) | if is_long { bits.mask(12) } else { 0 },
        flags: false,
    }
}

/// A5.2.10, and the ordered accesses of ARMv8. Swaps are not known.
fn synchronize(bits: Bits) -> Option<Op> {
    let is_exclusive = matches!(bits.get(8, 4), 14 | 15);
    if !bits.is(23) || !is_exclusive && bits.get(8, 4) != 12 {
        return None;
    }
    let place = Place {
        base: bits.register(16),
        offset: Source::Constant(0),
        indexing: Indexing::Offset,
    };
    let size = match bits.get(21, 2) {
        0 => 4,
        1 => 8,
        2 => 1,
        _ => 2,
    };
    let to = bits.register(12);
    Some(match (bits.is(20), size) {
        (_, 8) if !is_exclusive => return None,
        (false, _) if !is_exclusive => Op::Store {
            from: bits.register(0),
            size,
            place,
        },
        (false, _) => Op::StoreExclusive {
            status: to,
            size,
            place,
        },
        (true, 8) if to.is_multiple_of(2) && to < 14 => Op::Pair {
            loads: true,
            registers: [to, to + 1],
            place,
        },
        (true, 8) => return None,
        (true, _) => Op::Load {
            to,
            size,
            signed: false,
            place,
        },
    })
}

/// Whether and when the base register is moved, of a load or store.
fn indexing(bits: Bits) -> Indexing {
    match (bits.is(24), bits.is(21)) {
        (false, _) => Indexing::Post,
        (true, false) => Indexing::Offset,
        (true, true) => Indexing::Pre,
    }
}

/// A5.2.8 and A5.2.9: half words, and two registers.
fn extra_access(bits: Bits) -> Op {
    let offset = match bits.is(22) {
        true => Source::Constant(bits.offset(bits.get(8, 4) << 4 | bits.get(0, 4), 23)),
        false if bits.is(23) => Source::Register(bits.register(0), 0),
        false => Source::Other,
    };
    let (to, loads) = (bits.register(12), bits.is(20));
    let place = Place {
        base: bits.register(16),
        offset,
        indexing: indexing(bits),
    };
    match (bits.get(5, 2), loads) {
        (1, false) => Op::Store {
            from: to,
            size: 2,
            place,
        },
        (kind, true) => Op::Load {
            to,
            size: if kind == 2 { 1 } else { 2 },
            signed: kind != 1,
            place,
        },
        (kind, false) => Op::Pair {
            loads: kind == 2,
            registers: [to, (to + 1) & 15],
            place,
        },
    }
}

/// A5.2.12.
fn miscellaneous(bits: Bits) -> Option<Op> {
    let (operation, register) = (bits.get(21, 2), bits.register(0));
    Some(match (bits.get(4, 3), operation) {
        // Registers of other modes.
        (0, _) if bits.is(9) => return None,
        (0, 0 | 2) => Op::Unknown {
            to: bits.mask(12),
            flags: false,
        },
        (0, _) => write_status(bits),
        (1, 1) => Op::JumpTo(register),
        (3, 1) => Op::CallTo(register),
        // crc32 is among these.
        (1, 3) | (4, 0..=2) | (5, _) => Op::Unknown {
            to: bits.mask(12),
            flags: false,
        },
        (6, 3) => Op::InterruptReturn,
        // bkpt, after which a debugger or a handler continues; hlt, by which semihosting is called; hvc, smc.
        (7, 1) => Op::Breakpoint,
        (7, _) => Op::Supervisor,
        _ => return None,
    })
}

/// A5.2.11 and B9.3.11: a write of a status register, or a hint.
fn write_status(bits: Bits) -> Op {
    let (is_saved, fields) = (bits.is(22), bits.get(16, 4));
    match (is_saved, fields & 1) {
        _ if fields == 0 || is_saved => Op::Nothing,
        (_, 0) => Op::Flags,
        _ => Op::Mode,
    }
}

/// A5.3, of words and bytes.
fn access(bits: Bits, offset: Source) -> Op {
    let size = if bits.is(22) { 1 } else { 4 };
    let place = Place {
        base: bits.register(16),
        offset,
        indexing: indexing(bits),
    };
    let register = bits.register(12);
    match bits.is(20) {
        true => Op::Load {
            to: register,
            size,
            signed: false,
            place,
        },
        false => Op::Store {
            from: register,
            size,
            place,
        },
    }
}

/// The register that is the offset of such an access.
fn index(bits: Bits) -> Source {
    match (bits.get(5, 2), bits.is(23)) {
        (0, true) => Source::Register(bits.register(0), bits.get(7, 5) as u8),
        _ => Source::Other,
    }
}

/// A5.4.
fn media(bits: Bits) -> Option<Op> {
    let second = bits.get(5, 3);
    let to = match bits.get(20, 5) {
        0b0_1110 | 0b0_1111 if second == 3 && bits.register(16) == PC && bits.get(10, 2) == 0 => {
            return Some(Op::Low {
                to: bits.register(12),
                from: bits.register(0),
                bits: if bits.is(20) { 16 } else { 8 },
            });
        }
        // bfc, which aligns the stack pointer.
        0b1_1100 | 0b1_1101 if second & 3 == 0 && bits.register(0) == PC => {
            return Bits::clear(bits.register(12), bits.get(7, 5), bits.get(16, 5));
        }
        0b0_0000..=0b0_1111 | 0b1_1010..=0b1_1110 => bits.mask(12),
        0b1_1111 if second == 7 => return Some(Op::Trap),
        0b1_1111 => bits.mask(12),
        0b1_0100 => bits.mask(12) | bits.mask(16),
        0b1_0000 | 0b1_0001 | 0b1_0011 | 0b1_0101 | 0b1_1000 => bits.mask(16),
        _ => return None,
    };
    Some(Op::Unknown { to, flags: false })
}

/// A5.5, loads and stores of several registers.
fn multiple(bits: Bits) -> Option<Op> {
    let (registers, loads, user) = (bits.get(0, 16) as u16, bits.is(20), bits.is(22));
    let returns = loads && registers >> PC != 0;
    if user && returns {
        return Some(Op::InterruptReturn);
    }
    let (up, before) = (bits.is(23), bits.is(24));
    let size = 4 * registers.count_ones().cast_signed();
    let start = match (up, before) {
        (true, false) => 0,
        (true, true) => 4,
        (false, false) => 4 - size,
        (false, true) => -size,
    };
    let moves = bits.is(21).then_some(if up { size } else { -size });
    (registers != 0 && !(user && moves.is_some())).then_some(Op::Multiple {
        loads,
        base: bits.register(16),
        registers,
        start,
        moves,
        user,
    })
}

/// A5.7.
fn unconditional(bits: Bits, at: u32) -> Option<Op> {
    match bits.get(20, 8) {
        // cps; not setend, after which data has another byte order.
        0x10 if bits.is(16) => None,
        0x10 => Some(if bits.is(17) { Op::Mode } else { Op::Nothing }),
        0x20..=0x3f => Some(Op::Nothing),
        0x40..=0x4f if !bits.is(20) => Some(coprocessor::structures(bits)),
        // clrex, dsb, dmb, isb, sb.
        0x57 if matches!(bits.get(4, 4), 1 | 4..=7) => Some(Op::Nothing),
        // pld, pldw, pli.
        0x41 | 0x45 | 0x49 | 0x4d | 0x51 | 0x55 | 0x59 | 0x5d if bits.register(12) == PC => {
            Some(Op::Nothing)
        }
        0x61 | 0x65 | 0x69 | 0x6d | 0x71 | 0x75 | 0x79 | 0x7d
            if bits.register(12) == PC && !bits.is(4) =>
        {
            Some(Op::Nothing)
        }
        // rfe
        0x80..=0x9f if bits.is(20) && !bits.is(22) => Some(Op::InterruptReturn),
        0xa0..=0xbf => {
            let to = at
                .wrapping_add(8)
                .wrapping_add_signed(bits.signed(0, 24) << 2);
            Some(Op::Call(to.wrapping_add(bits.get(24, 1) << 1)))
        }
        0xe0..=0xef => coprocessor::unconditional(bits),
        _ => None,
    }
}
