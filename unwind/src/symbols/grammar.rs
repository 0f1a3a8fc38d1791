//! Expansion of rows and names that were compressed by a grammar.

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
            ready: [0; BATCH],
            next: 0,
            end: 0,
        }
    }
}

/// Bytes expanded at once: enough for a fast loop without calls, few enough to expand little that is not needed.
const BATCH: usize = 32;

/// The bytes that codes stand for, one after the other. Ends early where something is damaged: a rule that is not there,
/// rules nested too deep, or more steps than allowed, which rules that contain themselves would take.
#[derive(Clone, Debug)]
pub(super) struct Expansion<'a> {
    grammar: Grammar<'a>,
    codes: &'a [u8],
    /// Symbols that come after what was expanded, the next one last.
    later: [u16; MAX_RULE_DEPTH],
    depth: usize,
    pub(super) steps: u32,
    ready: [u8; BATCH],
    next: usize,
    end: usize,
}

impl Expansion<'_> {
    /// Expands the next bytes, and returns how many; `None` at the end.
    #[inline(never)]
    fn fill(&mut self) -> Option<usize> {
        let mut depth = self.depth;
        let mut steps = self.steps;
        let mut end = 0;
        'batch: for slot in &mut self.ready {
            let popped = depth.checked_sub(1);
            let mut symbol = match popped.and_then(|top| self.later.get(top)) {
                Some(&symbol) => {
                    depth = depth.wrapping_sub(1);
                    symbol
                }
                None => match self.grammar.code(self.codes) {
                    Some((symbol, rest)) => {
                        self.codes = rest;
                        symbol
                    }
                    None => break,
                },
            };
            while let Some(rule) = symbol.checked_sub(FIRST_RULE) {
                let both = self.grammar.rules.u32(usize::from(rule).wrapping_mul(4));
                let (Some(both), Some(later), Some(left)) =
                    (both, self.later.get_mut(depth), steps.checked_sub(1))
                else {
                    self.codes = &[];
                    depth = 0;
                    break 'batch;
                };
                *later = (both >> 16) as u16;
                depth = depth.wrapping_add(1);
                steps = left;
                symbol = both as u16;
            }
            *slot = symbol as u8;
            end = usize::wrapping_add(end, 1);
        }
        self.depth = depth;
        self.steps = steps;
        self.end = end;
        self.next = 0;
        (end > 0).then_some(end)
    }

    /// A number: seven bits a byte, the lowest first, the top bit of all but the last byte set.
    #[inline(never)]
    pub(super) fn number(&mut self) -> Option<u32> {
        let mut value = 0_u32;
        let mut shift = 0_u32;
        while shift < 32 {
            let byte = self.next()?;
            value |= u32::from(byte & 0x7f).wrapping_shl(shift);
            if byte < 0x80 {
                return Some(value);
            }
            shift = shift.wrapping_add(7);
        }
        None
    }
}

impl Iterator for Expansion<'_> {
    type Item = u8;

    #[inline]
    fn next(&mut self) -> Option<u8> {
        if self.next >= self.end {
            self.fill()?;
        }
        let byte = self.ready.get(self.next).copied();
        self.next = self.next.wrapping_add(1);
        byte
    }
}
