//! The position of a walk, and a step from it.

use crate::lookup::Found;
use crate::memory::{Memory, is_aligned};
use crate::registers::{RegisterSet, base_value, offset_address};
use crate::row::{Base, Rule};
use crate::rules::Register;
use crate::verdict::{End, How};
use crate::walk::FrameKind;

/// The frame that a walk is at, with what is known of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<R> {
    pub(super) registers: R,
    /// The innermost or an interrupted frame.
    pub(super) exact: bool,
    /// The stack pointer is right, not just a lower bound. It is not after a step by frame pointer on AArch64.
    pub(super) sp_known: bool,
    /// The frame pointer is the frame's own. It is not in callers of a function that overwrites it without saving it, as one
    /// that never returns may.
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
    /// Up, or to another stack. If the walk may not go there, the step succeeds nevertheless, because interrupted code is a
    /// frame whatever its stack pointer, which may be the reason for the trap. But nothing is read there: no step by a row
    /// follows, only a fallback may.
    Anywhere,
}

impl<R> Cursor<R> {
    /// A frame whose registers are exact.
    pub(super) fn exact(registers: R, how: How) -> Self {
        Self {
            exact: true,
            ..Self::called(registers, how)
        }
    }

    /// A frame whose program counter is a return address.
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
    /// The canonical frame address by the row that was `found`.
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

    /// As [`Self::cfa`], by any rule, with the reason if there is none.
    #[inline(never)]
    pub(super) fn any_cfa(&self, found: &Found, memory: &impl Memory) -> Result<u64, End> {
        let cfa = match found.rules.cfa() {
            Rule::Value { base, offset } => self.address(base, offset)?,
            Rule::Saved { base, offset } => read::<R>(memory, self.address(base, offset)?)?,
            // A row without a CFA is that of an outermost function, for which no caller is looked up.
            Rule::Same | Rule::Undefined => return Err(End::Outermost),
        };
        // An interrupted stack pointer may have any value.
        if is_aligned(cfa, R::CFA_ALIGNMENT) || found.is_trap {
            Ok(cfa)
        } else {
            Err(End::Misaligned(cfa))
        }
    }

    /// The address `base + offset` of a rule. Not inlined, because each caller would have a copy.
    #[inline(never)]
    pub(super) fn address(&self, base: Base, offset: i64) -> Result<u64, End> {
        match self.known_address(base, offset) {
            Some(address) => Ok(address),
            None => Err(match base {
                Base::StackPointer => End::StackPointerLost,
                Base::FramePointer => End::FramePointerLost,
                Base::Register(number) => End::RegisterLost(number),
                // A frame address that is based on itself: no source makes such a row.
                Base::Cfa => End::NoCfa,
            }),
        }
    }

    /// The same, without the reason if there is none.
    pub(super) fn known_address(&self, base: Base, offset: i64) -> Option<u64> {
        let value = match base {
            Base::StackPointer if !self.sp_known => None,
            Base::FramePointer if !self.fp_known => None,
            other => base_value(&self.registers, other),
        };
        value.map(|value| offset_address::<R>(value, offset))
    }
}

/// The word at `address`. The only place that reads memory, so that every word read is aligned.
#[inline(always)]
pub(super) fn read<R: RegisterSet>(memory: &impl Memory, address: u64) -> Result<u64, End> {
    if !is_aligned(address, R::WORD) {
        return Err(End::UnalignedWord(address));
    }
    memory
        .word(address, R::WORD)
        .ok_or(End::Unreadable(address))
}
