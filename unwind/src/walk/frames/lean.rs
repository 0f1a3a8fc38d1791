//! The fast path for the common step: the frame is a return address on a kernel stack, its row gives the caller's registers relative to the
//! CFA, and a call before the return address targets the frame's function.
//!
//! If this path finds a caller, [`Frames::step_by_row`] finds the same caller. Only `step_by_row` reports why there is none.

use super::Frames;
use crate::lookup::{LookupError, Proof};
use crate::memory::{Memory, is_aligned};
use crate::registers::{RegisterSet, offset_address};
use crate::rules::Register;
use crate::source::RowSource;
use crate::verdict::How;
use crate::walk::frame::lookup_pc;
use crate::walk::{Frame, FrameKind};

impl<R: RegisterSet, M: Memory, S: RowSource> Frames<'_, R, M, S> {
    /// Checks whether the fast path may take the step from the cursor's frame, if a row led to this frame. If so, all fields of the cursor
    /// except the three registers and `fp_known` already have the caller's values.
    #[inline(always)]
    pub(super) fn may_be_lean(&self) -> bool {
        let has_row = self.cfa_known && !self.found.is_trap && self.on_stack && self.is_plain;
        has_row
            && self.adds_no_doubt()
            && self.tail_call.is_none()
            && self.cursor.how == How::SFrame
    }

    /// Checks whether the current row adds no doubt: the row is proven, or the list is already in doubt.
    #[inline(always)]
    fn adds_no_doubt(&self) -> bool {
        match self.found.proof {
            Proof::Proven => true,
            Proof::Unproven | Proof::IfEntered => self.doubt.is_some(),
            Proof::Unknown => self.unproven.is_some(),
        }
    }

    /// Steps to the caller if the fast path can, and returns whether it did. If not, nothing has changed.
    #[inline(always)]
    pub(super) fn step_lean(&mut self) -> bool {
        let Some((slot, fp_slot)) = self.found.rules.simple_saved() else {
            return false;
        };
        let cfa = self.cfa;
        let slot = offset_address::<R>(cfa, slot);
        let fp_slot = fp_slot.map(|offset| offset_address::<R>(cfa, offset));
        // Only aligned words are read.
        if !is_aligned(slot | fp_slot.unwrap_or(0), R::WORD) || self.count >= self.unwinder.limit {
            return false;
        }
        let sp = R::sp_at(cfa);
        let Some(frame) = self.memory.frame(self.reached, sp, cfa, R::WORD) else {
            return false;
        };
        let cursor = &self.cursor;
        let (mut fp, mut fp_known) = (cursor.registers.fp(), cursor.fp_known);
        if let Some(slot) = fp_slot {
            let Some(saved) = self.memory.word_of(&frame, slot, R::WORD) else {
                return false;
            };
            (fp, fp_known) = (saved, true);
        }
        let Some(return_address) = self.memory.word_of(&frame, slot, R::WORD) else {
            return false;
        };
        let pc = match self.found.is_signed() {
            true => cursor.registers.strip(return_address),
            false => return_address,
        };
        if !self.unwinder.fits::<R>(pc, &self.found) || !self.memory.leave(&frame, sp, R::WORD) {
            return false;
        }
        self.reached = sp;
        self.cursor.registers.set(pc, sp, fp);
        self.cursor.fp_known = fp_known;
        true
    }

    /// Looks up the cursor's row after such a step, and returns its frame. Never `None`: with this type, the result is written in place.
    #[inline(always)]
    pub(super) fn frame_after_lean(&mut self) -> Option<Frame<R>> {
        self.count = self.count.wrapping_add(1);
        let pc = self.cursor.registers.pc();
        let at = lookup_pc(pc, FrameKind::ReturnAddress);
        let outcome = self.unwinder.source.look_up(at, &mut self.found);
        let registers = &self.cursor.registers;
        let based = match self.found.rules.simple_cfa() {
            Some((Register::StackPointer, offset)) => Some((registers.sp(), offset)),
            Some((Register::FramePointer, offset)) if self.cursor.fp_known => {
                Some((registers.fp(), offset))
            }
            _ => None,
        };
        let cfa = based.map(|(base, offset)| offset_address::<R>(base, offset));
        match (outcome, cfa) {
            (Ok(()), Some(cfa))
                if !self.found.is_trap
                    && self.adds_no_doubt()
                    && is_aligned(cfa, R::CFA_ALIGNMENT) =>
            {
                self.cfa = cfa;
            }
            _ => self.leave_lean(outcome),
        }
        // Created again from three registers, which is cheaper than a copy of registers that are unknown in a caller.
        let registers = &self.cursor.registers;
        Some(Frame {
            pc,
            cfa: self.cfa_known.then_some(self.cfa),
            kind: FrameKind::ReturnAddress,
            how: How::SFrame,
            tail_call: None,
            trap_frame: None,
            fp_known: self.cursor.fp_known,
            registers: Some(registers.caller(pc, registers.sp(), registers.fp())),
        })
    }

    /// Keeps the result of the look-up for the cursor's frame, from which the fast path cannot take the next step.
    #[inline(never)]
    fn leave_lean(&mut self, outcome: Result<(), LookupError>) {
        self.is_lean = false;
        self.outcome = outcome;
        self.keep_cfa();
    }
}
