//! Fields of an instruction.

use super::super::value::Register;

/// The bits of an instruction.
#[derive(Clone, Copy)]
pub(super) struct Bits(pub(super) u32);

impl Bits {
    /// `width` bits from bit `low` on.
    pub(super) const fn get(self, low: u32, width: u32) -> u32 {
        self.0 >> low & ((1 << width) - 1)
    }

    pub(super) const fn is(self, number: u32) -> bool {
        self.get(number, 1) == 1
    }

    /// The number of a register.
    pub(super) const fn register(self, low: u32) -> Register {
        self.get(low, 4) as Register
    }

    /// A mask of one register.
    pub(super) const fn mask(self, low: u32) -> u16 {
        1 << self.get(low, 4)
    }

    /// `width` bits from bit `low` on, as a signed number.
    pub(super) const fn signed(self, low: u32, width: u32) -> i32 {
        let unused = 32 - width;
        (self.get(low, width) << unused).cast_signed() >> unused
    }

    /// A number that is added if the bit `up` is set, and otherwise subtracted.
    pub(super) const fn offset(self, number: u32, up: u32) -> u32 {
        match self.is(up) {
            true => number,
            false => number.wrapping_neg(),
        }
    }
}
