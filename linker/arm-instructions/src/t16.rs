//! T32, instructions of 16 bits. Manual: Arm Architecture Reference Manual for ARMv7-A and ARMv7-R (DDI 0406), A6.2 "16-bit Thumb instruction
//! encoding", whose order this has.

use super::bits::Bits;
use super::op::{ALWAYS, Indexing, LR, Op, PC, Place, Register, SP, Source};

/// What the instruction does, and under which condition, if its bits say so. Within a block of conditional instructions it does not set
/// flags, unless it compares.
pub(crate) fn decode(half: u16, at: u32, is_in_block: bool) -> Option<(Op, u8)> {
    let bits = Bits(half.into());
    let flags = !is_in_block;
    let op = match bits.get(10, 6) {
        0b00_0000..=0b00_1111 => immediate(bits, flags),
        0b01_0000 => data(bits, flags),
        0b01_0001 => special(bits),
        0b01_0010 | 0b01_0011 => load(low(bits, 8), 4, false, constant(PC, bits.get(0, 8) << 2)),
        0b01_0100..=0b01_0111 => indexed(bits),
        0b01_1000..=0b10_0111 => access(bits),
        0b10_1000..=0b10_1011 => Op::Add {
            to: low(bits, 8),
            left: if bits.is(11) { SP } else { PC },
            right: Source::Constant(bits.get(0, 8) << 2),
            subtracts: false,
            flags: false,
        },
        0b10_1100..=0b10_1111 => miscellaneous(bits, at)?,
        0b11_0000..=0b11_0011 => multiple(bits),
        0b11_0100..=0b11_0111 => {
            let to = at
                .wrapping_add(4)
                .wrapping_add_signed(bits.signed(0, 8) << 1);
            return Some(match bits.get(8, 4) {
                14 => (Op::Trap, ALWAYS),
                15 => (Op::Supervisor, ALWAYS),
                condition => (Op::Jump(to), condition as u8),
            });
        }
        0b11_1000 | 0b11_1001 => Op::Jump(
            at.wrapping_add(4)
                .wrapping_add_signed(bits.signed(0, 11) << 1),
        ),
        _ => return None,
    };
    Some((op, ALWAYS))
}

/// One of `r0` to `r7`.
fn low(bits: Bits, from: u32) -> Register {
    bits.get(from, 3) as Register
}

fn constant(base: Register, offset: u32) -> Place {
    Place {
        base,
        offset: Source::Constant(offset),
        indexing: Indexing::Offset,
    }
}

fn load(to: Register, size: u8, signed: bool, place: Place) -> Op {
    Op::Load {
        to,
        size,
        signed,
        place,
    }
}

fn store(from: Register, size: u8, place: Place) -> Op {
    Op::Store { from, size, place }
}

/// A6.2.1: with an immediate, or of three registers.
fn immediate(bits: Bits, flags: bool) -> Op {
    let (to, upper) = (low(bits, 0), low(bits, 8));
    let add = |to, left, right, subtracts| Op::Add {
        to,
        left,
        right,
        subtracts,
        flags,
    };
    let byte = Source::Constant(bits.get(0, 8));
    let copy = |to, from| Op::Move {
        to,
        from,
        inverts: false,
        flags,
    };
    match bits.get(11, 3) {
        0 => copy(to, Source::Register(low(bits, 3), bits.get(6, 5) as u8)),
        1 | 2 => copy(to, Source::Other),
        3 => {
            let right = match bits.is(10) {
                true => Source::Constant(bits.get(6, 3)),
                false => Source::Register(low(bits, 6), 0),
            };
            add(to, low(bits, 3), right, bits.is(9))
        }
        4 => copy(upper, byte),
        5 => Op::Compare(upper, byte),
        6 => add(upper, upper, byte, false),
        _ => add(upper, upper, byte, true),
    }
}

/// A6.2.2.
fn data(bits: Bits, flags: bool) -> Op {
    let (to, right) = (low(bits, 0), Source::Register(low(bits, 3), 0));
    match bits.get(6, 4) {
        operation @ (0 | 14) => Op::And {
            to,
            left: to,
            right,
            clears: operation == 14,
            flags,
        },
        10 => Op::Compare(to, right),
        8 | 11 => Op::Flags,
        15 => Op::Move {
            to,
            from: right,
            inverts: true,
            flags,
        },
        _ => Op::Unknown { to: 1 << to, flags },
    }
}

