//! The rule of a change.

use crate::bytes::Bytes;
use crate::lookup::{LookupError, Proof};
use crate::map::format;
use crate::map::section::Map;
use crate::rules::{Rules, SIGNED};

/// Where the code for the canonical frame address is in a rule's first number.
const CFA: u32 = format::SHIFTS[0];

/// A rule as it is stored.
#[derive(Clone, Copy)]
pub(super) struct Stored {
    flags: u16,
    numbers: [u16; 3],
}

impl Stored {
    /// Whether it says that there is no function.
    pub(super) const fn is_nothing(self) -> bool {
        self.flags.wrapping_shr(CFA) == format::NO_FUNCTION
    }

    /// Whether its function is trap or signal code.
    #[inline(always)]
    pub(super) const fn is_signal(self) -> bool {
        self.flags & format::SIGNAL != 0
    }

    /// The proof of the rule in a map whose other rules have the proof `others`.
    pub(super) const fn proof(self, others: Proof) -> Proof {
        const IF_ENTERED: u16 = format::SIGNAL | format::IF_ENTERED;
        if self.flags & format::UNPROVEN == 0 {
            others
        } else if self.flags & IF_ENTERED == IF_ENTERED {
            Proof::IfEntered
        } else {
            Proof::Unproven
        }
    }

    /// Whether there is a frame address, or no caller at all. Else a walk would take damage for the end of a stack.
    #[inline(always)]
    const fn has_frame_address(self) -> bool {
        let has_value = (format::VALUE as u16).wrapping_shl(CFA);
        self.flags & has_value != 0 || self.flags.wrapping_shr(CFA) == format::NO_CALLER
    }
}

/// The codes of the three rules in a rule's first number, of the canonical frame address first, with the mark of a signed return address,
/// as [`Rules`] have them.
#[inline(always)]
pub(super) const fn codes(flags: u16) -> u32 {
    let signed = match flags & (format::SIGNED | format::SIGNAL) {
        format::SIGNED => SIGNED,
        _ => 0,
    };
    flags.wrapping_shr(CFA) as u32 | signed
}

impl Map<'_> {
    /// Whether a change with this code begins a function, or ends one where none follows.
    #[inline(always)]
    pub(super) const fn begins(&self, code: u8) -> bool {
        code > self.plain
    }

    /// The rule of the change with this number and code.
    #[inline(always)]
    pub(super) fn stored(&self, change: usize, code: u8) -> Option<Stored> {
        let number = self.number_of(change, code)?;
        let rule = Bytes::new(self.rules.get(number)?, self.order);
        Some(Stored {
            flags: rule.u16(0)?,
            numbers: [rule.u16(2)?, rule.u16(4)?, rule.u16(6)?],
        })
    }

    /// The number of that rule.
    #[inline(always)]
    pub(super) fn number_of(&self, change: usize, code: u8) -> Option<usize> {
        match code {
            format::EXCEPTION | format::EXCEPTION_BEGINS => self.exception(change),
            code => Some(usize::from(code.wrapping_sub(1))),
        }
    }

    /// The number of the rule of a change that is an exception.
    #[inline(never)]
    fn exception(&self, change: usize) -> Option<usize> {
        let (mut from, mut rest) = (0_usize, self.exceptions.len());
        while rest > 1 {
            let half = rest >> 1;
            let middle = from.wrapping_add(half);
            let of = Bytes::new(self.exceptions.get(middle)?, self.order).u32(0)?;
            if of as usize <= change {
                from = middle;
            }
            rest = rest.wrapping_sub(half);
        }
        let found = Bytes::new(self.exceptions.get(from)?, self.order);
        (found.u32(0)? as usize == change).then_some(found.u32(4)? as usize)
    }

    /// Writes the three rules, if there are any.
    #[inline(always)]
    pub(super) fn decode(&self, stored: Stored, rules: &mut Rules) -> Result<(), LookupError> {
        if stored.flags & format::LONG != 0 || !stored.has_frame_address() {
            return self.decode_other(stored, rules);
        }
        let offset = |number: u16| i64::from(number.cast_signed()).wrapping_mul(self.scale());
        *rules = Rules::short(codes(stored.flags), stored.numbers.map(offset));
        Ok(())
    }

    /// As [`Self::decode`], of all others.
    #[inline(never)]
    fn decode_other(&self, stored: Stored, rules: &mut Rules) -> Result<(), LookupError> {
        match stored.flags.wrapping_shr(CFA) {
            format::NO_FUNCTION => Err(LookupError::NoFunction),
            format::NO_ROWS => Err(LookupError::NoRows {
                signal: stored.is_signal(),
            }),
            _ if !stored.has_frame_address() => Err(LookupError::Damaged),
            _ => self.long(stored, rules).ok_or(LookupError::Damaged),
        }
    }

    /// Writes the three rules of a long one.
    fn long(&self, stored: Stored, rules: &mut Rules) -> Option<()> {
        let [number, ..] = stored.numbers;
        let long = self.long_rules.get(usize::from(number))?;
        let long = Bytes::new(long, self.order);
        let register = |at: usize| long.u32(at.wrapping_mul(4));
        let offset = |at: usize| Some(i64::from(register(at)?.cast_signed()));
        let registers = [register(0)?, register(1)?, register(2)?];
        let offsets = [offset(3)?, offset(4)?, offset(5)?];
        *rules = Rules::long(codes(stored.flags), registers, offsets);
        Some(())
    }
}
