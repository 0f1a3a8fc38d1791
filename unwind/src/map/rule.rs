//! The rule of a change.

use crate::bytes::Bytes;
use crate::lookup::LookupError;
use crate::map::format;
use crate::map::section::Map;
use crate::rules::{Packed, Rules};

/// A rule as it is stored.
#[derive(Clone, Copy)]
pub(super) struct Stored {
    flags: u16,
    numbers: [u16; 3],
}

impl Stored {
    /// Whether it says that there is no function.
    pub(super) const fn is_nothing(self) -> bool {
        self.flags & format::KIND == format::KIND_NO_FUNCTION
    }

    /// Whether its function is trap or signal code.
    #[inline(always)]
    pub(super) const fn is_signal(self) -> bool {
        self.flags & format::SIGNAL != 0
    }

    /// Whether there is a frame address, or no caller at all. Else a walk would take damage for the end of a stack.
    #[inline(always)]
    const fn has_frame_address(self) -> bool {
        let [cfa, ..] = format::SHIFTS;
        self.code(cfa) & format::VALUE != 0 || self.flags.wrapping_shr(cfa) == format::NO_CALLER
    }

    /// The code of one of the three rules.
    #[inline(always)]
    const fn code(self, shift: u32) -> u8 {
        self.flags.wrapping_shr(shift) as u8 & 0xf
    }
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
        let number = match code {
            format::EXCEPTION | format::EXCEPTION_BEGINS => self.exception(change)?,
            code => usize::from(code.wrapping_sub(1)),
        };
        let rule = Bytes::new(self.rules.get(number)?, self.order);
        Some(Stored {
            flags: rule.u16(0)?,
            numbers: [rule.u16(2)?, rule.u16(4)?, rule.u16(6)?],
        })
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
        if stored.flags & format::KIND != format::KIND_SHORT {
            return self.decode_other(stored, rules);
        }
        if !stored.has_frame_address() {
            return Err(LookupError::Damaged);
        }
        let [cfa, return_address, frame_pointer] = stored.numbers;
        let rule = |shift, number: u16| {
            let offset = i64::from(number.cast_signed()).wrapping_mul(format::SCALE);
            Packed::of_code(stored.code(shift), 0, offset)
        };
        let [first, second, third] = format::SHIFTS;
        *rules = Rules {
            cfa: rule(first, cfa),
            return_address: rule(second, return_address),
            frame_pointer: rule(third, frame_pointer),
        };
        Ok(())
    }

    /// As [`Self::decode`], of all other kinds.
    #[inline(never)]
    fn decode_other(&self, stored: Stored, rules: &mut Rules) -> Result<(), LookupError> {
        match stored.flags & format::KIND {
            format::KIND_NO_FUNCTION => Err(LookupError::NoFunction),
            format::KIND_NO_ROWS => Err(LookupError::NoRows {
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
        let rule = |shift, at: usize| {
            let offset = long.u32(at.wrapping_add(12))?.cast_signed();
            let register = long.u32(at)?;
            Some(Packed::of_code(stored.code(shift), register, offset.into()))
        };
        let [first, second, third] = format::SHIFTS;
        *rules = Rules {
            cfa: rule(first, 0)?,
            return_address: rule(second, 4)?,
            frame_pointer: rule(third, 8)?,
        };
        Some(())
    }
}
