//! A row's rules in two words each: how look-ups answer and walks compute. One comparison recognises each of the few rules that
//! nearly all rows consist of.

use core::fmt;

use crate::row::{Base, Row, Rule};

/// The three rules of a row, which lead from a function's registers to its caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    pub(crate) cfa: Packed,
    pub(crate) return_address: Packed,
    pub(crate) frame_pointer: Packed,
}

impl Rules {
    /// Those of an outermost function.
    pub(crate) const NO_CALLER: Self = Self {
        cfa: Packed::new(Rule::Undefined),
        return_address: Packed::new(Rule::Undefined),
        frame_pointer: Packed::new(Rule::Undefined),
    };

    /// The rules for the canonical frame address, the return address and the caller's frame pointer: see [`Row`].
    #[must_use]
    pub const fn new(cfa: Rule, return_address: Rule, frame_pointer: Rule) -> Self {
        Self {
            cfa: Packed::new(cfa),
            return_address: Packed::new(return_address),
            frame_pointer: Packed::new(frame_pointer),
        }
    }

    /// As [`Row::cfa`].
    #[must_use]
    pub const fn cfa(&self) -> Rule {
        self.cfa.rule()
    }

    /// As [`Row::return_address`].
    #[must_use]
    pub const fn return_address(&self) -> Rule {
        self.return_address.rule()
    }

    /// As [`Row::frame_pointer`].
    #[must_use]
    pub const fn frame_pointer(&self) -> Rule {
        self.frame_pointer.rule()
    }

    /// As [`Row::is_outermost`].
    #[must_use]
    pub const fn is_outermost(&self) -> bool {
        self.return_address.is(Packed::UNDEFINED)
    }
}

impl From<&Row> for Rules {
    fn from(row: &Row) -> Self {
        Self::new(row.cfa, row.return_address, row.frame_pointer)
    }
}

/// A [`Rule`], packed. Bits 0 and 1 of the code are its kind, and 2 and 3 its base, whose register is in the upper half.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packed {
    code: u64,
    /// 0 if the rule has none.
    pub(crate) offset: i64,
}

/// The bits of a code without the register of its base.
const CODE: u32 = 4;
const KIND: u64 = 3;
pub(crate) const SAME: u64 = 0;
pub(crate) const UNDEFINED: u64 = 1;
pub(crate) const VALUE: u64 = 2;
pub(crate) const SAVED: u64 = 3;

pub(crate) const CFA: u64 = 0;
pub(crate) const STACK_POINTER: u64 = 1;
pub(crate) const FRAME_POINTER: u64 = 2;
pub(crate) const REGISTER: u64 = 3;

const fn code(kind: u64, base: u64) -> u64 {
    kind | base << 2
}

impl Packed {
    /// Codes, for [`Self::is`].
    pub(crate) const SAME: u64 = SAME;
    pub(crate) const UNDEFINED: u64 = UNDEFINED;
    pub(crate) const SAVED_AT_CFA: u64 = code(SAVED, CFA);
    pub(crate) const FROM_STACK_POINTER: u64 = code(VALUE, STACK_POINTER);
    pub(crate) const FROM_FRAME_POINTER: u64 = code(VALUE, FRAME_POINTER);

    /// The value is still in its register.
    #[inline(always)]
    pub(crate) const fn same() -> Self {
        Self {
            code: Self::SAME,
            offset: 0,
        }
    }

    /// A rule as a map has it: kind and base as in [`Self`]'s code, the base's DWARF number if it is another register.
    #[inline(always)]
    pub(crate) const fn of_code(code: u8, register: u32, offset: i64) -> Self {
        Self {
            code: (code & 0xf) as u64 | (register as u64) << 32,
            offset,
        }
    }

    /// The value is at this offset from the canonical frame address.
    #[inline(always)]
    pub(crate) const fn saved_at_cfa(offset: i64) -> Self {
        Self {
            code: Self::SAVED_AT_CFA,
            offset,
        }
    }

