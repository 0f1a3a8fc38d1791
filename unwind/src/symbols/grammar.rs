//! Expanding what a grammar has compressed: rows and names.

use crate::bytes::{ByteOrder, Bytes};
use crate::symbols::format::{MAX_RULE_DEPTH, TERMINAL};

/// Rules, each two symbols, and how symbols are written: one byte below `short`, otherwise two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grammar<'a> {
    rules: Bytes<'a>,
    short: u16,
}

impl<'a> Grammar<'a> {
    /// A grammar's part: `short`, then the rules.
    pub(super) fn new(part: &'a [u8]) -> Self {
        let short = Bytes::new(part, ByteOrder::Little).u16(0).unwrap_or(0);
        Self {
            rules: Bytes::new(part.get(2..).unwrap_or(&[]), ByteOrder::Little),
            short: short.min(256),
        }
    }

    /// The two symbols of a rule.
    #[inline]
    fn rule(&self, symbol: u16) -> Option<(u16, u16)> {
        let both = self.rules.u32(usize::from(symbol).wrapping_mul(4))?;
        Some((both as u16, (both >> 16) as u16))
    }

    /// The bytes that `codes` stand for, as far as `steps` last.
    pub(super) const fn expand(self, codes: &'a [u8], steps: u32) -> Expansion<'a> {
        Expansion {
            grammar: self,
            codes,
            later: [0; MAX_RULE_DEPTH],
            depth: 0,
            steps,
        }
    }
}

/// The bytes that codes stand for, one after the other. Ends early where something is damaged: a rule that is not there,
/// rules nested too deep, or more steps than allowed, which rules that contain themselves would take.
#[derive(Clone, Debug)]
pub(super) struct Expansion<'a> {
    grammar: Grammar<'a>,
    codes: &'a [u8],
    /// Symbols that come after what is being expanded, the next one last.
    later: [u16; MAX_RULE_DEPTH],
    depth: usize,
    pub(super) steps: u32,
}

impl Expansion<'_> {
    #[inline]
    fn symbol(&mut self) -> Option<u16> {
        if let Some(depth) = self.depth.checked_sub(1) {
            self.depth = depth;
            return self.later.get(depth).copied();
        }
        let (&first, rest) = self.codes.split_first()?;
        self.codes = rest;
        let first = u16::from(first);
        let Some(high) = first.checked_sub(self.grammar.short) else {
            return Some(first);
        };
        let (&low, rest) = self.codes.split_first()?;
        self.codes = rest;
        let long = (high << 8) | u16::from(low);
        long.checked_add(self.grammar.short)
    }

    /// A number: seven bits a byte, the lowest first, the top bit of all but the last byte set.
    #[inline]
    pub(super) fn number(&mut self) -> Option<u32> {
        let first = u32::from(self.next()?);
        if first < 0x80 {
            return Some(first);
        }
        let mut value = first & 0x7f;
        for shift in [7, 14, 21, 28] {
            let byte = self.next()?;
            value |= u32::from(byte & 0x7f).wrapping_shl(shift);
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

impl Iterator for Expansion<'_> {
    type Item = u8;

    #[inline]
    fn next(&mut self) -> Option<u8> {
        let mut symbol = self.symbol()?;
        loop {
            self.steps = self.steps.checked_sub(1)?;
            let (first, second) = self.grammar.rule(symbol)?;
            if first == TERMINAL {
                return Some(second as u8);
            }
            *self.later.get_mut(self.depth)? = second;
            self.depth = self.depth.wrapping_add(1);
            symbol = first;
        }
    }
}
