//! Walks that continue: after an earlier walk, or after no rows for this trap code.

use super::{Frames, State};
use crate::memory::Memory;
use crate::registers::RegisterSet;
use crate::source::RowSource;
use crate::verdict::{Doubt, End, How, InheritedDoubt};
use crate::walk::cursor::{Cursor, Step, Way};

impl<R: RegisterSet, M: Memory, S: RowSource> Frames<'_, R, M, S> {
    /// Returns whether this walk is in doubt, for a walk that begins with the registers of its last frame: see [`Self::continues`].
    pub const fn inherited(&self) -> InheritedDoubt {
        InheritedDoubt(self.doubt.is_some() || self.unchecked.is_some() || self.unproven.is_some())
    }

    /// Makes this walk the continuation of an earlier walk, which found the registers with which this walk begins. If the earlier walk is in
    /// doubt, this walk is, too, with the reason [`End::StartInDoubt`].
    ///
    /// ```
    /// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
    /// # use example::*;
    /// # use unwind::{End, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
    /// # let unwinder = Unwinder::new(Tables::new(&TABLE, 0x2000));
    /// let registers = Registers::new(0x1018, 0x8000, 0);
    /// let mut first = unwinder.frames(registers, Stacks::new(&[STACK], read));
    /// let last = first.by_ref().last().and_then(|frame| frame.registers).expect("the entry function");
    /// let second = unwinder.frames_from_call(last, Stacks::new(&[STACK], read)).continues(first.inherited());
    /// assert_eq!(second.doubt().map(|doubt| doubt.reason), Some(End::StartInDoubt));
    /// ```
    #[must_use]
    pub const fn continues(mut self, earlier: InheritedDoubt) -> Self {
        if earlier.0 && self.doubt.is_none() {
            self.doubt = Some(Doubt {
                frame: 0,
                how: How::Given,
                reason: End::StartInDoubt,
            });
        }
        self
    }

    /// Continues a walk that ended with [`End::TrapFrame`], from the registers that the trap saved. The walk is in doubt, because no row
    /// contains their locations.
    ///
    /// Returns `false` and changes nothing if the walk ended for another reason, or if the walk may not go to the stack pointer.
    ///
    /// For kernels whose trap code has no rows, but whose trap frames have a known layout:
    ///
    /// ```
    /// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
    /// # use example::{BARE_TRAP_TABLE, TRAP_CODE};
    /// use unwind::{Code, End, How, Range, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
    ///
    /// // An entry function at 0x1000; trap code at 0x1010, for which the table has no rows; its handler at 0x1020.
    /// let tables = Tables::new(&BARE_TRAP_TABLE, 0x2000);
    /// let code = [Code::new(&TRAP_CODE, 0x1000)];
    /// // The handler's return address; then the registers that this trap code saves: rbp, rip, rsp.
    /// let words = [0x1018_u64, 0, 0x1004, 0x8020];
    /// let stacks = [Range::new(0x8000, 0x8020)];
    /// let read = |address: u64| words.get((address as usize - 0x8000) / 8).copied();
    ///
    /// let unwinder = Unwinder::new(tables).code(&code);
    /// let mut frames = unwinder.frames(Registers::new(0x1024, 0x8000, 0), Stacks::new(&stacks, read));
    /// assert_eq!(frames.by_ref().count(), 2);
    /// let Some(End::TrapFrame(saved)) = frames.end() else {
    ///     panic!("the walk ended for another reason");
    /// };
    /// let word = |offset| read(saved + offset).unwrap_or(0);
    /// assert!(frames.resume_at(Registers::new(word(8), word(16), word(0))));
    /// let interrupted = frames.next().expect("the interrupted frame");
    /// assert_eq!((interrupted.pc, interrupted.how), (0x1004, How::TrapFrame));
    /// assert_eq!((frames.next(), frames.end()), (None, Some(End::Outermost)));
    /// assert_eq!(frames.doubt().map(|doubt| doubt.reason), Some(End::TrapFrame(saved)));
    /// ```
    pub fn resume_at(&mut self, registers: R) -> bool {
        let State::Ended(reason @ End::TrapFrame(_)) = self.state else {
            return false;
        };
        let next = Cursor::exact(registers, How::TrapFrame);
        let goes_on = self.take(&Step { next, way: Way::Up }).is_ok();
        if goes_on {
            self.note(self.count, How::TrapFrame, reason);
        }
        goes_on
    }
}
