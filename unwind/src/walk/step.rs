//! One step by a row: from a function's registers to its caller's. Reads, changes nothing.

use crate::memory::{Memory, is_aligned};
use crate::registers::{Registers, base_value};
use crate::sframe::{Base, Row, Rule};
use crate::walk::End;

/// A frame that a row is applied to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callee<R> {
    pub(crate) registers: R,
    /// The innermost or an interrupted frame.
    pub(crate) exact: bool,
    /// The stack pointer is right, not just a lower bound. It is not after a step by frame pointer on AArch64.
    pub(crate) sp_known: bool,
    /// The frame pointer is the frame's. It is not above a function that overwrites it and keeps it nowhere, as functions
    /// may that never return.
    pub(crate) fp_known: bool,
}

impl<R: Registers> Callee<R> {
    /// The canonical frame address by `row`, which may be that of a trap frame.
    pub(crate) fn cfa(&self, row: &Row, trap: bool, memory: &impl Memory) -> Result<u64, End> {
        let cfa = match row.cfa {
            Rule::Value { base, offset } => self.address(base, offset, None)?,
            Rule::Saved { base, offset } => read::<R>(memory, self.address(base, offset, None)?)?,
            // A row without a CFA is an outermost one, and asked for its caller first.
            Rule::Same | Rule::Undefined => return Err(End::Outermost),
        };
        let aligned = cfa.checked_rem(R::CFA_ALIGNMENT) == Some(0);
        // What was interrupted may have had any stack pointer.
        if aligned || trap {
            Ok(cfa)
        } else {
            Err(End::Misaligned(cfa))
        }
    }

    /// The caller's registers by `row` and its [`Self::cfa`], and whether its frame pointer is among them. Their program counter
    /// is not checked yet.
    pub(crate) fn caller(
        &self,
        row: &Row,
        cfa: Result<u64, End>,
        memory: &impl Memory,
    ) -> Result<(R, bool), End> {
        if row.is_outermost() {
            return Err(End::Outermost);
        }
        let registers = &self.registers;
        let cfa = cfa?;
        let return_address = match row.return_address {
            Rule::Undefined => return Err(End::Outermost),
            Rule::Same => registers.link().ok_or(End::LinkRegisterLost)?,
            Rule::Value { base, offset } => self.address(base, offset, Some(cfa))?,
            Rule::Saved { base, offset } => {
                read::<R>(memory, self.address(base, offset, Some(cfa))?)?
            }
        };
        let mut fp_known = true;
        let mut same = || {
            fp_known = self.fp_known;
            registers.fp()
        };
        let fp = match row.frame_pointer {
            Rule::Same | Rule::Undefined => same(),
            Rule::Value { base, offset } => match self.address(base, offset, Some(cfa)) {
                Ok(value) => value,
                // It is nowhere, or where a walk does not know it. Not every caller needs it.
                Err(End::RegisterLost(_) | End::FramePointerLost) => {
                    fp_known = false;
                    registers.fp()
                }
                Err(end) => return Err(end),
            },
            Rule::Saved { base, offset } => {
                let slot = self.address(base, offset, Some(cfa))?;
                // Compilers leave the rule in force after the epilogue's pop: by then the register holds the caller's
                // value again, and the slot, below the stack pointer, anything.
                if self.exact && slot < registers.sp() {
                    same()
                } else {
                    read::<R>(memory, slot)?
                }
            }
        };
        let caller = registers.caller(registers.strip(return_address), R::sp_at(cfa), fp);
        Ok((caller, fp_known))
    }

    fn address(&self, base: Base, offset: i64, cfa: Option<u64>) -> Result<u64, End> {
        let value = match base {
            Base::Cfa => cfa,
            Base::StackPointer if !self.sp_known => return Err(End::StackPointerLost),
            Base::FramePointer if !self.fp_known => return Err(End::FramePointerLost),
            other => base_value(&self.registers, other),
        };
        value
            .map(|value| value.wrapping_add_signed(offset))
            .ok_or(match base {
                Base::Register(number) => End::RegisterLost(number),
                // Not reached: the decoder makes no such row.
                _ => End::NoCfa,
            })
    }
}

/// The word at `address`. The only place that reads memory: so every word is aligned, whatever the address comes from.
#[inline(always)]
pub(super) fn read<R: Registers>(memory: &impl Memory, address: u64) -> Result<u64, End> {
    if !is_aligned(address, R::WORD) {
        return Err(End::UnalignedWord(address));
    }
    memory
        .word(address, R::WORD)
        .ok_or(End::Unreadable(address))
}
