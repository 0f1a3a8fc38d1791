//! The rules of a row, packed: the form that look-ups return and walks use. One comparison recognizes the few forms that nearly all rows have.

use core::fmt;

use crate::row::{Base, Row, Rule};

/// The three rules of a row, which lead from a function's registers to its caller's: [`Row`] in a packed form.
///
/// ```
/// use unwind::{Base, Rule, Rules};
///
/// let cfa = Rule::Value { base: Base::StackPointer, offset: 16 };
/// let return_address = Rule::Saved { base: Base::Cfa, offset: -8 };
/// let rules = Rules::new(cfa, return_address, Rule::Same);
/// assert_eq!((rules.cfa(), rules.return_address()), (cfa, return_address));
/// assert!(!rules.is_outermost());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The codes of the three, four bits each, of the canonical frame address first; above them [`SIGNED`].
    codes: u32,
    /// The DWARF numbers of their bases, 0 where none is another register.
    registers: [u32; 3],
    /// 0 where a rule has none.
    offsets: [i64; 3],
}

impl Rules {
    /// The rules of a function without a caller.
    pub(crate) const NO_CALLER: Self = Self::new(Rule::Undefined, Rule::Undefined, Rule::Undefined);

    /// Creates rules from the rules for the canonical frame address, the return address and the caller's frame pointer: see [`Row`].
    #[must_use]
    pub const fn new(cfa: Rule, return_address: Rule, frame_pointer: Rule) -> Self {
        Self::of(
            Packed::new(cfa),
            Packed::new(return_address),
            Packed::new(frame_pointer),
        )
    }

    /// Sets whether the return address contains a pointer authentication code: see [`Row::signed`].
    #[must_use]
    #[inline(always)]
    pub const fn with_signed(mut self, signed: bool) -> Self {
        self.codes &= !SIGNED;
        if signed {
            self.codes |= SIGNED;
        }
        self
    }

    /// Checks whether the return address contains a pointer authentication code: see [`Row::signed`].
    #[must_use]
    #[inline(always)]
    pub const fn is_signed(&self) -> bool {
        self.codes & SIGNED != 0
    }

    /// Does what [`Self::new`] does, for packed rules.
    #[inline(always)]
    pub(crate) const fn of(cfa: Packed, return_address: Packed, frame_pointer: Packed) -> Self {
        let (second, third) = (return_address.code as u32, frame_pointer.code as u32);
        let codes = cfa.code as u32 | second << CODE | third << (CODE * 2);
        Self {
            codes,
            registers: [
                cfa.register,
                return_address.register,
                frame_pointer.register,
            ],
            offsets: [cfa.offset, return_address.offset, frame_pointer.offset],
        }
    }

    /// Rules without another register as base: the three codes with the mark [`SIGNED`], and the offsets.
    #[inline(always)]
    pub(crate) const fn short(codes: u32, offsets: [i64; 3]) -> Self {
        Self {
            codes: codes & CODES,
            registers: [0; 3],
            offsets,
        }
    }

    /// As [`Self::short`], with the registers.
    pub(crate) const fn long(codes: u32, registers: [u32; 3], offsets: [i64; 3]) -> Self {
        Self {
            codes: codes & CODES,
            registers,
            offsets,
        }
    }

    /// The rule for the canonical frame address, the return address or the frame pointer: 0, 1 or 2. One function for the three, and none
    /// below it: it is at the deepest places of a walk's stack.
    #[inline(never)]
    const fn rule(&self, index: u32) -> Rule {
        let [cfa, return_address, frame_pointer] = self.registers;
        let offsets = self.offsets;
        let (register, offset) = match index {
            0 => (cfa, offsets[0]),
            1 => (return_address, offsets[1]),
            _ => (frame_pointer, offsets[2]),
        };
        let packed = Packed {
            code: self.codes.wrapping_shr(CODE.wrapping_mul(index)) as u8 & 0xf,
            register,
            offset,
        };
        packed.rule()
    }

