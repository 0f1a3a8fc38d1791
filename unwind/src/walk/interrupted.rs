//! The step from trap code to the frame that it interrupted.

use crate::memory::Memory;
use crate::registers::RegisterSet;
use crate::row::Rule;
use crate::rules::Rules;
use crate::verdict::How;
use crate::walk::SavedRegister;
use crate::walk::cursor::{Cursor, Way, read};

impl<R: RegisterSet> Cursor<R> {
    /// The address of the trap frame, if this is the frame of trap code that has called, and the stack pointer and program counter that
    /// `saved` registers have there are those that the row has found for what was `interrupted`: otherwise this trap code saves them in
    /// another way, as functions of the `x86-interrupt` convention do. If trap code itself was interrupted, its stack pointer may be
    /// anywhere.
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

    /// The step from trap code, which `rules` are of, to what it interrupted: adds to `registers` what the trap has saved beside those
    /// that the rules tell. That is the next frame, whatever its program counter and stack pointer. But no step by a row follows from a
    /// stack pointer where the walk may not go: otherwise a damaged table could make a trap frame its own caller for ever. Second, the
    /// address where the trap frame ends, if that is known. What the processor has pushed counts more than what trap code has saved.
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

    /// Where the processor itself has pushed what was interrupted, if it is that which has saved it: if the rules find the stack pointer
    /// as far behind the program counter as the processor puts it. Trap code may save them elsewhere.
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

    /// Whether the walk starts in trap code, with these rules, before it saves or after it has restored the registers.
    pub(super) fn begins_at_edge(&self, rules: &Rules) -> bool {
        self.how == How::Given && pc_is_in_register(rules)
    }

    /// The trap frame of trap code that was interrupted itself, if it is complete: the row tells where the interrupted stack
    /// pointer is.
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

/// Whether trap code with these rules has the interrupted program counter in a register.
const fn pc_is_in_register(rules: &Rules) -> bool {
    rules.return_address_is_in_register()
}
