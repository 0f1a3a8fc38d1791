//! A frame's caller by a row. Only reads.

use crate::memory::{Memory, Range};
use crate::registers::{RegisterSet, offset_address};
use crate::row::{Base, Row, Rule};
use crate::verdict::End;
use crate::walk::cursor::{Cursor, read};

/// The look-up for the cursor's frame in the source of rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) row: Row,
    /// The range of the row's function.
    pub(super) function: Range,
    /// Whether it is trap code; or why there is no row.
    pub(super) trap: Result<bool, End>,
    /// The canonical frame address.
    pub(super) cfa: Result<u64, End>,
}

/// A frame's caller by a row, before any check.
pub(super) struct Caller {
    pub(super) pc: u64,
    pub(super) sp: u64,
    pub(super) fp: u64,
    /// The frame pointer is the caller's own.
    pub(super) fp_known: bool,
}

impl<R: RegisterSet> Cursor<R> {
    /// The caller by the row that was `found`.
    #[inline(always)]
    pub(super) fn caller(&self, found: &Found, memory: &impl Memory) -> Result<Caller, End> {
        let row = &found.row;
        if row.is_outermost() {
            return Err(End::Outermost);
        }
        let registers = &self.registers;
        let cfa = found.cfa?;
        let return_address = match row.return_address {
            Rule::Undefined => return Err(End::Outermost),
            Rule::Same => registers.link().ok_or(End::LinkRegisterLost)?,
            Rule::Value { base, offset } => self.address_by(cfa, base, offset)?,
            Rule::Saved { base, offset } => read::<R>(memory, self.address_by(cfa, base, offset)?)?,
        };
        let mut fp_known = true;
        let mut same = || {
            fp_known = self.fp_known;
            registers.fp()
        };
        let fp = match row.frame_pointer {
            Rule::Same | Rule::Undefined => same(),
            Rule::Value { base, offset } => match self.address_by(cfa, base, offset) {
                Ok(value) => value,
                // Its value is not known, which matters only if a caller needs it.
                Err(End::RegisterLost(_) | End::FramePointerLost) => {
                    fp_known = false;
                    registers.fp()
                }
                Err(end) => return Err(end),
            },
            Rule::Saved { base, offset } => {
                let slot = self.address_by(cfa, base, offset)?;
                // Compilers keep the rule after the epilogue's pop, when the register has the caller's value again, and the
                // slot below the stack pointer has any value.
                if self.exact && slot < registers.sp() {
                    same()
                } else {
                    read::<R>(memory, slot)?
                }
            }
        };
        Ok(Caller {
            pc: registers.strip(return_address),
            sp: R::sp_at(cfa),
            fp,
            fp_known,
        })
    }

    /// The address `base + offset` of a rule for a register. Nearly every such rule is based on the frame address.
    #[inline(always)]
    fn address_by(&self, cfa: u64, base: Base, offset: i64) -> Result<u64, End> {
        match base {
            Base::Cfa => Ok(offset_address::<R>(cfa, offset)),
            other => self.address(other, offset),
        }
    }
}