    /// Returns the rule for the canonical frame address: see [`Row::cfa`].
    #[must_use]
    pub const fn cfa(&self) -> Rule {
        self.rule(0)
    }

    /// Returns the rule for the return address: see [`Row::return_address`].
    #[must_use]
    pub const fn return_address(&self) -> Rule {
        self.rule(1)
    }

    /// Returns the rule for the caller's frame pointer: see [`Row::frame_pointer`].
    #[must_use]
    pub const fn frame_pointer(&self) -> Rule {
        self.rule(2)
    }

    /// Checks whether the function has no caller, by these rules.
    #[must_use]
    pub const fn is_outermost(&self) -> bool {
        self.codes >> CODE & 0xf == UNDEFINED as u32
    }

    /// If the CFA is `SP + n` or `FP + n`: the register and `n`.
    #[inline(always)]
    pub(crate) const fn simple_cfa(&self) -> Option<(Register, i64)> {
        let [offset, ..] = self.offsets;
        match self.codes as u8 & 0xf {
            Packed::FROM_STACK_POINTER => Some((Register::StackPointer, offset)),
            Packed::FROM_FRAME_POINTER => Some((Register::FramePointer, offset)),
            _ => None,
        }
    }

    /// How far from the canonical frame address the return address is saved, and the frame pointer, unless that keeps its value.
    /// `None`: they are found in other ways.
    #[inline(always)]
    pub(crate) const fn simple_saved(&self) -> Option<(i64, Option<i64>)> {
        const ONE: u32 = (Packed::SAVED_AT_CFA as u32) << CODE;
        const BOTH: u32 = ONE | ONE << CODE;
        let [_, return_address, frame_pointer] = self.offsets;
        match self.codes & CODES & !SIGNED & !((1 << CODE) - 1) {
            BOTH => Some((return_address, Some(frame_pointer))),
            ONE => Some((return_address, None)),
            _ => None,
        }
    }

    /// How far from the stack pointer the canonical frame address is saved, if it is there.
    #[inline(always)]
    pub(crate) const fn cfa_saved_at_sp(&self) -> Option<i64> {
        let [offset, ..] = self.offsets;
        match self.codes as u8 & 0xf {
            Packed::SAVED_AT_STACK_POINTER => Some(offset),
            _ => None,
        }
    }

    /// Whether the return address is a value that counts from another register.
    pub(crate) const fn return_address_is_in_register(&self) -> bool {
        (self.codes >> CODE) as u8 & 0xf == Packed::FROM_REGISTER
    }

    /// Bits of the word from [`Self::narrow`] that are 0, for use by the caller.
    pub(crate) const FREE: u64 = 3 << FREE;

    /// All in one word, which is not 0; `None` if they do not fit.
    pub(crate) fn narrow(&self) -> Option<u64> {
        let [cfa, return_address, frame_pointer] = self.offsets.map(i64::cast_unsigned);
        let [first, second, third] = SHIFTS;
        let word = u64::from(self.codes)
            | (return_address & 0xffff) << second
            | (frame_pointer & 0xffff) << third
            | cfa << first;
        (word != 0 && Self::of_narrow(word) == *self).then_some(word)
    }

    /// The rules that [`Self::narrow`] has put there.
    #[inline(always)]
    pub(crate) const fn of_narrow(word: u64) -> Self {
        let [cfa, return_address, frame_pointer] = SHIFTS;
        Self::short(
            word as u32,
            [
                word.cast_signed() >> cfa,
                (word >> return_address) as i16 as i64,
                (word >> frame_pointer) as i16 as i64,
            ],
        )
    }
}

impl From<&Row> for Rules {
    fn from(row: &Row) -> Self {
        Self::new(row.cfa, row.return_address, row.frame_pointer).with_signed(row.signed)
    }
}

/// A register that nearly all frame addresses count from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Register {
    StackPointer,
    FramePointer,
}