    /// The value is this far above the stack pointer, or else the frame pointer.
    #[inline(always)]
    pub(crate) const fn above(stack_pointer: bool, offset: i64) -> Self {
        let code = match stack_pointer {
            true => Self::FROM_STACK_POINTER,
            false => Self::FROM_FRAME_POINTER,
        };
        Self { code, offset }
    }

    pub(crate) const fn new(rule: Rule) -> Self {
        let (kind, base, offset) = match rule {
            Rule::Same => (SAME, Base::Cfa, 0),
            Rule::Undefined => (UNDEFINED, Base::Cfa, 0),
            Rule::Value { base, offset } => (VALUE, base, offset),
            Rule::Saved { base, offset } => (SAVED, base, offset),
        };
        let code = match base {
            Base::Cfa => code(kind, CFA),
            Base::StackPointer => code(kind, STACK_POINTER),
            Base::FramePointer => code(kind, FRAME_POINTER),
            Base::Register(number) => code(kind, REGISTER) | (number as u64) << 32,
        };
        Self { code, offset }
    }

    pub(crate) const fn rule(self) -> Rule {
        let base = match self.code >> 2 & 3 {
            CFA => Base::Cfa,
            STACK_POINTER => Base::StackPointer,
            FRAME_POINTER => Base::FramePointer,
            _ => Base::Register((self.code >> 32) as u32),
        };
        let offset = self.offset;
        match self.code & KIND {
            SAVED => Rule::Saved { base, offset },
            VALUE => Rule::Value { base, offset },
            UNDEFINED => Rule::Undefined,
            _ => Rule::Same,
        }
    }

    /// The same in the lowest `BITS` bits of a word; `None` if it does not fit.
    #[inline(always)]
    pub(crate) const fn narrow<const BITS: u32>(self) -> Option<u64> {
        let unused = u64::BITS.wrapping_sub(BITS);
        let word = (self.offset.cast_unsigned() << CODE | self.code) << unused >> unused;
        let again = Self::of_narrow::<BITS>(word);
        match again.code == self.code && again.offset == self.offset {
            true => Some(word),
            false => None,
        }
    }

    /// The rule that [`Self::narrow`] has put there.
    #[inline(always)]
    pub(crate) const fn of_narrow<const BITS: u32>(word: u64) -> Self {
        let unused = u64::BITS.wrapping_sub(BITS);
        Self {
            code: word & ((1 << CODE) - 1),
            offset: (word << unused).cast_signed() >> unused >> CODE,
        }
    }

    /// Whether this is the code.
    #[inline(always)]
    pub(crate) const fn is(self, code: u64) -> bool {
        self.code == code
    }
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rule().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn every_rule_is_told_again() {
        let bases = [
            Base::Cfa,
            Base::StackPointer,
            Base::FramePointer,
            Base::Register(0),
            Base::Register(u32::MAX),
        ];
        for base in bases {
            for offset in [0, 8, -16, i64::MIN, i64::MAX] {
                for rule in [Rule::Value { base, offset }, Rule::Saved { base, offset }] {
                    assert_eq!(Packed::new(rule).rule(), rule);
                    let text = std::format!("{:?}", Packed::new(rule));
                    assert_eq!(text, std::format!("{rule:?}"));
                }
            }
        }
        for rule in [Rule::Same, Rule::Undefined] {
            assert_eq!(Packed::new(rule).rule(), rule);
        }
        let saved = |base| Packed::new(Rule::Saved { base, offset: -8 });
        assert_eq!(saved(Base::Cfa), Packed::saved_at_cfa(-8));
        let value = |base| Packed::new(Rule::Value { base, offset: 8 });
        assert_eq!(value(Base::StackPointer), Packed::above(true, 8));
        assert_eq!(value(Base::FramePointer), Packed::above(false, 8));
    }
}
