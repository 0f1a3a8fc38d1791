//! The caller of a frame, computed from a row. This module only reads.

use crate::lookup::Found;
use crate::memory::Memory;
use crate::registers::{RegisterSet, offset_address};
use crate::row::{Base, Rule};
use crate::verdict::End;
use crate::walk::cursor::{Cursor, read};

/// The caller of a frame, computed from a row, before any check.
pub(super) struct Caller {
    pub(super) pc: u64,
    pub(super) sp: u64,
    pub(super) fp: u64,
    /// Whether the frame pointer is the caller's own.
    pub(super) fp_known: bool,
}

impl<R: RegisterSet> Cursor<R> {
    /// Computes the caller from the row that was `found` and its canonical frame address.
    pub(super) fn caller(
        &self,
        found: &Found,
        cfa: u64,
        memory: &impl Memory,
    ) -> Result<Caller, End> {
        let (registers, rules) = (&self.registers, &found.rules);
        let pc = self.return_address(rules.return_address(), cfa, memory)?;
        let (fp, fp_known) = self.frame_pointer(rules.frame_pointer(), cfa, memory)?;
        Ok(Caller {
            pc: match found.is_signed() {
                true => registers.strip(pc),
                false => pc,
            },
            sp: R::sp_at(cfa),
            fp,
            fp_known,
        })
    }

    /// Evaluates the rule for the return address.
    #[inline(never)]
    fn return_address(&self, rule: Rule, cfa: u64, memory: &impl Memory) -> Result<u64, End> {
        match rule {
            Rule::Undefined => Err(End::Outermost),
            Rule::Same => self.registers.link().ok_or(End::LinkRegisterLost),
            Rule::Value { base, offset } => self.address_by(cfa, base, offset),
            Rule::Saved { base, offset } => read::<R>(memory, self.address_by(cfa, base, offset)?),
        }
    }

    /// Evaluates `rule` for another caller register. `None` if the register is unchanged or undefined.
    #[inline(never)]
    pub(super) fn restored(
        &self,
        rule: Rule,
        cfa: u64,
        memory: &impl Memory,
    ) -> Result<Option<u64>, End> {
        Ok(match rule {
            Rule::Same | Rule::Undefined => None,
            Rule::Value { base, offset } => Some(self.address_by(cfa, base, offset)?),
            Rule::Saved { base, offset } => {
                Some(read::<R>(memory, self.address_by(cfa, base, offset)?)?)
            }
        })
    }

    /// Evaluates the rule for the frame pointer. Also returns whether the value is the caller's own.
    #[inline(never)]
    fn frame_pointer(
        &self,
        rule: Rule,
        cfa: u64,
        memory: &impl Memory,
    ) -> Result<(u64, bool), End> {
        let (base, offset, is_saved) = match rule {
            Rule::Same | Rule::Undefined => return Ok((self.registers.fp(), self.fp_known)),
            Rule::Value { base, offset } => (base, offset, false),
            Rule::Saved { base, offset } => (base, offset, true),
        };
        match self.address_by(cfa, base, offset) {
            Ok(slot) if is_saved => self.saved_fp(slot, memory),
            Ok(value) => Ok((value, true)),
            // The value is not known, which matters only if a caller needs it.
            Err(End::RegisterLost(_) | End::FramePointerLost | End::StackPointerLost) => {
                Ok((self.registers.fp(), false))
            }
            Err(end) => Err(end),
        }
    }

    /// Returns the frame pointer that is saved in `slot`, and whether it is the caller's own.
    #[inline(always)]
    fn saved_fp(&self, slot: u64, memory: &impl Memory) -> Result<(u64, bool), End> {
        // After the epilogue's pop, compilers still emit the old rule. The register already contains the caller's value; the slot, now below
        // the stack pointer, may contain anything.
        if self.exact && slot < self.registers.sp() {
            Ok((self.registers.fp(), self.fp_known))
        } else {
            Ok((read::<R>(memory, slot)?, true))
        }
    }

    /// Returns the address `base + offset` of a rule for a register.
    #[inline(never)]
    fn address_by(&self, cfa: u64, base: Base, offset: i64) -> Result<u64, End> {
        match base {
            Base::Cfa => Ok(offset_address::<R>(cfa, offset)),
            other => self.address(other, offset),
        }
    }
}
