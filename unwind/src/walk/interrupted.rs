//! The step from trap code to the frame that it interrupted.

use crate::memory::Memory;
use crate::registers::RegisterSet;
use crate::row::Rule;
use crate::rules::Rules;
use crate::verdict::How;
use crate::walk::SavedRegister;
use crate::walk::cursor::{Cursor, Way, read};

impl<R: RegisterSet> Cursor<R> {
    /// Returns the address of the trap frame, if this is the frame of trap code that called a handler, and if the stack pointer and program
    /// counter in the trap frame (of the `saved` registers) equal the values that the row found (`interrupted`). Otherwise this trap code has
    /// another layout, as functions of the `x86-interrupt` convention do. If trap code itself was interrupted, its stack pointer may have any
    /// value.
    #[inline(never)]
    pub(super) fn trap_frame(
        &self,
        interrupted: &R,
        saved: &[SavedRegister],
        memory: &impl Memory,
    ) -> Option<u64> {
        let at = self.registers.sp();
        let is_same = |saved: &SavedRegister| {
            let expected = match saved.register {
                register if register == R::STACK_POINTER => interrupted.sp(),
                register if register == R::PROGRAM_COUNTER => interrupted.pc(),
                _ => return true,
            };
            let slot = at.checked_add(saved.offset.into());
            slot.and_then(|slot| read::<R>(memory, slot).ok()) == Some(expected)
        };
        (!self.exact && self.sp_known && saved.iter().all(is_same)).then_some(at)
    }

    /// Prepares the step from trap code with these `rules` to the interrupted frame: adds further saved registers to `registers`. Returns how to
    /// move the stack pointer, and the address at which the trap frame ends, if it is known.
    ///
    /// The interrupted frame is the next frame, with any program counter and stack pointer. But no step with a row follows from a stack
    /// pointer to which the walk may not go; otherwise a damaged table could make a trap frame its own caller forever. Values that the
    /// processor pushed have precedence over values that trap code saved.
    #[inline(always)]
    pub(super) fn interrupted(
        &self,
        registers: &mut R,
        on_stack: bool,
        rules: &Rules,
        (trap_frame, trap_registers): (Option<u64>, &[SavedRegister]),
        memory: &impl Memory,
    ) -> (Way, Option<u64>) {
        let sp = self.registers.sp();
        // If the trap code itself was interrupted, registers may be not yet saved or already restored.
        let saved_at = match self.exact {
            true => self.saved_at(rules, trap_registers),
            false => trap_frame,
        };
        let mut end = None;
        for saved in trap_registers {
            let slot = saved_at.and_then(|frame| frame.checked_add(saved.offset.into()));
            if saved.register == SavedRegister::END {
                end = slot;
                continue;
            }
            let value = match slot {
                Some(slot) if !self.exact || slot >= sp => read::<R>(memory, slot).ok(),
                None if !pc_is_in_register(rules) => None,
                _ => self.registers.other(saved.register),
            };
            if let Some(value) = value {
                registers.learn(saved.register, value);
            }
        }
        if let (Some(pushed), Some(at)) = (R::PUSHED, self.pushed(rules)) {
            end = at.checked_add(pushed.end);
            let slot = at.checked_add(pushed.state.1);
            if let Some(value) = slot.and_then(|slot| read::<R>(memory, slot).ok()) {
                registers.learn(pushed.state.0, value);
            }
        }
        // At the first and last instructions of trap code both can have the same stack pointer. Only the first frame can be
        // there, so the walk still ends.
        let same = on_stack && registers.sp() == sp && self.begins_at_edge(rules);
        (if same { Way::Stay } else { Way::Anywhere }, end)
    }

    /// Returns the address of the words that the processor pushed, if the rules use these words: the distance from the program counter to the
    /// stack pointer is the processor's. Trap code may save both elsewhere.
    #[inline(never)]
    pub(super) fn pushed(&self, rules: &Rules) -> Option<u64> {
        let pushed = R::PUSHED?;
        match (rules.return_address(), rules.cfa()) {
            (
                Rule::Saved { base, offset },
                Rule::Saved {
                    base: other,
                    offset: sp,
                },
            ) if base == other && sp.checked_sub(offset) == Some(pushed.stack_pointer) => {
                self.known_address(base, offset)
            }
            _ => None,
        }
    }

    /// Checks whether the walk starts in trap code, with these rules, before it saves or after it restores the registers.
    pub(super) fn begins_at_edge(&self, rules: &Rules) -> bool {
        self.how == How::Given && pc_is_in_register(rules)
    }

    /// Returns the trap frame of trap code that was itself interrupted, if the trap frame is complete. The row contains the location of the
    /// interrupted stack pointer.
    #[inline(never)]
    fn saved_at(&self, rules: &Rules, trap_registers: &[SavedRegister]) -> Option<u64> {
        let offset = rules
            .cfa_saved_at_sp()
            .filter(|_| !pc_is_in_register(rules))?;
        let mut saved = trap_registers.iter();
        let saved = saved.find(|saved| saved.register == R::STACK_POINTER)?;
        let slot = self.registers.sp().checked_add_signed(offset)?;
        slot.checked_sub(saved.offset.into())
    }
}

/// Checks whether trap code with these rules has the interrupted program counter in a register.
const fn pc_is_in_register(rules: &Rules) -> bool {
    rules.return_address_is_in_register()
}
