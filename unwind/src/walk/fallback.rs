//! Fallbacks: the caller's frame where there is no usable row.

use bitflags::bitflags;

use crate::lookup::LookupError;
use crate::memory::Memory;
use crate::registers::RegisterSet;
use crate::source::RowSource;
use crate::verdict::{End, How};
use crate::walk::cursor::{Cursor, Step, Way, read};
use crate::walk::frame::lookup_pc;
use crate::walk::{FrameKind, Unwinder};

bitflags! {
    /// Ways to find the caller without a usable row: which of them a walk may try. Their order is not a choice: the one that tells the most
    /// comes first, so that none is ever asked before a better one has failed. First rows; then the code, which knows the frame of any
    /// function at any instruction; then the link register, of a function that has no frame; then the frame pointer, which skips the
    /// caller of a function that has not made its frame yet; last a scan. Each frame found so is marked in its [`How`], and the walk is
    /// not complete.
    ///
    /// A row that leads to no caller (a damaged stack) is not asked for again as code: what the function does, its row said.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Fallbacks: u8 {
        /// The link register or, on x86-64, the word on top of the stack: for the innermost or an interrupted frame
        /// whose code has no rows, or is no code (a call through a bad pointer).
        const LINK_REGISTER = 1;
        /// The frame record at the frame pointer.
        const FRAME_POINTER = 2;
        /// Last: every word of the stack that could be a return address, because there is a call before it. Needs
        /// [`Unwinder::code`].
        const SCAN = 4;
        /// What the function's code does to its frame, where the source of rows can read it ([`CodeReader`](crate::CodeReader)) and has no
        /// row for it. Needs [`Unwinder::code`].
        const ANALYSIS = 8;
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Fallbacks {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Fallbacks({=u8:#b})", self.bits());
    }
}

impl<S: RowSource> Unwinder<'_, S> {
    /// The caller by the link register, or by the word that a call has pushed. Only where that is likely to be the return
    /// address still: a call through a bad pointer, or an innermost function that no table describes.
    #[inline(never)]
    pub(super) fn by_link<R: RegisterSet>(
        &self,
        cursor: &Cursor<R>,
        memory: &impl Memory,
        reason: End,
    ) -> Option<Step<R>> {
        let registers = &cursor.registers;
        let undescribed = match reason {
            End::BadPc(_) => false,
            End::NoRow(_, LookupError::NoFunction) => true,
            _ => return None,
        };
        if !self.fallbacks.contains(Fallbacks::LINK_REGISTER) || !cursor.exact {
            return None;
        }
        let sp = registers.sp();
        let (return_address, way, caller_sp) = match registers.link() {
            Some(link) => (link, Way::Stay, sp),
            None if R::RECORD_IS_TOP_OF_FRAME => {
                let pushed = read::<R>(memory, sp).ok()?;
                (pushed, Way::Up, sp.checked_add(R::WORD)?)
            }
            None => return None,
        };
        let pc = registers.strip(return_address);
        // A function without rows that is not a leaf has overwritten it with a return address into itself.
        let described = || {
            let call = lookup_pc(R::place(pc), FrameKind::ReturnAddress);
            self.source.covers(call)
        };
        if !self.is_return_address::<R>(pc) || (undescribed && !described()) {
            return None;
        }
        let caller = registers.caller(pc, caller_sp, registers.fp());
        let next = Cursor {
            fp_known: cursor.fp_known,
            ..Cursor::called(caller, How::LinkRegister)
        };
        Some(Step { next, way })
    }

    /// The caller by the frame record at the frame pointer: saved frame pointer, return address.
    #[inline(never)]
    pub(super) fn by_record<R: RegisterSet>(
        &self,
        cursor: &Cursor<R>,
        memory: &impl Memory,
    ) -> Option<Step<R>> {
        let registers = &cursor.registers;
        let fp = registers.fp();
        let aligned = fp.checked_rem(R::CFA_ALIGNMENT) == Some(0);
        let known = cursor.fp_known && aligned;
        if !self.fallbacks.contains(Fallbacks::FRAME_POINTER) || !known {
            return None;
        }
        let caller_fp = read::<R>(memory, fp).ok()?;
        let slot = fp.checked_add(R::WORD)?;
        let caller_sp = slot.checked_add(R::WORD)?;
        let pc = registers.strip(read::<R>(memory, slot).ok()?);
        if !self.is_return_address::<R>(pc) {
            return None;
        }
        let caller = registers.caller(pc, caller_sp, caller_fp);
        let next = Cursor {
            sp_known: R::RECORD_IS_TOP_OF_FRAME,
            ..Cursor::called(caller, How::FramePointer)
        };
        Some(Step { next, way: Way::Up })
    }
}
