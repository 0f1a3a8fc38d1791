//! Where the cursor's stack ends, as far as it is known.

use super::Frames;
use crate::memory::{Memory, is_aligned};
use crate::registers::{RegisterSet, cfa_at};
use crate::source::RowSource;
use crate::verdict::End;
use crate::walk::cursor::read;
use crate::walk::frame::lookup_pc;

impl<R: RegisterSet, M: Memory, S: RowSource> Frames<'_, R, M, S> {
    /// Checks whether the stack of the cursor's frame, whose function has no caller and whose stack pointer is `sp`, is empty there. `None` if the
    /// base of the stack is unknown.
    #[inline(never)]
    pub(super) fn is_at_base(&self, sp: u64) -> Option<bool> {
        let pc = lookup_pc(self.cursor.registers.pc(), self.cursor.kind());
        match self.unwinder.source.stack_pointer(pc) {
            Some(loaded) if loaded == sp => Some(true),
            _ => self.memory.is_base(cfa_at::<R>(sp)),
        }
    }

    /// Checks whether the cursor's frame is the first one of a stack of unknown size, so that a scan would list words of other stacks: its
    /// return address is null. On a stack whose base is known, the word was overwritten, and a scan ends at the base.
    #[inline(never)]
    pub(super) fn ends_stack(&self, reason: End) -> bool {
        matches!(reason, End::BadReturnAddress(0)) && self.has_no_base()
    }

    /// Checks whether the base of the cursor's stack is unknown.
    fn has_no_base(&self) -> bool {
        let sp = self.cursor.registers.sp();
        self.memory.is_base(cfa_at::<R>(sp)).is_none()
    }

    /// Returns the address of the last frame record of a stack of unknown size, if the frame pointer leads to it: its return address is null.
    /// All frames of the stack are below it.
    #[inline(never)]
    pub(super) fn last_record(&self) -> Option<u64> {
        let cursor = &self.cursor;
        let fp = cursor.registers.fp();
        let slot = fp.checked_add(R::WORD)?;
        let is_last = cursor.fp_known
            && is_aligned(fp, R::WORD)
            && read::<R>(&self.memory, slot) == Ok(0)
            && self.has_no_base();
        is_last.then_some(fp)
    }
}
