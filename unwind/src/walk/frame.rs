//! Frames of a walk.

use crate::verdict::How;

/// The kind of a frame's program counter: an exact address or a return address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum FrameKind {
    /// The address of the next instruction to run: in the innermost frame, in an interrupted frame, or at a return address that was
    /// stored without a call.
    Exact,
    /// The address of the instruction after a call.
    ReturnAddress,
}

/// A frame: one activation of a function, as a walk found it.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::*;
/// use unwind::{Code, FrameKind, How, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
///
/// let code = [Code::new(&CODE, 0x1000)];
/// let unwinder = Unwinder::new(Tables::new(&TABLE, 0x2000)).code(&code);
/// let mut frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0), Stacks::new(&[STACK], read));
/// let caller = frames.nth(1).expect("the caller of the function at 0x1010");
/// assert_eq!((caller.pc, caller.kind, caller.how), (0x1005, FrameKind::ReturnAddress, How::SFrame));
/// // The call instruction is before the return address.
/// assert_eq!(caller.lookup_pc(), 0x1004);
/// assert_eq!(caller.registers.map(|registers| registers.sp), Some(0x8010));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame<R> {
    /// The program counter, an address of the kind [`Self::kind`]. To look up a name or a row, use [`Self::lookup_pc`].
    pub pc: u64,
    /// The canonical frame address (CFA) if the frame has a row: the caller's stack pointer immediately before the call, plus 160 on
    /// s390x.
    pub cfa: Option<u64>,
    /// The kind of [`Self::pc`].
    pub kind: FrameKind,
    /// The method that found the frame.
    pub how: How,
    /// The target of the call before this return address, if that target is not in the function of the previous frame. The called
    /// function left by a tail call and has no frame any more.
    pub tail_call: Option<u64>,
    /// The address of the trap frame, in an interrupted frame: the trap code's stack pointer at its call of the handler.
    ///
    /// `None` if the trap code itself was interrupted, or if the values there contradict the row:
    /// see [`Unwinder::trap_registers`](crate::Unwinder::trap_registers).
    pub trap_frame: Option<u64>,
    /// Whether the frame pointer in [`Self::registers`] is the frame pointer of this frame. It is not if a function further in
    /// overwrote the register without saving it.
    pub fp_known: bool,
    /// The registers of the frame, as far as they are known. `None` if a scan found the frame, because a scan finds only a return address.
    pub registers: Option<R>,
}

impl<R> Frame<R> {
    /// Returns the address with which to look up the frame's row, name and line: [`Self::pc`] if it is exact, and one byte less if it is a
    /// return address, because the call may be the last instruction of its function.
    #[must_use]
    pub const fn lookup_pc(&self) -> u64 {
        lookup_pc(self.pc, self.kind)
    }

    /// Returns the letter of the frame in a report: `p` for an exact address and `r` for a return address, unless a fallback found the frame:
    /// `a` with the code of its callee, `f` with the frame pointer, `l` with the link register, `?` with a scan of the stack.
    #[must_use]
    pub const fn letter(&self) -> char {
        match (self.how, self.kind) {
            (How::Scan, _) => '?',
            (How::LinkRegister, _) => 'l',
            (How::FramePointer, _) => 'f',
            (How::Analysis, _) => 'a',
            (_, FrameKind::Exact) => 'p',
            (_, FrameKind::ReturnAddress) => 'r',
        }
    }
}

/// Writes the address and the letter, as in a report. A host finds the names, so that few bytes go over a slow line.
#[cfg(feature = "defmt")]
impl<R> defmt::Format for Frame<R> {
    fn format(&self, f: defmt::Formatter<'_>) {
        match self.letter() {
            'p' => defmt::write!(f, "{=u64:#018x} p", self.pc),
            'r' => defmt::write!(f, "{=u64:#018x} r", self.pc),
            'a' => defmt::write!(f, "{=u64:#018x} a", self.pc),
            'f' => defmt::write!(f, "{=u64:#018x} f", self.pc),
            'l' => defmt::write!(f, "{=u64:#018x} l", self.pc),
            _ => defmt::write!(f, "{=u64:#018x} ?", self.pc),
        }
    }
}

/// The location of an interrupted register in a trap frame: see [`Unwinder::trap_registers`](crate::Unwinder::trap_registers).
///
/// Useful for registers that rows do not describe: the link register and `x9` on AArch64, `r10` and `r11` on x86-64. The stack pointer
/// and the program counter, which rows do describe, may be listed so that a walk compares both values.
///
/// ```
/// use unwind::{SavedRegister, x86_64::{R10, RSP}};
///
/// // Trap code that pushes fifteen registers: r10 is 40 bytes above the stack pointer, the interrupted rsp 144 bytes.
/// const SAVED: [SavedRegister; 2] = [SavedRegister::new(R10, 40), SavedRegister::new(RSP, 144)];
/// assert_eq!(SAVED[0].offset, 40);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct SavedRegister {
    /// The DWARF number of the register, or [`Self::END`].
    pub register: u32,
    /// The offset of the saved value in bytes from the trap code's stack pointer at its call of the handler.
    pub offset: u32,
}

impl SavedRegister {
    /// A number that marks the end of the trap frame instead of a register: all that the processor and trap code stored is below the
    /// offset.
    pub const END: u32 = u32::MAX;

    /// Creates a location from the register's DWARF number and the offset in bytes from the stack pointer.
    #[must_use]
    pub const fn new(register: u32, offset: u32) -> Self {
        Self { register, offset }
    }
}

/// Returns the address with which to look up a program counter. For a return address, one byte less: a call may be the last instruction of
/// its function, and rows may change immediately after it.
#[inline(always)]
pub(crate) const fn lookup_pc(pc: u64, kind: FrameKind) -> u64 {
    match kind {
        FrameKind::Exact => pc,
        FrameKind::ReturnAddress => pc.wrapping_sub(1),
    }
}
