//! Steps of a walk, from a frame to its caller: with its row, or with a fallback.
//!
//! The deepest chain of calls has 640 to 670 bytes of stack on several paths, so shortening one path is not enough. Four forms of a
//! separate step out of trap code took more stack than this one.

use super::{Frames, State};
use crate::aarch64;
use crate::lookup::{Found, LookupError};
use crate::memory::{Memory, is_aligned};
use crate::registers::{Machine, PUSHED_WORDS, RegisterSet, cfa_at};
use crate::restored::Restored;
use crate::row::Rule;
use crate::source::RowSource;
use crate::verdict::{End, How};
use crate::walk::Fallbacks;
use crate::walk::call::Call;
use crate::walk::cursor::{Cursor, Way, read};
use crate::walk::frame::lookup_pc;
use crate::walk::scan::Scan;
use crate::walk::step::Caller;

impl<R: RegisterSet, M: Memory, S: RowSource> Frames<'_, R, M, S> {
    /// Steps to the caller if no row leads there, for this reason. Returns the result of the check of a call, as [`Self::step_by_row`] does.
    #[inline(never)]
    pub(super) fn step_without_row(&mut self, reason: End) -> Call {
        let user = self.cursor.registers.is_user();
        match reason {
            End::Outermost => {
                let last = self.count.saturating_sub(1);
                self.note_proof(last, self.found.proof);
                let sp = self.cursor.registers.sp();
                let is_unknown = self.cursor.sp_known && self.is_at_base(sp).is_none();
                if is_unknown && self.unchecked.is_none() {
                    self.note(last, How::SFrame, End::BaseUnknown(sp));
                }
                self.note_last();
                self.state = State::Ended(match self.doubt {
                    None => End::Complete,
                    Some(_) => End::Outermost,
                });
            }
            // The kernel guarantees nothing about a user's stack, so only rows are used there.
            _ if user => self.state = State::Ended(self.end_in_user_code(reason)),
            End::NotAtBase(_) | End::TrapFrame(_) => self.state = State::Ended(reason),
            _ if let Some(call) = self.step_by_code(reason) => return call,
            _ if self.step_by_link(reason) => self.note(self.count, How::LinkRegister, reason),
            _ if self.step_by_record() => self.note(self.count, How::FramePointer, reason),
            _ if self.unwinder.scans() && !self.ends_stack(reason) => {
                let scan = Scan::new::<R>(self.cursor.registers.sp(), self.last_record());
                self.state = State::Scanning(scan, reason);
            }
            _ => self.state = State::Ended(reason),
        }
        Call::Fits
    }

    /// Steps to the caller by the cursor's row, unless code contradicts it; returns the result of that check.
    #[inline(never)]
    pub(super) fn step_by_row(&mut self) -> Result<Call, End> {
        let cursor = &self.cursor;
        let (sp, pc) = (cursor.registers.sp(), cursor.registers.pc());
        let rules = &self.found.rules;
        let cfa = match self.cfa_known && self.on_stack && !rules.is_outermost() {
            true => self.cfa,
            false => self.seldom()?,
        };
        let caller = cursor.caller(&self.found, cfa, &self.memory)?;
        let mut restored = None;
        if R::FOLLOWS_ALL {
            restored = Some(self.restore(cfa, &caller)?);
        }
        if self.found.is_trap {
            match &mut restored {
                Some((all, only_at_calls)) if R::FOLLOWS_ALL => {
                    self.step_from_trap(all, caller.fp_known)?;
                    if *only_at_calls {
                        self.note(self.count, How::SFrame, End::OnlyAtCalls(pc));
                    }
                }
                _ => self.step_from_trap(&mut self.registers(&caller), caller.fp_known)?,
            }
            return Ok(Call::Fits);
        }
        // Only a leaf's caller can have the same stack pointer.
        let is_leaf = cursor.exact && caller.sp == sp;
        let user = cursor.registers.is_user();
        let call = self.unwinder.check::<R>(caller.pc, user, &mut self.found)?;
        let leaves = !is_leaf && self.on_stack && !self.memory.is_on_stack(caller.sp);
        let skips = leaves && self.memory.is_base(cfa_at::<R>(sp)) != Some(true);
        self.go(caller.sp, if is_leaf { Way::Stay } else { Way::Up })?;
        self.arrive();
        if skips {
            self.note(self.count, How::SFrame, End::LeftStack(sp));
        }
        // Without a call, the function has not run yet: it would begin at the address, which therefore selects the name and the row.
        let exact = call == Call::None;
        self.cursor = Cursor {
            exact,
            fp_known: caller.fp_known,
            ..Cursor::called(self.registers(&caller), How::SFrame)
        };
        self.is_lean = !R::FOLLOWS_ALL && !user && !exact;
        if exact {
            // Before the doubt whether the row is proven: this is certain.
            self.note(self.count, How::SFrame, End::NoCall(R::place(caller.pc)));
        }
        // Put there afterwards, because a value of two origins takes 64 bytes of stack more where only one of them exists.
        if R::FOLLOWS_ALL
            && let Some((all, only_at_calls)) = restored
        {
            self.cursor.registers = all;
            if only_at_calls {
                self.note(self.count, How::SFrame, End::OnlyAtCalls(pc));
            }
        }
        Ok(call)
    }

    /// The canonical frame address for a step by row where something is special; the error is why there is no such step.
    #[inline(never)]
    fn seldom(&self) -> Result<u64, End> {
        self.outcome.map_err(|error| self.without_row(error))?;
        let (cursor, rules) = (&self.cursor, &self.found.rules);
        let sp = cursor.registers.sp();
        // Before trap code has checked its stack pointer it may be anywhere; a row that reads no memory does not need it.
        let needs_stack = !(self.found.is_trap && cursor.begins_at_edge(rules));
        if !self.on_stack && needs_stack {
            return Err(End::NoStack(sp));
        }
        let cfa = match rules.is_outermost() {
            true => Err(End::Outermost),
            false => cursor.any_cfa(&self.found, &self.memory),
        };
        match cfa {
            Err(End::Outermost) if cursor.sp_known => match self.is_at_base(sp) {
                Some(false) => Err(End::NotAtBase(sp)),
                _ => Err(End::Outermost),
            },
            other => other,
        }
    }

    /// The registers of a caller.
    #[inline(always)]
    fn registers(&self, caller: &Caller) -> R {
        let callee = &self.cursor.registers;
        callee.caller(caller.pc, caller.sp, caller.fp)
    }

    /// Returns the registers of a caller, with further registers from the row. Also returns whether the row is valid at calls only although the
    /// function was interrupted.
    #[inline(never)]
    fn restore(&self, cfa: u64, caller: &Caller) -> Result<(R, bool), End> {
        let cursor = &self.cursor;
        let mut registers = self.registers(caller);
        let mut restored = Restored::NONE;
        let pc = lookup_pc(cursor.registers.pc(), cursor.kind());
        self.unwinder.source.restored(pc, &mut restored);
        for (register, rule) in restored.changed() {
            if rule == Rule::Undefined {
                registers.forget(register);
            }
            if let Some(value) = cursor.restored(rule, cfa, &self.memory)? {
                registers.learn(register, value);
            }
        }
        Ok((registers, cursor.exact && restored.only_at_calls))
    }

    /// Adds the interrupted link register to `registers`, if the tables contain its place in the trap code at the cursor: the return address of
    /// a leaf is nowhere else.
    #[inline(never)]
    fn learn_link(&self, registers: &mut R) {
        if R::MACHINE != Machine::AArch64 {
            return;
        }
        let cursor = &self.cursor;
        let pc = lookup_pc(cursor.registers.pc(), cursor.kind());
        let rule = self.unwinder.source.interrupted_link(pc);
        // A rule with another base than a register has no frame address to count from.
        let value = rule.and_then(|rule| cursor.restored(rule, 0, &self.memory).ok()?);
        if let Some(value) = value {
            registers.learn(aarch64::LR, value);
        }
    }

    /// Whether the stack shows that the processor entered the function of the cursor's frame, which is trap code by its row: it contains what the
    /// processor pushes, and the word for the program counter is not the return address of a call that may lead to this function.
    #[inline(never)]
    pub(super) fn was_entered(&self) -> bool {
        let pushed = self.cursor.pushed(&self.found.rules);
        let Some(at) = pushed.filter(|_| self.found.is_trap && self.on_stack) else {
            return false;
        };
        let mut words = [0; PUSHED_WORDS];
        for (word, slot) in words.iter_mut().zip((at..).step_by(R::WORD as usize)) {
            let Ok(value) = read::<R>(&self.memory, slot) else {
                return false;
            };
            *word = value;
        }
        if !R::is_pushed(at, words) {
            return false;
        }
        let [pc, ..] = words;
        let (unwinder, mut found) = (self.unwinder, self.found);
        match unwinder.check::<R>(pc, false, &mut found) {
            Err(End::NoCall(_)) | Ok(Call::None) => true,
            Ok(Call::Elsewhere(target)) => {
                !unwinder.is_indirect::<R>(pc, false)
                    && !unwinder.leads_to::<R>(target, false, &mut found)
            }
            _ => false,
        }
    }

    /// Steps from trap code to the interrupted frame. `registers` contains the values from the row. It is changed, because a copy would take as
    /// much stack again.
    #[inline(never)]
    fn step_from_trap(&mut self, registers: &mut R, fp_known: bool) -> Result<(), End> {
        let was_user = self.cursor.registers.is_user();
        let saved = match was_user {
            // The declared registers are the kernel's. User code has frames of signals, which its rows describe.
            true => &[],
            false => self.unwinder.trap_registers,
        };
        let (rules, cursor) = (&self.found.rules, &self.cursor);
        let trap_frame = cursor.trap_frame(registers, saved, &self.memory);
        let saved = (trap_frame, saved);
        self.learn_link(registers);
        let (way, end) = cursor.interrupted(registers, self.on_stack, rules, saved, &self.memory);
        // The stack that the trap frame is on: the step may lead to another.
        let at_base = end.map(|end| (end, self.memory.is_base(cfa_at::<R>(end))));
        self.go(registers.sp(), way)?;
        self.arrive();
        // Each part where it belongs: the whole, made first, would be on the stack too.
        let next = &mut self.cursor;
        next.registers = *registers;
        (next.exact, next.sp_known, next.fp_known) = (true, true, fp_known);
        (next.how, next.trap_frame) = (How::TrapFrame, trap_frame);
        if registers.is_user() && !was_user {
            let reason = match at_base {
                Some((_, Some(true))) => return Ok(()),
                Some((end, Some(false))) => End::TrapNotAtBase(end),
                Some((end, None)) => End::BaseUnknown(end),
                None => End::TrapEndUnknown,
            };
            self.note(self.count, How::SFrame, reason);
        }
        Ok(())
    }

    /// Why a walk ends at the cursor's frame, which is one of user code, instead of this reason.
    #[inline(never)]
    fn end_in_user_code(&mut self, reason: End) -> End {
        let pc = self.cursor.registers.pc();
        let is_known = self.unwinder.may_be_at(pc, true);
        if !self.cursor.exact || is_known {
            return reason;
        }
        if self.unwinder.is_code(pc, false) && self.unchecked.is_none() {
            let last = self.count.saturating_sub(1);
            self.note(last, How::SFrame, End::UserInKernel(pc));
        }
        self.note_last();
        End::User(pc)
    }

    /// After a step to a caller: keeps what its call leaves in doubt. A call that leads elsewhere than to the function that returns
    /// there is one of a function that has left by a tail call, or the frame is in doubt. Runs after the step, so that the step
    /// is not on the stack during the search; inlined, so that nothing else is.
    #[inline(always)]
    pub(super) fn note_call(&mut self, call: Call) {
        let registers = &self.cursor.registers;
        let (return_address, user) = (registers.pc(), registers.is_user());
        let reason = match call {
            Call::Fits => return,
            Call::Unknown => {
                self.unchecked = self.unchecked.or(Some(self.count));
                return;
            }
            Call::None => End::NoCall(return_address),
            Call::Elsewhere(target) => {
                let (unwinder, found) = (self.unwinder, &mut self.found);
                // The same bytes may be an indirect call, which leads anywhere; then a tail call is not stated.
                let may_be_indirect = unwinder.is_indirect::<R>(return_address, user);
                if unwinder.leads_to::<R>(target, user, found) {
                    self.tail_call = (!may_be_indirect).then_some(R::place(target));
                    return;
                }
                if may_be_indirect && !unwinder.is_start(R::place(target), found) {
                    return;
                }
                End::CalledElsewhere(return_address, R::place(target))
            }
        };
        self.note(self.count, How::SFrame, reason);
    }

    /// Steps to the caller with rules from an analysis of the code, if there is no row. Not if a table contains the function without rows: the
    /// writer of the table analysed the code, too, and rejected the result. If the code has no caller on its stack, the walk ends, for this
    /// reason.
    #[inline(always)]
    fn step_by_code(&mut self, reason: End) -> Option<Call> {
        let is_listed = match reason {
            End::NoTables(_) | End::Unusable(_) => false,
            End::NoRow(_, LookupError::NoRow | LookupError::NoRows { .. }) => true,
            End::NoRow(..) => false,
            _ => return None,
        };
        if !self.unwinder.fallbacks.contains(Fallbacks::ANALYSIS) {
            return None;
        }
        let cursor = &self.cursor;
        let pc = lookup_pc(cursor.registers.pc(), cursor.kind());
        let unwinder = self.unwinder;
        let code = unwinder.code_at(pc, false)?;
        let found = unwinder.source.read_code(R::MACHINE, code, pc)?;
        if found.rules.is_outermost() {
            self.state = State::Ended(reason);
            return Some(Call::Fits);
        }
        match is_listed {
            true => None,
            false => self.step_by_rules(found, reason),
        }
    }

    #[inline(never)]
    fn step_by_rules(&mut self, found: Found, reason: End) -> Option<Call> {
        self.found = found;
        self.outcome = Ok(());
        self.keep_cfa();
        let call = self.step_by_row().ok()?;
        self.cursor.how = How::Analysis;
        self.note(self.count, How::Analysis, reason);
        Some(call)
    }

    #[inline(never)]
    fn step_by_link(&mut self, reason: End) -> bool {
        let step = self.unwinder.by_link(&self.cursor, &self.memory, reason);
        matches!(&step, Some(step) if self.take(step).is_ok())
    }

    #[inline(never)]
    fn step_by_record(&mut self) -> bool {
        let step = self.unwinder.by_record(&self.cursor, &self.memory);
        matches!(&step, Some(step) if self.take(step).is_ok())
    }

    /// Why there is no row for the cursor's frame. It has the frame's own address, not the look-up address.
    #[inline(never)]
    fn without_row(&self, error: LookupError) -> End {
        let cursor = &self.cursor;
        let registers = &cursor.registers;
        let pc = registers.pc();
        if let Err(end) = self.unwinder.source.describes(R::MACHINE) {
            return end;
        }
        if cursor.exact && !is_aligned(pc, R::ALIGNMENT as u64) {
            return End::BadPc(pc);
        }
        match error {
            LookupError::NoRows { signal: true } => End::TrapFrame(registers.sp()),
            LookupError::NoFunction
                if !self
                    .unwinder
                    .is_code(lookup_pc(pc, cursor.kind()), registers.is_user()) =>
            {
                match cursor.exact {
                    true => End::BadPc(pc),
                    false => End::BadReturnAddress(pc),
                }
            }
            error => End::NoRow(pc, error),
        }
    }
}
