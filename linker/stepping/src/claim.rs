//! Evaluates a row with the registers and memory of the machine, and compares the result with the truth.

use linker::architecture::Architecture;
use unwind::sframe::{Row, Rule};

use crate::machine::{Machine, State};
use crate::truth::{Entry, KEPT};

/// The caller that a row leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The function has no caller.
    NoCaller,
    /// The row leads to this caller.
    Caller {
        /// Canonical frame address.
        cfa: u64,
        /// Return address, or the address that was interrupted; `None` if the word cannot be read.
        pc: Option<u64>,
        /// Frame pointer of the caller; `None` if the row declares the value lost.
        fp: Option<u64>,
        /// `r4` to `r10` of the caller, on 32-bit ARM; `None` if the row declares the value lost.
        kept: [Option<u64>; KEPT],
    },
    /// The row needs a register or a word that cannot be read.
    Nothing,
}

/// The part of a claim that is wrong, the most severe one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// There is a caller although the row denies it, or none although the row names one, or the caller was interrupted instead of called.
    Entry,
    /// The canonical frame address.
    Cfa,
    /// The return address.
    ReturnAddress,
    /// The frame pointer, or another register of the caller, alone.
    FramePointer,
}

impl Claim {
    /// The caller that `row` leads to.
    #[must_use]
    pub fn of(
        row: &Row,
        state: &State,
        architecture: &Architecture,
        memory: &impl Machine,
    ) -> Self {
        if row.is_outermost() {
            return Self::NoCaller;
        }
        let address = |rule: Rule, cfa: u64| match rule {
            Rule::Value { base, offset } | Rule::Saved { base, offset } => {
                let base = match architecture.register(base) {
                    None => cfa,
                    Some(number) => *state.registers.get(number as usize)?,
                };
                let address = base.wrapping_add_signed(offset);
                Some(if architecture.word == 4 {
                    address & 0xffff_ffff
                } else {
                    address
                })
            }
            Rule::Same | Rule::Undefined => None,
        };
        let value = |rule: Rule, cfa: u64, same: Option<u64>| match rule {
            Rule::Same => same,
            Rule::Undefined => None,
            Rule::Value { .. } => address(rule, cfa),
            Rule::Saved { .. } => memory.word(address(rule, cfa)?),
        };
        let Some(cfa) = value(row.cfa, 0, None) else {
            return Self::Nothing;
        };
        let link = state
            .registers
            .get(usize::from(architecture.return_address.0))
            .copied();
        let pc = value(row.return_address, cfa, link).map(|pc| memory.strip(pc, row));
        let is_lost = match (row.frame_pointer, architecture.lost_frame_pointer()) {
            // No walk has the register, so that any distance from it is lost.
            (Rule::Value { base, .. }, Rule::Value { base: lost, .. }) => base == lost,
            _ => false,
        };
        let fp = match address(row.frame_pointer, cfa) {
            _ if is_lost => None,
            // A walk takes the register then: the epilogue has restored the register, and the slot is free.
            Some(slot) if matches!(row.frame_pointer, Rule::Saved { .. }) && slot < state.sp => {
                Some(state.fp)
            }
            _ => value(row.frame_pointer, cfa, Some(state.fp)),
        };
        let mut kept = [None; KEPT];
        if architecture.word == 4 {
            for (place, (number, rule)) in kept.iter_mut().zip(row.kept.rules()) {
                *place = value(rule, cfa, state.registers.get(number as usize).copied());
            }
        }
        Self::Caller { cfa, pc, fp, kept }
    }

    /// The parts of the claim that differ from the truth: a caller, or none.
    #[must_use]
    pub fn differs(&self, entry: Option<&Entry>, is_trap_code: bool) -> Option<Wrong> {
        match (self, entry) {
            (Self::NoCaller, None) => None,
            (Self::Caller { cfa, pc, fp, kept }, Some(entry)) => match entry {
                _ if entry.is_interrupted != is_trap_code => Some(Wrong::Entry),
                _ if entry.sp != *cfa => Some(Wrong::Cfa),
                _ if Some(entry.pc) != *pc => Some(Wrong::ReturnAddress),
                _ if fp.is_some_and(|fp| fp != entry.fp) => Some(Wrong::FramePointer),
                _ if kept
                    .iter()
                    .zip(entry.kept)
                    .any(|(kept, is)| kept.is_some_and(|kept| kept != is)) =>
                {
                    Some(Wrong::FramePointer)
                }
                _ => None,
            },
            (Self::Nothing, Some(_)) => Some(Wrong::Cfa),
            _ => Some(Wrong::Entry),
        }
    }

    /// Compares the claim with the entries, innermost first, and may leave out optional ones. Returns the least severe
    /// difference if no entry fits.
    #[must_use]
    pub fn compare<'a>(
        &self,
        mut entries: impl Iterator<Item = &'a Entry>,
        is_trap_code: bool,
    ) -> Option<Wrong> {
        let mut least = Wrong::Entry;
        loop {
            let entry = entries.next();
            least = least.max(self.differs(entry, is_trap_code)?);
            if !entry.is_some_and(|entry| entry.is_optional) {
                return Some(least);
            }
        }
    }
}