/// A6.2.3: of all registers, and branches to one.
fn special(bits: Bits) -> Op {
    let to = (bits.get(7, 1) << 3 | bits.get(0, 3)) as Register;
    let from = bits.register(3);
    let right = Source::Register(from, 0);
    match (bits.get(8, 2), bits.is(7)) {
        (0, _) => Op::Add {
            to,
            left: to,
            right,
            subtracts: false,
            flags: false,
        },
        (1, _) => Op::Compare(to, right),
        (2, _) if to == PC => Op::JumpTo(from),
        (2, _) => Op::Move {
            to,
            from: right,
            inverts: false,
            flags: false,
        },
        (_, false) => Op::JumpTo(from),
        (_, true) => Op::CallTo(from),
    }
}

/// A6.2.4: with a register as offset.
fn indexed(bits: Bits) -> Op {
    let place = Place {
        base: low(bits, 3),
        offset: Source::Register(low(bits, 6), 0),
        indexing: Indexing::Offset,
    };
    let register = low(bits, 0);
    match bits.get(9, 3) {
        0 => store(register, 4, place),
        1 => store(register, 2, place),
        2 => store(register, 1, place),
        3 => load(register, 1, true, place),
        4 => load(register, 4, false, place),
        5 => load(register, 2, false, place),
        6 => load(register, 1, false, place),
        _ => load(register, 2, true, place),
    }
}

/// A6.2.4: with an immediate as offset.
fn access(bits: Bits) -> Op {
    let (offset, loads) = (bits.get(6, 5), bits.is(11));
    let (register, size, place) = match bits.get(12, 4) {
        6 => (low(bits, 0), 4, constant(low(bits, 3), offset << 2)),
        7 => (low(bits, 0), 1, constant(low(bits, 3), offset)),
        8 => (low(bits, 0), 2, constant(low(bits, 3), offset << 1)),
        _ => (low(bits, 8), 4, constant(SP, bits.get(0, 8) << 2)),
    };
    match loads {
        true => load(register, size, false, place),
        false => store(register, size, place),
    }
}

/// A6.2.5.
fn miscellaneous(bits: Bits, at: u32) -> Option<Op> {
    let (to, list) = (low(bits, 0), bits.get(0, 8) as u16);
    Some(match bits.get(8, 4) {
        0 => Op::Add {
            to: SP,
            left: SP,
            right: Source::Constant(bits.get(0, 7) << 2),
            subtracts: bits.is(7),
            flags: false,
        },
        1 | 3 | 9 | 11 => {
            let distance = bits.get(9, 1) << 6 | bits.get(3, 5) << 1;
            Op::JumpIf(at.wrapping_add(4).wrapping_add(distance))
        }
        2 => match bits.get(6, 2) {
            kind @ (2 | 3) => Op::Low {
                to,
                from: low(bits, 3),
                bits: if kind == 2 { 16 } else { 8 },
            },
            _ => Op::Unknown {
                to: 1 << to,
                flags: false,
            },
        },
        4 | 5 => several(false, list | if bits.is(8) { 1 << LR } else { 0 })?,
        12 | 13 => several(true, list | if bits.is(8) { 1 << PC } else { 0 })?,
        // cps, which has no mode here; not setend, after which data has another byte order.
        6 if bits.get(5, 3) == 3 => Op::Nothing,
        10 if bits.get(6, 2) != 2 => Op::Unknown {
            to: 1 << to,
            flags: false,
        },
        // hlt and bkpt, as in A32.
        10 => Op::Supervisor,
        14 => Op::Breakpoint,
        15 if bits.get(0, 4) != 0 => Op::If(bits.get(0, 8) as u8),
        15 => Op::Nothing,
        _ => return None,
    })
}

/// push and pop.
fn several(loads: bool, registers: u16) -> Option<Op> {
    let size = 4 * registers.count_ones().cast_signed();
    (registers != 0).then_some(Op::Multiple {
        loads,
        base: SP,
        registers,
        start: if loads { 0 } else { -size },
        moves: Some(if loads { size } else { -size }),
        user: false,
    })
}

/// A6.2, stm and ldm.
fn multiple(bits: Bits) -> Op {
    let (base, registers, loads) = (low(bits, 8), bits.get(0, 8) as u16, bits.is(11));
    let size = 4 * registers.count_ones().cast_signed();
    let stays = loads && registers >> base & 1 != 0;
    Op::Multiple {
        loads,
        base,
        registers,
        start: 0,
        moves: (!stays).then_some(size),
        user: false,
    }
}
