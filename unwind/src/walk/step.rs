//! A step to the caller's frame by a row. Only reads.

use crate::memory::{Memory, Range};
use crate::registers::RegisterSet;
use crate::row::{Row, Rule};
use crate::verdict::{End, How};
use crate::walk::SavedRegister;
use crate::walk::cursor::{Cursor, Step, Way, read};

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

/// The step by the row that was `found`, whose return address is not checked yet.
///
/// `on_stack`: the stack pointer is in memory that the walk may read.
#[inline(never)]
pub(super) fn by_row<R: RegisterSet>(
    cursor: &Cursor<R>,
    on_stack: bool,
    found: &Found,
    trap_registers: &[SavedRegister],
    memory: &impl Memory,
) -> Result<Step<R>, End> {
    let sp = cursor.registers.sp();
    let trap = found.trap?;
    // Before trap code has checked its stack pointer it may be anywhere; a row that reads no memory does not need it.
    let needs_stack = !(trap && cursor.begins_at_edge(&found.row));
    if !on_stack && needs_stack {
        return Err(End::NoStack(sp));
    }
    let (caller, fp_known) = match cursor.caller(&found.row, found.cfa, memory) {
        Err(End::Outermost) if cursor.sp_known && !memory.is_base(sp) => {
            return Err(End::NotAtBase(sp));
        }
        other => other?,
    };
    let (next, way) = if trap {
        cursor.interrupted(caller, on_stack, &found.row, trap_registers, memory)
    } else {
        // Only a leaf's caller can have the same stack pointer.
        let is_leaf = cursor.exact && caller.sp() == sp;
        let way = if is_leaf { Way::Stay } else { Way::Up };
        (Cursor::called(caller, How::SFrame), way)
    };
    let next = Cursor { fp_known, ..next };
    Ok(Step { next, way })
}

impl<R: RegisterSet> Cursor<R> {
    /// The caller's registers by `row` and its [`Self::cfa`], and whether its frame pointer is among them. Their program counter
    /// is not checked yet.
    fn caller(
        &self,
        row: &Row,
        cfa: Result<u64, End>,
        memory: &impl Memory,
    ) -> Result<(R, bool), End> {
        if row.is_outermost() {
            return Err(End::Outermost);
        }
        let registers = &self.registers;
        let cfa = cfa?;
        let return_address = match row.return_address {
            Rule::Undefined => return Err(End::Outermost),
            Rule::Same => registers.link().ok_or(End::LinkRegisterLost)?,
            Rule::Value { base, offset } => self.address(base, offset, Some(cfa))?,
            Rule::Saved { base, offset } => {
                read::<R>(memory, self.address(base, offset, Some(cfa))?)?
            }
        };
        let mut fp_known = true;
        let mut same = || {
            fp_known = self.fp_known;
            registers.fp()
        };
        let fp = match row.frame_pointer {
            Rule::Same | Rule::Undefined => same(),
            Rule::Value { base, offset } => match self.address(base, offset, Some(cfa)) {
                Ok(value) => value,
                // Its value is not known, which matters only if a caller needs it.
                Err(End::RegisterLost(_) | End::FramePointerLost) => {
                    fp_known = false;
                    registers.fp()
                }
                Err(end) => return Err(end),
            },
            Rule::Saved { base, offset } => {
                let slot = self.address(base, offset, Some(cfa))?;
                // Compilers keep the rule after the epilogue's pop, when the register has the caller's value again, and the
                // slot below the stack pointer has any value.
                if self.exact && slot < registers.sp() {
                    same()
                } else {
                    read::<R>(memory, slot)?
                }
            }
        };
        let caller = registers.caller(registers.strip(return_address), R::sp_at(cfa), fp);
        Ok((caller, fp_known))
    }
}