/// A [`Rule`], packed. Bits 0 and 1 of the code are its kind, and 2 and 3 its base.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packed {
    code: u8,
    /// The DWARF number of its base, or 0.
    register: u32,
    /// 0 if the rule has none.
    offset: i64,
}

/// The bits of a code.
const CODE: u32 = 4;
/// The bit above the three codes: the return address is signed.
pub(crate) const SIGNED: u32 = 1 << (CODE * 3);
/// The bits of three codes, and of the mark.
const CODES: u32 = (SIGNED << 1) - 1;
/// The first of the bits of [`Rules::FREE`].
const FREE: u32 = CODE * 3 + 1;
/// Where the offsets are in a word of all rules, behind the codes and [`Rules::FREE`]: that of the canonical frame address has what is left,
/// the others 16 bits.
const SHIFTS: [u32; 3] = [FREE + 34, FREE + 2, FREE + 18];

const KIND: u8 = 3;
pub(crate) const SAME: u8 = 0;
pub(crate) const UNDEFINED: u8 = 1;
pub(crate) const VALUE: u8 = 2;
pub(crate) const SAVED: u8 = 3;

pub(crate) const CFA: u8 = 0;
pub(crate) const STACK_POINTER: u8 = 1;
pub(crate) const FRAME_POINTER: u8 = 2;
pub(crate) const REGISTER: u8 = 3;

const fn code(kind: u8, base: u8) -> u8 {
    kind | base << 2
}

impl Packed {
    pub(crate) const SAME: u8 = SAME;
    pub(crate) const SAVED_AT_CFA: u8 = code(SAVED, CFA);
    pub(crate) const FROM_STACK_POINTER: u8 = code(VALUE, STACK_POINTER);
    pub(crate) const FROM_FRAME_POINTER: u8 = code(VALUE, FRAME_POINTER);
    const FROM_REGISTER: u8 = code(VALUE, REGISTER);
    const SAVED_AT_STACK_POINTER: u8 = code(SAVED, STACK_POINTER);

    /// The value is still in its register.
    #[inline(always)]
    pub(crate) const fn same() -> Self {
        Self {
            code: Self::SAME,
            register: 0,
            offset: 0,
        }
    }

    /// The value is at this offset from the canonical frame address.
    #[inline(always)]
    pub(crate) const fn saved_at_cfa(offset: i64) -> Self {
        Self {
            code: Self::SAVED_AT_CFA,
            register: 0,
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
        Self {
            code,
            register: 0,
            offset,
        }
    }

    pub(crate) const fn new(rule: Rule) -> Self {
        let (kind, base, offset) = match rule {
            Rule::Same => (SAME, Base::Cfa, 0),
            Rule::Undefined => (UNDEFINED, Base::Cfa, 0),
            Rule::Value { base, offset } => (VALUE, base, offset),
            Rule::Saved { base, offset } => (SAVED, base, offset),
        };
        let (code, register) = match base {
            Base::Cfa => (code(kind, CFA), 0),
            Base::StackPointer => (code(kind, STACK_POINTER), 0),
            Base::FramePointer => (code(kind, FRAME_POINTER), 0),
            Base::Register(number) => (code(kind, REGISTER), number),
        };
        Self {
            code,
            register,
            offset,
        }
    }

    #[inline(always)]
    pub(crate) const fn rule(self) -> Rule {
        let base = match self.code >> 2 & 3 {
            CFA => Base::Cfa,
            STACK_POINTER => Base::StackPointer,
            FRAME_POINTER => Base::FramePointer,
            _ => Base::Register(self.register),
        };
        let offset = self.offset;
        match self.code & KIND {
            SAVED => Rule::Saved { base, offset },
            VALUE => Rule::Value { base, offset },
            UNDEFINED => Rule::Undefined,
            _ => Rule::Same,
        }
    }

    /// Whether this is the code.
    #[inline(always)]
    pub(crate) const fn is(self, code: u8) -> bool {
        self.code == code
    }
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rule().fmt(f)
    }
}

#[cfg(test)]
mod tests;
