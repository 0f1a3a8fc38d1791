//! What walks go by.

use crate::code::Code;
use crate::memory::Memory;
use crate::registers::RegisterSet;
use crate::sframe::Tables;
use crate::source::RowSource;
use crate::verdict::How;
use crate::walk::cursor::Cursor;
use crate::walk::{Fallbacks, Frames, SavedRegister};

/// What walks go by: rows, code, where trap code keeps registers, and what is to be done without rows. All of it is said before a
/// walk begins, and no walk changes it; so one serves as many walks as there are stacks.
///
/// `S`: where rows come from.
#[derive(Clone, Copy, Debug)]
pub struct Unwinder<'a, S = Tables<'a>> {
    pub(super) source: S,
    pub(super) code: &'a [Code<'a>],
    pub(super) trap_registers: &'a [SavedRegister],
    pub(super) fallbacks: Fallbacks,
    pub(super) limit: u32,
}

impl<'a, S: RowSource> Unwinder<'a, S> {
    /// Walks by the rows of `source`, with all fallbacks.
    #[must_use]
    pub const fn new(source: S) -> Self {
        Self {
            source,
            code: &[],
            trap_registers: &[],
            fallbacks: Fallbacks::all(),
            limit: u32::MAX,
        }
    }

    /// Says what code there is: all of it, as several ranges where that is so. A return address outside is not followed, and
    /// one before which no call stands is not believed. Without this, code is what the source of rows covers, calls are not
    /// checked, and a walk with more than one frame ends with [`End::Outermost`](crate::End) at best.
    #[must_use]
    pub const fn code(mut self, code: &'a [Code<'a>]) -> Self {
        self.code = code;
        self
    }

    /// Says where trap code keeps registers of what it interrupted. Without this, a leaf that was interrupted on AArch64
    /// has no known caller.
    ///
    /// When trap code itself was interrupted, or a walk starts in it, it may not have saved these registers yet, or have
    /// restored them. The row tells where they are, and trap code has to keep to that: in themselves where the interrupted
    /// program counter is in a register (`ELR_EL1` on AArch64), and where that is in memory, in the trap frame, or below the
    /// stack pointer, which means in themselves too. For the latter the stack pointer must be one of `registers`: from its place
    /// in the frame and the one that the row gives follows where the frame is. Otherwise they are lost.
    #[must_use]
    pub const fn trap_registers(mut self, registers: &'a [SavedRegister]) -> Self {
        self.trap_registers = registers;
        self
    }

    /// Allows these fallbacks only.
    #[must_use]
    pub const fn fallbacks(mut self, fallbacks: Fallbacks) -> Self {
        self.fallbacks = fallbacks;
        self
    }

    /// Stops each walk after `frames` frames.
    #[must_use]
    pub const fn limit(mut self, frames: u32) -> Self {
        self.limit = frames;
        self
    }

    /// The frames from `registers` outwards: the exact registers of some instruction that runs, was interrupted, or failed.
    pub fn frames<R: RegisterSet, M: Memory>(
        &self,
        registers: R,
        memory: M,
    ) -> Frames<'_, R, M, S> {
        Frames::start(self, Cursor::exact(registers, How::Given), memory)
    }

    /// The frames from `registers` outwards, whose program counter is a return address: those of a task which gave up its
    /// processor by a call.
    ///
    /// A task that waits has kept what a switch saves, mostly on its stack: its registers are those with which the switch will
    /// return to it.
    ///
    /// ```
    /// use unwind::{Code, End, FrameKind, Range, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
    ///
    /// # let table: [u8; 79] = [
    /// #     0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0, 2, 0, 0, 0, 3, 0, 0, 0, 19, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0,
    /// #     0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 0, 0, 0, 0,
    /// #     0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x20, 0, 0, 0, 7, 0, 0, 0,
    /// #     1, 0, 0, 0, 0,  0, 0,
    /// #     2, 0, 0, 0, 0,  0, 3, 8,  1, 5, 16, 0xf0,
    /// # ];
    /// // What the task pushed before it gave up the processor in the function at 0x1010: its frame pointer; below that its own
    /// // frame, and above its caller's return address. The switch kept the stack pointer only.
    /// let (saved_sp, stack) = (0x8000, Range::new(0x8000, 0x8020));
    /// let words = [0, 0x1018, 0, 0x1005_u64];
    /// let read = |address| words.get((address as usize - 0x8000) / 8).copied();
    /// let word = |address| read(address).unwrap_or(0);
    /// let saved = Registers::new(word(saved_sp + 8), saved_sp + 16, word(saved_sp));
    ///
    /// let ranges = [stack];
    /// // The code of the entry function: `call 0x1010`.
    /// let code = [Code::new(&[0xe8, 0x0b, 0, 0, 0], 0x1000)];
    /// let unwinder = Unwinder::new(Tables::new(&table, 0x2000)).code(&code);
    /// let mut frames = unwinder.frames_from_call(saved, Stacks::new(&ranges, read));
    /// let first = frames.next().expect("the function that waits");
    /// assert_eq!((first.pc, first.kind), (0x1018, FrameKind::ReturnAddress));
    /// assert_eq!(frames.next().map(|frame| frame.pc), Some(0x1005));
    /// assert_eq!((frames.next(), frames.end()), (None, Some(End::Complete)));
    /// ```
    pub fn frames_from_call<R: RegisterSet, M: Memory>(
        &self,
        registers: R,
        memory: M,
    ) -> Frames<'_, R, M, S> {
        Frames::start(self, Cursor::called(registers, How::Given), memory)
    }
}
