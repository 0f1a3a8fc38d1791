//! Loads and stores, and branches by a table, which have their bits in common.

use super::super::bits::Bits;
use super::super::op::{Indexing, Op, PC, Place, Source};

/// A6.3.5.
pub(super) fn multiple(bits: Bits) -> Option<Op> {
    let (registers, loads) = (bits.get(0, 16) as u16, bits.is(20));
    let size = 4 * registers.count_ones().cast_signed();
    let (start, moved) = match bits.get(23, 2) {
        1 => (0, size),
        2 => (-size, -size),
        _ if loads => return Some(Op::InterruptReturn),
        // srs
        _ => return None,
    };
    (registers != 0).then_some(Op::Multiple {
        loads,
        base: bits.register(16),
        registers,
        start,
        moves: bits.is(21).then_some(moved),
        user: false,
    })
}

/// A6.3.6: two registers, exclusive accesses, and branches by a table.
pub(super) fn two(bits: Bits) -> Option<Op> {
    let (index, writes_back, loads) = (bits.is(24), bits.is(21), bits.is(20));
    let (base, first, second) = (bits.register(16), bits.register(12), bits.register(8));
    let words = bits.get(0, 8) << 2;
    if index || writes_back {
        return Some(Op::Pair {
            loads,
            registers: [first, second],
            place: Place {
                base,
                offset: Source::Constant(bits.offset(words, 23)),
                indexing: match (index, writes_back) {
                    (true, false) => Indexing::Offset,
                    (true, true) => Indexing::Pre,
                    (false, _) => Indexing::Post,
                },
            },
        });
    }
    let place = |offset| Place {
        base,
        offset: Source::Constant(offset),
        indexing: Indexing::Offset,
    };
    let load = |size, place| Op::Load {
        to: first,
        size,
        signed: false,
        place,
    };
    if !bits.is(23) {
        return Some(match loads {
            true => load(4, place(words)),
            false => Op::StoreExclusive {
                status: second,
                size: 4,
                place: place(words),
            },
        });
    }
    let store = |size| Op::StoreExclusive {
        status: bits.register(0),
        size,
        place: place(0),
    };
    Some(match (loads, bits.get(4, 4)) {
        (true, size @ (0 | 1)) => Op::Table {
            base,
            index: bits.register(0),
            size: 1 << size,
        },
        (true, 4 | 8 | 12) => load(1, place(0)),
        (true, 5 | 9 | 13) => load(2, place(0)),
        (true, 10 | 14) => load(4, place(0)),
        (true, 7 | 15) => Op::Pair {
            loads,
            registers: [first, second],
            place: place(0),
        },
        (false, size @ 8..=10) => Op::Store {
            from: first,
            size: 1 << (size - 8),
            place: place(0),
        },
        (false, 4 | 12) => store(1),
        (false, 5 | 13) => store(2),
        (false, 14) => store(4),
        (false, 7 | 15) => store(8),
        _ => return None,
    })
}

/// A6.3.7 to A6.3.10: loads and stores of one register.
pub(super) fn one(bits: Bits) -> Option<Op> {
    let (base, register, loads, signed) = (
        bits.register(16),
        bits.register(12),
        bits.is(20),
        bits.is(24),
    );
    let size = match bits.get(21, 2) {
        0 => 1,
        1 => 2,
        2 => 4,
        _ => return None,
    };
    let small = bits.get(0, 8);
    let (offset, indexing) = match (base, bits.is(23), bits.is(11)) {
        (PC, up, _) if loads => {
            let offset = bits.get(0, 12);
            let offset = if up { offset } else { offset.wrapping_neg() };
            (Source::Constant(offset), Indexing::Offset)
        }
        (_, true, _) => (Source::Constant(bits.get(0, 12)), Indexing::Offset),
        (_, false, true) => {
            let indexing = match (bits.is(10), bits.is(8)) {
                (true, false) => Indexing::Offset,
                (true, true) => Indexing::Pre,
                (false, true) => Indexing::Post,
                (false, false) => return None,
            };
            (Source::Constant(bits.offset(small, 9)), indexing)
        }
        (_, false, false) if bits.get(6, 5) == 0 => {
            let shift = bits.get(4, 2) as u8;
            (Source::Register(bits.register(0), shift), Indexing::Offset)
        }
        _ => return None,
    };
    let place = Place {
        base,
        offset,
        indexing,
    };
    Some(match loads {
        // pld, pli
        true if register == PC && size < 4 => match indexing {
            Indexing::Offset => Op::Nothing,
            _ => return None,
        },
        true => Op::Load {
            to: register,
            size,
            signed,
            place,
        },
        false => Op::Store {
            from: register,
            size,
            place,
        },
    })
}

#[cfg(test)]
mod tests {
    use crate::{Indexing, Op, Place, Source, decode_a32, decode_t32};

    const AT_R1: Place = Place {
        base: 1,
        offset: Source::Constant(0),
        indexing: Indexing::Offset,
    };

    fn a32(word: u32) -> Op {
        decode_a32(word, 0).unwrap().op
    }

    fn t32(first: u16, second: u16) -> Op {
        let [low, high] = first.to_le_bytes();
        let [third, fourth] = second.to_le_bytes();
        decode_t32(&[low, high, third, fourth], 0, false)
            .unwrap()
            .op
    }

    fn load(to: u8, size: u8) -> Op {
        Op::Load {
            to,
            size,
            signed: false,
            place: AT_R1,
        }
    }

    fn store(from: u8, size: u8) -> Op {
        Op::Store {
            from,
            size,
            place: AT_R1,
        }
    }

    fn exclusive(status: u8, size: u8) -> Op {
        Op::StoreExclusive {
            status,
            size,
            place: AT_R1,
        }
    }

    #[test]
    fn ordered_accesses_of_armv8_are_loads_and_stores() {
        // lda r0, [r1]; stl r0, [r1]; stlexb r2, r0, [r1]
        assert_eq!(a32(0xe191_0c9f), load(0, 4));
        assert_eq!(a32(0xe181_fc90), store(0, 4));
        assert_eq!(a32(0xe1c1_2e90), exclusive(2, 1));
        // ldah r0, [r1]; stl r0, [r1]; ldaex r4, [r1]; stlexd r2, r0, r3, [r1]
        assert_eq!(t32(0xe8d1, 0x0f9f), load(0, 2));
        assert_eq!(t32(0xe8c1, 0x0faf), store(0, 4));
        assert_eq!(t32(0xe8d1, 0x4fef), load(4, 4));
        assert_eq!(t32(0xe8c1, 0x03f2), exclusive(2, 8));
        // swp r0, r1, [r2]
        assert_eq!(decode_a32(0xe102_0091, 0), None);
    }

    #[test]
    fn floating_point_of_armv8_changes_no_general_register() {
        // vselvs.f32 s0, s1, s2
        assert_eq!(a32(0xfe10_0a81), Op::Nothing);
        assert_eq!(t32(0xfe10, 0x0a81), Op::Nothing);
        // mcr2
        assert_eq!(decode_a32(0xfe00_0f10, 0), None);
    }
}
