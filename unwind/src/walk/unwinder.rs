//! The configuration of walks.

use crate::code::Code;
use crate::memory::Memory;
use crate::registers::RegisterSet;
use crate::sframe::Tables;
use crate::source::RowSource;
use crate::walk::{Fallbacks, Frames, SavedRegister};

/// The configuration of walks: the source of rows, the code, the layout of trap frames, and the fallbacks.
///
/// A walk does not change its unwinder, so one unwinder serves any number of walks. `S` is the source of rows.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::*;
/// use unwind::{Code, End, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
///
/// // The function at 0x1010 was called by the entry function at 0x1000.
/// let code = [Code::new(&CODE, 0x1000)];
/// let unwinder = Unwinder::new(Tables::new(&TABLE, 0x2000)).code(&code);
/// let registers = Registers::new(0x1018, 0x8000, 0);
/// let mut frames = unwinder.frames(registers, Stacks::new(&[STACK], read));
/// let pcs: Vec<u64> = frames.by_ref().map(|frame| frame.pc).collect();
/// assert_eq!(pcs, [0x1018, 0x1005]);
/// assert_eq!(frames.end(), Some(End::Complete));
/// ```
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
    /// Creates an unwinder that uses the rows of `source` and all fallbacks.
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

    /// Sets the kernel's code: all of it, in one or several ranges.
    ///
    /// A walk rejects a return address that is outside these ranges, or that does not follow a call. (In a function without a caller, a
    /// return address without a call is accepted, in doubt.) Without this, code is what the source of rows covers and calls are not
    /// checked, so that a walk with more than one frame ends with [`End::Outermost`](crate::End) at best.
    ///
    /// ```
    /// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
    /// # use example::*;
    /// # use unwind::{Code, End, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
    /// let without_code = Unwinder::new(Tables::new(&TABLE, 0x2000));
    /// let code = [Code::new(&CODE, 0x1000)];
    /// for (unwinder, end) in [(without_code, End::Outermost), (without_code.code(&code), End::Complete)] {
    ///     let mut frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0), Stacks::new(&[STACK], read));
    ///     assert_eq!(frames.by_ref().count(), 2);
    ///     assert_eq!(frames.end(), Some(end));
    /// }
    /// ```
    #[must_use]
    pub const fn code(mut self, code: &'a [Code<'a>]) -> Self {
        self.code = code;
        self
    }

    /// Sets further code of the kernel, in addition to [`Self::code`], which must be set: the code of loaded modules, for example.
    ///
    /// ```
    /// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
    /// # use example::*;
    /// # use unwind::{Code, End, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
    /// let (image, modules) = ([Code::new(&[0xf4], 0x10_0000)], [Code::new(&CODE, 0x1000)]);
    /// let unwinder = Unwinder::new(Tables::new(&TABLE, 0x2000)).code(&image).more_code(&modules);
    /// let mut frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0), Stacks::new(&[STACK], read));
    /// assert_eq!(frames.by_ref().count(), 2);
    /// assert_eq!(frames.end(), Some(End::Complete));
    /// ```
    #[must_use]
    pub const fn more_code(mut self, code: &'a [Code<'a>]) -> Self {
        self.more_code = code;
        self
    }

    /// Sets the code of user programs whose frames are listed, too, with rows from the same source. Without this, a walk ends at the
    /// first frame of user code.
    ///
    /// A frame belongs to user code if the processor state that trap code saved has user privileges. Return addresses of such a frame
    /// must be in this code, and return addresses of the kernel in [`Self::code`]. No fallback is used in user code.
    #[must_use]
    pub const fn user_code(mut self, code: &'a [Code<'a>]) -> Self {
        self.user_code = code;
        self
    }

    /// Sets the locations of interrupted registers in the kernel's trap frames, for registers that rows do not describe.
    ///
    /// - **Link register:** on AArch64, the caller of an interrupted leaf function is unknown without the link register, unless the tables
    ///   contain its location.
    /// - **User code:** the location of `cs` ([`CS`](crate::x86_64::CS)) or `SPSR_EL1` ([`SPSR`](crate::aarch64::SPSR)) lets a walk
    ///   recognize user code. [`SavedRegister::END`] is the end of the trap frame: if user code was interrupted and no stack begins there,
    ///   frames of the kernel may be missing. On x86-64 neither is needed if rows find `rip` and `rsp` as the processor pushed them,
    ///   because then the pushed `cs` counts.
    /// - **Check:** if `registers` contains the stack pointer or the program counter (`rip`, `ELR_EL1`, `pc`), the trap frame is used only
    ///   if the values there equal the values that the row finds. So trap code with another layout is recognized.
    ///
    /// # Interrupted trap code
    ///
    /// If trap code itself was interrupted, or a walk starts in trap code, these registers may not be saved yet, or may be restored already.
    /// The row decides. While the interrupted program counter is in a register (`ELR_EL1` on AArch64), these registers still have
    /// their interrupted values. While it is in memory, they are in the trap frame; registers whose slot is below the stack pointer
    /// are restored. In the second case the stack pointer must be in `registers`, so that its offset and its address from the row give
    /// the address of the trap frame. Otherwise the registers are lost.
    ///
    /// ```
    /// use unwind::{SavedRegister, Unwinder, aarch64::{LR, SPSR}, sframe::Tables};
    ///
    /// // This kernel stores x30 240 bytes and SPSR_EL1 264 bytes above the stack pointer; its trap frame has 272 bytes.
    /// const SAVED: [SavedRegister; 3] = [
    ///     SavedRegister::new(LR, 240),
    ///     SavedRegister::new(SPSR, 264),
    ///     SavedRegister::new(SavedRegister::END, 272),
    /// ];
    /// let unwinder = Unwinder::new(Tables::none()).trap_registers(&SAVED);
    /// ```
    #[must_use]
    pub const fn trap_registers(mut self, registers: &'a [SavedRegister]) -> Self {
        self.trap_registers = registers;
        self
    }

    /// Restricts a walk to these fallbacks. Without this, a walk uses all of them.
    ///
    /// ```
    /// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
    /// # use example::*;
    /// use unwind::{End, Fallbacks, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
    ///
    /// // An image without tables: no caller is found.
    /// let unwinder = Unwinder::new(Tables::none()).fallbacks(Fallbacks::empty());
    /// let mut frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0x8000), Stacks::new(&[STACK], read));
    /// assert_eq!(frames.by_ref().count(), 1);
    /// assert!(matches!(frames.end(), Some(End::NoTables(_))));
    /// ```
    #[must_use]
    pub const fn fallbacks(mut self, fallbacks: Fallbacks) -> Self {
        self.fallbacks = fallbacks;
        self
    }

    /// Stops each walk after `frames` frames. If there are more, the walk ends with [`End::Limit`](crate::End).
    ///
    /// ```
    /// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
    /// # use example::*;
    /// # use unwind::{Code, End, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
    /// let code = [Code::new(&CODE, 0x1000)];
    /// let unwinder = Unwinder::new(Tables::new(&TABLE, 0x2000)).code(&code).limit(1);
    /// let mut frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0), Stacks::new(&[STACK], read));
    /// assert_eq!(frames.by_ref().count(), 1);
    /// assert_eq!(frames.end(), Some(End::Limit));
    /// ```
    #[must_use]
    pub const fn limit(mut self, frames: u32) -> Self {
        self.limit = frames;
        self
    }

    /// Starts a walk: returns the frames from `registers` outwards, innermost first.
    ///
    /// `registers` are the exact registers of an instruction that runs, was interrupted, or failed: the program counter is the address
    /// of that instruction, not a return address. For a return address, use [`Self::frames_from_call`].
    ///
    /// ```
    /// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
    /// # use example::*;
    /// # use unwind::{Code, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
    /// let code = [Code::new(&CODE, 0x1000)];
    /// let unwinder = Unwinder::new(Tables::new(&TABLE, 0x2000)).code(&code);
    /// let mut frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0), Stacks::new(&[STACK], read));
    /// let first = frames.next().expect("the function that ran");
    /// assert_eq!((first.pc, first.letter()), (0x1018, 'p'));
    /// let caller = frames.next().expect("its caller");
    /// assert_eq!((caller.pc, caller.letter()), (0x1005, 'r'));
    /// ```
    pub fn frames<R: RegisterSet, M: Memory>(
        &self,
        registers: R,
        memory: M,
    ) -> Frames<'_, R, M, S> {
        Frames::start(self, registers, true, memory)
    }

    /// Starts a walk at a return address: returns the frames from `registers` outwards. For a task that was suspended in a call.
    ///
    /// A suspended task saved its registers at the task switch, usually on its stack. Pass the registers with which the switch will
    /// return to the task.
    ///
    /// ```
    /// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
    /// # use example::*;
    /// use unwind::{Code, End, FrameKind, Range, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
    ///
    /// // The task was suspended in the function at 0x1010. Its stack contains, upwards: the frame pointer and the return address of the
    /// // switch, which saved only the stack pointer; then the function's saved frame pointer and return address.
    /// let saved_sp = 0x8000;
    /// let words = [0, 0x1018, 0, 0x1005_u64];
    /// let read = |address| words.get((address as usize - 0x8000) / 8).copied();
    /// let word = |address| read(address).unwrap_or(0);
    /// let saved = Registers::new(word(saved_sp + 8), saved_sp + 16, word(saved_sp));
    ///
    /// let stacks = [Range::new(0x8000, 0x8020)];
    /// let code = [Code::new(&CODE, 0x1000)];
    /// let unwinder = Unwinder::new(Tables::new(&TABLE, 0x2000)).code(&code);
    /// let mut frames = unwinder.frames_from_call(saved, Stacks::new(&stacks, read));
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
