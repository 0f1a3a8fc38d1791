//! The configuration of walks.

use crate::code::Code;
use crate::memory::Memory;
use crate::registers::RegisterSet;
use crate::sframe::Tables;
use crate::source::RowSource;
use crate::walk::{Fallbacks, Frames, SavedRegister};

/// The configuration of walks: rows, code, the places of registers in trap frames, and fallbacks. A walk does not change it, so
/// one serves any number of walks.
///
/// `S`: the source of rows.
#[derive(Clone, Copy, Debug)]
pub struct Unwinder<'a, S = Tables<'a>> {
    pub(super) source: S,
    pub(super) code: &'a [Code<'a>],
    pub(super) more_code: &'a [Code<'a>],
    pub(super) user_code: &'a [Code<'a>],
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
            more_code: &[],
            user_code: &[],
            trap_registers: &[],
            fallbacks: Fallbacks::all(),
            limit: u32::MAX,
        }
    }

    /// Sets the code: all of it, in one or several ranges. A return address outside of them, or without a call before it, is
    /// rejected. Without this, code is what the source of rows covers, calls are not checked, and a walk with more than one
    /// frame ends with [`End::Outermost`](crate::End) at best.
    #[must_use]
    pub const fn code(mut self, code: &'a [Code<'a>]) -> Self {
        self.code = code;
        self
    }

    /// Sets further code of the kernel, where [`Self::code`] is set: modules, whose list is another one than that of the image.
    #[must_use]
    pub const fn more_code(mut self, code: &'a [Code<'a>]) -> Self {
        self.more_code = code;
        self
    }

    /// Sets the code of user programs whose callers are to be listed too, by rows from the same source. A frame is one of user
    /// code if the state says so that trap code has saved; then only this is its code, and only [`Self::code`] is the kernel's.
    /// In user code there are no fallbacks, and only declared stacks are read. Without this, a walk ends at user code.
    #[must_use]
    pub const fn user_code(mut self, code: &'a [Code<'a>]) -> Self {
        self.user_code = code;
        self
    }

    /// Sets the places of interrupted registers in trap frames. Without them, the caller of an interrupted leaf on AArch64 is
    /// not known.
    ///
    /// If trap code itself was interrupted, or a walk starts in it, it may not have saved these registers yet, or have restored
    /// them already. The row decides, so trap code must match it: while the interrupted program counter is in a register
    /// (`ELR_EL1` on AArch64), these registers have their own values; while it is in memory, they are in the trap frame or, if
    /// that is below the stack pointer, restored. In the latter case the stack pointer must be one of `registers`: its offset,
    /// and its address by the row, give the address of the frame. Otherwise the registers are lost.
    ///
    /// If the places of the stack pointer and of the program counter (`rip`, `ELR_EL1`, `pc`) are among `registers`, a trap frame counts
    /// only where their values are those that the row has found. So trap code that saves registers in another way is told from this one.
    ///
    /// The place of `cs` ([`CS`](crate::x86_64::CS)) or of `SPSR_EL1` ([`SPSR`](crate::aarch64::SPSR)) tells user code, and
    /// [`SavedRegister::END`] where the frame ends, above which nothing of the kernel may be then. Without the former, all code is
    /// the kernel's; but on x86-64 neither is needed where rows find `rip` and `rsp` as the processor pushes them, with `cs` between: what the processor
    /// has pushed counts more.
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
        Frames::start(self, registers, true, memory)
    }

    /// The frames from `registers` outwards, whose program counter is a return address: those of a task that was switched away
    /// by a call.
    ///
    /// A waiting task has saved its registers at the switch, mostly on its stack: pass those with which the switch will return
    /// to it.
    ///
    /// ```
    /// use unwind::{Code, End, FrameKind, Range, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
    ///
    /// # let table: [u8; 107] = [
    /// #     0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0, 2, 0, 0, 0, 3, 0, 0, 0, 47, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0,
    /// #     0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 0, 0, 0, 0,
    /// #     0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x20, 0, 0, 0, 7, 0, 0, 0,
    /// #     1, 0, 0, 0, 0,  0, 0,
    /// #     2, 0, 0, 0, 0,  0, 3, 8,  1, 5, 16, 0xf0,
    /// #     0, 0, 0, 0, b'S', b'F', b'P', b'F', 0, 0x20, 0, 0, 0, 0, 0, 0, b'S', b'L', b'N', b'K',
    /// #     0x20, 0x40, 0x34, 0x4a, b'S', b'F', b'C', b'K',
    /// # ];
    /// // The task switched away in the function at 0x1010. On its stack, upwards: the frame pointer and the return address of the
    /// // switch, which saved only the stack pointer; then the function's saved frame pointer and return address.
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
        Frames::start(self, registers, false, memory)
    }
}
