//! One frame of a walk.

use crate::verdict::How;

/// What a frame's program counter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum FrameKind {
    /// The next instruction to run: the innermost frame, one that was interrupted, or one that was made up to return to, without a call.
    Exact,
    /// The instruction after a call.
    ReturnAddress,
}

/// A frame: one function activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame<R> {
    /// The program counter, an address; of kind [`Self::kind`].
    pub pc: u64,
    /// The canonical frame address, when the frame has a row: the caller's stack pointer right before the call
    /// (plus 160 on s390x).
    pub cfa: Option<u64>,
    /// What [`Self::pc`] is.
    pub kind: FrameKind,
    /// How the frame was found.
    pub how: How,
    /// If the call before this return address leads to another function than that of the frame before: the address that it
    /// leads to. That function has left by tail calls, and has no frame any more.
    pub tail_call: Option<u64>,
    /// In an interrupted frame: the trap code's stack pointer at the call of the handler, an address: that of the trap frame.
    /// `None` if the trap code itself was interrupted, or has not saved registers there:
    /// [`Unwinder::trap_registers`](crate::Unwinder::trap_registers).
    pub trap_frame: Option<u64>,
    /// Whether the frame pointer among [`Self::registers`] is this frame's own: a function between it and the innermost one may
    /// have overwritten it without saving it.
    pub fp_known: bool,
    /// The registers, as far as they are known. `None` for a frame found by scanning, which is only a return address.
    pub registers: Option<R>,
}

impl<R> Frame<R> {
    /// The address to look the frame up by, in tables and for names.
    #[must_use]
    pub const fn lookup_pc(&self) -> u64 {
        lookup_pc(self.pc, self.kind)
    }

    /// The letter of the frame in a report: `p` exact, `r` return address, `a` by analysis of its callee's code, `f` by frame pointer,
    /// `l` by link register, `?` found by scanning.
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

/// The address and the letter, as in a report: only what a host needs to find the names, because the line may be slow.
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

/// The place of an interrupted register in the trap frame, beside those that rows describe: the link register on AArch64 (a
/// leaf's return address is nowhere else) and `x9`, `r10` and `r11` on x86-64. Or the place of one that rows describe, to compare both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct SavedRegister {
    /// The register's DWARF number.
    pub register: u32,
    /// Its offset in bytes from the trap code's stack pointer at the call of the handler.
    pub offset: u32,
}

impl SavedRegister {
    /// The number of no register: the offset is that of the end of the trap frame, of all that trap code has on the stack.
    pub const END: u32 = u32::MAX;

    /// A register by its DWARF number, and its place in bytes from the stack pointer.
    #[must_use]
    pub const fn new(register: u32, offset: u32) -> Self {
        Self { register, offset }
    }
}

/// A return address is looked up one byte before: a call may be its function's last instruction, and rows may change right
/// behind it. An exact address is looked up as it is.
#[inline(always)]
pub(crate) const fn lookup_pc(pc: u64, kind: FrameKind) -> u64 {
    match kind {
        FrameKind::Exact => pc,
        FrameKind::ReturnAddress => pc.wrapping_sub(1),
    }
}
