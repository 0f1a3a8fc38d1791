//! Fallbacks: the caller's frame if there is no usable row.

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
    /// The set of fallbacks: methods that find a caller if no row can be used. See [`Unwinder::fallbacks`].
    ///
    /// A walk tries the allowed fallbacks in a fixed order, the most reliable first:
    ///
    /// 1. [`Self::ANALYSIS`] of the code, which finds the frame of any function at any instruction;
    /// 2. the [`Self::LINK_REGISTER`], for a function without a frame: the frame record does not contain the same return address;
    /// 3. the [`Self::FRAME_POINTER`], which skips the caller of a function that has not set up its frame yet;
    /// 4. a [`Self::SCAN`] of the stack.
    ///
    /// A frame that a fallback found is marked in [`Frame::how`](crate::Frame::how), and the walk is in doubt. If a row exists but does not
    /// lead to a caller (on a damaged stack, for example), the code is not analysed, because the row already describes it.
    ///
    /// No fallback is used if the analysis shows that the code has no caller: the code sets the stack pointer to another stack, and never
    /// returns. No scan follows a null return address on a stack whose base is unknown, because the address ends the stack.
    ///
    /// ```
    /// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
    /// # use example::*;
    /// use unwind::{Code, Fallbacks, How, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
    ///
    /// // No scan, because its frames may be wrong.
    /// let code = [Code::new(&CODE, 0x1000)];
    /// let unwinder = Unwinder::new(Tables::new(&ENTRY_TABLE, 0x2000)).code(&code);
    /// let unwinder = unwinder.fallbacks(Fallbacks::all() - Fallbacks::SCAN);
    /// let mut frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0x8000), Stacks::new(&[STACK], read));
    /// let caller = frames.nth(1).expect("the frame pointer leads to the caller");
    /// assert_eq!((caller.how, caller.letter()), (How::FramePointer, 'f'));
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Fallbacks: u8 {
        /// The link register or, on x86-64, the word on top of the stack. For the first frame or an interrupted frame, if its code has no
        /// rows, or if the program counter is not in code (after a call through a bad pointer).
        const LINK_REGISTER = 1;
        /// The frame record at the frame pointer: the saved frame pointer and the return address.
        const FRAME_POINTER = 2;
        /// A scan of the stack: every word that could be a return address, because a call precedes that address. Needs [`Unwinder::code`].
        const SCAN = 4;
        /// An analysis of the function's code, if the source of rows is a [`CodeReader`](crate::CodeReader) and has no row. Needs
        /// [`Unwinder::code`].
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
    /// Returns the step to the caller with the link register, or with the word that a call pushed. Only if that is likely to be the return
    /// address still: after a call through a bad pointer, or in an innermost function that no table describes.
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
        // A function without rows that has saved the link register has also moved the stack pointer, by an unknown number of bytes. The
        // step by frame record leads to the same address and does not need the stack pointer.
        if undescribed && registers.link().is_some() {
            let record = self.by_record(cursor, memory);
            if record.is_some_and(|step| step.next.registers.pc() == pc) {
                return None;
            }
        }
        let caller = registers.caller(pc, caller_sp, registers.fp());
        let next = Cursor {
            fp_known: cursor.fp_known,
            ..Cursor::called(caller, How::LinkRegister)
        };
        Some(Step { next, way })
    }

    /// Returns the step to the caller with the frame record at the frame pointer: saved frame pointer, return address.
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
