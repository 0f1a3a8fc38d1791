//! The frame that trap code has interrupted.

use crate::memory::Memory;
use crate::registers::RegisterSet;
use crate::row::{Base, Row, Rule};
use crate::verdict::How;
use crate::walk::SavedRegister;
use crate::walk::cursor::{Cursor, Way, read};

impl<R: RegisterSet> Cursor<R> {
    /// The step from trap code, which `row` is of, to what it interrupted: `registers`, as far as the row tells them. That is the
    /// next frame, whatever its program counter and stack pointer. But the walk leads no further from a stack pointer where it
    /// must not go; without this rule a damaged table could make a trap frame its own caller for ever.
    pub(super) fn interrupted(
        &self,
        mut registers: R,
        on_stack: bool,
        row: &Row,
        trap_registers: &[SavedRegister],
        memory: &impl Memory,
    ) -> (Cursor<R>, Way) {
        let sp = self.registers.sp();
        // While the trap code itself runs, its stack pointer is anywhere, and registers are still or again where they were.
        let trap_frame = (!self.exact && self.sp_known).then_some(sp);
        let saved_at = match self.exact {
            true => self.saved_at(row, trap_registers),
            false => trap_frame,
        };
        for saved in trap_registers {
            let slot = saved_at.and_then(|frame| frame.checked_add(saved.offset.into()));
            let value = match slot {
                Some(slot) if !self.exact || slot >= sp => read::<R>(memory, slot).ok(),
                None if !pc_is_in_register(row) => None,
                _ => self.registers.other(saved.register),
            };
            if let Some(value) = value {
                registers.learn(saved.register, value);
            }
        }
        // At the edge of trap code both can have one stack pointer. Only the first frame can be there, so the walk still ends.
        let same = on_stack && registers.sp() == sp && self.begins_at_edge(row);
        let next = Cursor {
            trap_frame,
            ..Cursor::exact(registers, How::TrapFrame)
        };
        (next, if same { Way::Stay } else { Way::Anywhere })
    }

    /// Whether the row, of trap code, is that of the first frame of the walk, and trap code has not begun to save, or has done
    /// with restoring.
    pub(super) fn begins_at_edge(&self, row: &Row) -> bool {
        self.how == How::Given && pc_is_in_register(row)
    }

    /// The frame of trap code that runs itself, if all is saved there: its row tells where the interrupted stack pointer is.
    fn saved_at(&self, row: &Row, trap_registers: &[SavedRegister]) -> Option<u64> {
        let offset = match row.cfa {
            Rule::Saved {
                base: Base::StackPointer,
                offset,
            } if !pc_is_in_register(row) => offset,
            _ => return None,
        };
        let mut saved = trap_registers.iter();
        let saved = saved.find(|saved| saved.register == R::STACK_POINTER)?;
        let slot = self.registers.sp().checked_add_signed(offset)?;
        slot.checked_sub(saved.offset.into())
    }
}

/// Whether the row, of trap code, says that the interrupted program counter is still or again in a register.
const fn pc_is_in_register(row: &Row) -> bool {
    matches!(
        row.return_address,
        Rule::Value {
            base: Base::Register(_),
            ..
        }
    )
}
