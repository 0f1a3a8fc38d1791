//! The position of a walk, and a step from it.

use crate::lookup::Found;
use crate::memory::{Memory, is_aligned};
use crate::registers::{RegisterSet, base_value, offset_address};
use crate::row::{Base, Rule};
use crate::rules::Register;
use crate::verdict::{End, How};
use crate::walk::FrameKind;

/// The current frame of a walk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<R> {
    pub(super) registers: R,
    /// Whether the program counter is exact: in the first frame or an interrupted frame.
    pub(super) exact: bool,
    /// Whether the stack pointer is known. After a step with the frame pointer on AArch64, it is only a lower bound.
    pub(super) sp_known: bool,
    /// Whether the frame pointer is the frame's own. False in callers of a function that overwrites the register without saving it, as a
    /// function that never returns may.
    pub(super) fp_known: bool,
    pub(super) how: How,
    /// The address of the trap frame, if this frame was interrupted.
    pub(super) trap_frame: Option<u64>,
}

/// A step from a cursor to its caller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<R> {
    pub(super) next: Cursor<R>,
    pub(super) way: Way,
}

/// How a step moves the stack pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// To the same stack pointer.
    Stay,
    /// Up, or to another stack. If the walk may not go there, the step fails.
    Up,
    /// Up, or to another stack. If the walk may not go there, the step succeeds nevertheless, because interrupted code is a frame with any stack
    /// pointer. (A bad stack pointer may be the reason for the trap.) Nothing is read there: only a fallback may follow, not a step with a
    /// row.
    Anywhere,
}

impl<R> Cursor<R> {
    /// Creates a frame whose registers are exact.
    pub(super) fn exact(registers: R, how: How) -> Self {
        Self {
            exact: true,
            ..Self::called(registers, how)
        }
    }

    /// Creates a frame whose program counter is a return address.
    pub(super) const fn called(registers: R, how: How) -> Self {
        Self {
            registers,
            exact: false,
            sp_known: true,
            fp_known: true,
            how,
            trap_frame: None,
        }
    }

    pub(super) const fn kind(&self) -> FrameKind {
        if self.exact {
            FrameKind::Exact
        } else {
            FrameKind::ReturnAddress
        }
    }
}

impl<R: RegisterSet> Cursor<R> {
    /// Returns the canonical frame address from the row that was `found`.
    #[inline(always)]
    pub(super) fn cfa(&self, found: &Found, memory: &impl Memory) -> Option<u64> {
        let (base, offset) = match found.rules.simple_cfa() {
            Some((Register::StackPointer, offset)) if self.sp_known => {
                (self.registers.sp(), offset)
            }
            Some((Register::FramePointer, offset)) if self.fp_known => {
                (self.registers.fp(), offset)
            }
            _ => return self.any_cfa(found, memory).ok(),
        };
        let cfa = offset_address::<R>(base, offset);
        (is_aligned(cfa, R::CFA_ALIGNMENT) || found.is_trap).then_some(cfa)
    }

    /// Does what [`Self::cfa`] does, for any rule, and returns the reason if there is no address.
    #[inline(never)]
    pub(super) fn any_cfa(&self, found: &Found, memory: &impl Memory) -> Result<u64, End> {
        let cfa = match found.rules.cfa() {
            Rule::Value { base, offset } => self.address(base, offset)?,
            Rule::Saved { base, offset } => read::<R>(memory, self.address(base, offset)?)?,
            // A row without a CFA belongs to a function without a caller.
            Rule::Same | Rule::Undefined => return Err(End::Outermost),
        };
        // An interrupted stack pointer may have any value.
        if is_aligned(cfa, R::CFA_ALIGNMENT) || found.is_trap {
            Ok(cfa)
        } else {
            Err(End::Misaligned(cfa))
        }
    }

    /// Returns the address `base + offset` of a rule. Not inlined, because each caller would have a copy.
    #[inline(never)]
    pub(super) fn address(&self, base: Base, offset: i64) -> Result<u64, End> {
        match self.known_address(base, offset) {
            Some(address) => Ok(address),
            None => Err(match base {
                Base::StackPointer => End::StackPointerLost,
                Base::FramePointer => End::FramePointerLost,
                Base::Register(number) => End::RegisterLost(number),
                // A frame address relative to itself. No source has such a row.
                Base::Cfa => End::NoCfa,
            }),
        }
    }

    /// Returns the address `base + offset` of a rule, or `None`.
    pub(super) fn known_address(&self, base: Base, offset: i64) -> Option<u64> {
        let value = match base {
            Base::StackPointer if !self.sp_known => None,
            Base::FramePointer if !self.fp_known => None,
            other => base_value(&self.registers, other),
        };
        value.map(|value| offset_address::<R>(value, offset))
    }
}

/// Returns the word at `address`. Only this function reads memory, so that every word read is aligned.
#[inline(always)]
pub(super) fn read<R: RegisterSet>(memory: &impl Memory, address: u64) -> Result<u64, End> {
    if !is_aligned(address, R::WORD) {
        return Err(End::UnalignedWord(address));
    }
    memory
        .word(address, R::WORD)
        .ok_or(End::Unreadable(address))
}
