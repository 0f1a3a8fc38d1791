//! Fields of an instruction.

use super::op::{Op, Register, Source};

/// The bits of an instruction.
#[derive(Clone, Copy)]
pub(crate) struct Bits(pub(crate) u32);

impl Bits {
    /// `width` bits from bit `low` on.
    pub(crate) const fn get(self, low: u32, width: u32) -> u32 {
        self.0 >> low & ((1 << width) - 1)
    }

    pub(crate) const fn is(self, number: u32) -> bool {
        self.get(number, 1) == 1
    }

    /// The number of a register.
    pub(crate) const fn register(self, low: u32) -> Register {
        self.get(low, 4) as Register
    }

    /// A mask of one register.
    pub(crate) const fn mask(self, low: u32) -> u16 {
        1 << self.get(low, 4)
    }

    /// `width` bits from bit `low` on, as a signed number.
    pub(crate) const fn signed(self, low: u32, width: u32) -> i32 {
        let unused = 32 - width;
        (self.get(low, width) << unused).cast_signed() >> unused
    }

    /// `bfc`, which clears the bits from one to another: no instruction if they are in the wrong order.
    pub(crate) const fn clear(to: Register, lowest: u32, highest: u32) -> Option<Op> {
        if highest < lowest {
            return None;
        }
        let mask = u32::MAX >> (31 - (highest - lowest)) << lowest;
        Some(Op::And {
            to,
            left: to,
            right: Source::Constant(mask),
            clears: true,
            flags: false,
        })
    }

    /// A number that is added if the bit `up` is set, and otherwise subtracted.
    pub(crate) const fn offset(self, number: u32, up: u32) -> u32 {
        match self.is(up) {
            true => number,
            false => number.wrapping_neg(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Op, Register, Source, decode_a32, decode_t32};

    fn cleared(op: Op) -> (Register, u32) {
        match op {
            Op::And {
                to,
                left,
                right: Source::Constant(mask),
                clears: true,
                ..
            } if to == left => (to, mask),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn bfc_clears_the_bits_of_its_range() {
        // bfc sp, #0, #4
        let a32 = decode_a32(0xe7c3_d01f, 0).unwrap();
        assert_eq!(cleared(a32.op), (13, 15));
        // bfc r4, #3, #29
        let t32 = decode_t32(&[0x6f, 0xf3, 0xdf, 0x04], 0, false).unwrap();
        assert_eq!(cleared(t32.op), (4, !7));
        // bfi r0, r1, #3, #5
        let inserted = decode_a32(0xe7c7_0191, 0).unwrap();
        assert!(matches!(inserted.op, Op::Unknown { to: 1, .. }));
    }

    #[test]
    fn t32_writes_of_special_registers_may_change_the_stack_pointer() {
        // msr msp, r0
        let special = decode_t32(&[0x80, 0xf3, 0x08, 0x88], 0, false).unwrap();
        assert_eq!(special.op, Op::Mode);
        // msr apsr_nzcvq, r0
        let flags = decode_t32(&[0x80, 0xf3, 0x00, 0x88], 0, false).unwrap();
        assert_eq!(flags.op, Op::Flags);
    }
}
