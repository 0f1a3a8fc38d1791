//! Expansion of names and paths that were compressed by a grammar.

use crate::bytes::{ByteOrder, Bytes};
use crate::reads;
use crate::symbols::format::{FIRST_RULE, MAX_RULE_DEPTH};

/// Rules, each two symbols, and how symbols are written: those in `short` in one byte, the others in two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grammar<'a> {
    short: Bytes<'a>,
    short_count: u16,
    rules: Bytes<'a>,
}

impl<'a> Grammar<'a> {
    /// A grammar's part: how many short codes there are, their symbols, the rules.
    pub(super) fn new(part: &'a [u8]) -> Self {
        let count = Bytes::new(part, ByteOrder::Little).u16(0).unwrap_or(0);
        let short = usize::from(count).wrapping_mul(2);
        let rest = part.get(2..).unwrap_or(&[]);
        let (short, rules) = rest.split_at_checked(short).unwrap_or((&[], &[]));
        Self {
            short: Bytes::new(short, ByteOrder::Little),
            short_count: count,
            rules: Bytes::new(rules, ByteOrder::Little),
        }
    }

    /// The symbol of the first code, and the codes after it.
    #[inline]
    fn code<'c>(&self, codes: &'c [u8]) -> Option<(u16, &'c [u8])> {
        let (&first, rest) = codes.split_first()?;
        reads::note();
        match u16::from(first).checked_sub(self.short_count) {
            None => {
                let symbol = self.short.u16(usize::from(first).wrapping_mul(2))?;
                Some((symbol, rest))
            }
            Some(page) => {
                let (&low, rest) = rest.split_first()?;
                Some(((page << 8) | u16::from(low), rest))
            }
        }
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
    /// Symbols that come after what was expanded, the next one last.
    later: [u16; MAX_RULE_DEPTH],
    depth: usize,
    steps: u32,
}

impl Iterator for Expansion<'_> {
    type Item = u8;

    #[inline(never)]
    fn next(&mut self) -> Option<u8> {
        let before = self.depth.checked_sub(1);
        let mut symbol = match before.and_then(|top| self.later.get(top)) {
            Some(&symbol) => {
                self.depth = self.depth.wrapping_sub(1);
                symbol
            }
            None => {
                let (symbol, rest) = self.grammar.code(self.codes)?;
                self.codes = rest;
                symbol
            }
        };
        while let Some(rule) = symbol.checked_sub(FIRST_RULE) {
            let both = self.grammar.rules.u32(usize::from(rule).wrapping_mul(4));
            let (Some(both), Some(later), Some(left)) = (
                both,
                self.later.get_mut(self.depth),
                self.steps.checked_sub(1),
            ) else {
                self.codes = &[];
                self.depth = 0;
                return None;
            };
            *later = (both >> 16) as u16;
            self.depth = self.depth.wrapping_add(1);
            self.steps = left;
            symbol = both as u16;
        }
        Some(symbol as u8)
    }
}
