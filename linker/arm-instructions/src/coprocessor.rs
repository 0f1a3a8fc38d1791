//! Coprocessors, and floating point and vectors, which A32 and T32 have in the same bits. Manual: chapter A7 "Advanced SIMD and
//! Floating-point Instruction Encoding", and A5.6. Their own registers are not followed.

use super::bits::Bits;
use super::op::{Indexing, Op, PC, Place, Source};

/// Bytes that a store of structures writes at most.
const STRUCTURES: u8 = 64;

/// An instruction for a coprocessor, but for its condition.
pub(crate) fn decode(bits: Bits) -> Option<Op> {
    let is_vector = bits.get(9, 3) == 0b101;
    let to_core = bits.is(20);
    let unknown = |to| Op::Unknown { to, flags: false };
    match bits.get(24, 4) {
        // The vector extension of ARMv8.1-M has instructions here that write core registers.
        0b1110 if !bits.is(4) && bits.is(11) && !is_vector => None,
        0b1110 => Some(match (bits.is(4), to_core, bits.register(12)) {
            (true, true, PC) => Op::Flags,
            (true, true, _) => unknown(bits.mask(12)),
            _ => Op::Nothing,
        }),
        // Two registers at once.
        0b1100 if bits.get(21, 3) == 0b010 => Some(match to_core {
            true => unknown(bits.mask(12) | bits.mask(16)),
            false => Op::Nothing,
        }),
        0b1100 | 0b1101 if is_vector => access(bits),
        _ => None,
    }
}

/// An instruction of the second set of coprocessors: those of ARMv8 for floating point compute with its own registers.
pub(crate) fn unconditional(bits: Bits) -> Option<Op> {
    let computes = bits.get(24, 4) == 0b1110 && !bits.is(4) && bits.get(9, 3) == 0b101;
    computes.then_some(Op::Nothing)
}

/// Loads and stores of one register of floating point, and of several.
fn access(bits: Bits) -> Option<Op> {
    let size = bits.get(0, 8) << 2;
    let offset = Source::Constant(bits.offset(size, 23));
    let (loads, base) = (bits.is(20), bits.register(16));
    let (indexing, size) = match (bits.is(24), bits.is(23), bits.is(21)) {
        (true, _, false) => (Indexing::Offset, if bits.is(8) { 8 } else { 4 }),
        (true, false, true) => (Indexing::Pre, size),
        (false, true, true) => (Indexing::Post, size),
        (false, true, false) => {
            let place = Place {
                base,
                offset: Source::Constant(0),
                indexing: Indexing::Offset,
            };
            let size = u8::try_from(size).ok()?;
            return Some(Op::Other { loads, size, place });
        }
        _ => return None,
    };
    Some(Op::Other {
        loads,
        size: u8::try_from(size).ok()?,
        place: Place {
            base,
            offset,
            indexing,
        },
    })
}

/// Loads and stores of structures: the base is moved by their size or by a register, if at all.
pub(crate) fn structures(bits: Bits) -> Op {
    let (offset, indexing) = match bits.register(0) {
        PC => (Source::Constant(0), Indexing::Offset),
        _ => (Source::Other, Indexing::Post),
    };
    Op::Other {
        loads: bits.is(21),
        size: STRUCTURES,
        place: Place {
            base: bits.register(16),
            offset,
            indexing,
        },
    }
}
