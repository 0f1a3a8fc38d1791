//! Compares a row with the abstract state.

use unwind::sframe::{Base as RowBase, Row, Rule};

use super::isa::Isa;
use super::machine::Machine;
use super::value::{Base, Origin, REGISTERS, Register, Value};
use crate::architecture::Architecture;
use crate::reason::Reason;

/// The caller's registers, as values in the states of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The return address.
    pub return_address: Value,
    /// The caller's stack pointer.
    pub stack_pointer: Value,
    /// The function is entered by an interrupt or exception.
    pub is_interrupted: bool,
}

/// Whether a row is right at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It yields the caller's registers.
    Agrees,
    /// It yields something else.
    Contradicts,
    /// That is not known.
    Undecided(Reason),
}

/// Compares rows with states, for one architecture.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a, I> {
    pub(super) isa: &'a I,
    pub(super) architecture: &'static Architecture,
}

/// Whether one rule of a row is right.
enum RuleJudgement {
    Right,
    Wrong,
    Unknown,
}

impl<I: Isa> Judge<'_, I> {
    /// Judges a row at the instruction of a state.
    #[must_use]
    pub fn judge(&self, row: &Row, machine: &Machine, caller: &Caller) -> Judgement {
        match (self.compare_row(row, machine, caller), machine.lost) {
            // After a switch of stacks there may be another caller, so nothing contradicts the row.
            (Judgement::Contradicts, Some(lost @ Reason::StackPointer(_))) => {
                Judgement::Undecided(lost)
            }
            (judgement, _) => judgement,
        }
    }

    /// Judges the row of a call while the callee runs, which may have clobbered registers and memory. `None`: no row could lead
    /// to the caller then.
    #[must_use]
    pub fn judge_during_call(
        &self,
        row: &Row,
        machine: &Machine,
        caller: &Caller,
    ) -> Option<Judgement> {
        let judgement = self.judge(row, machine, caller);
        let leads = judgement == Judgement::Agrees || self.row(machine, caller).is_ok();
        leads.then_some(judgement)
    }

    fn compare_row(&self, row: &Row, machine: &Machine, caller: &Caller) -> Judgement {
        // Code cannot show that a function was not called: the row is believed.
        if row.is_outermost() {
            return Judgement::Agrees;
        }
        let cfa = self.value(row.cfa, machine, Value::Unknown);
        let can_contradict = self.can_contradict(row.cfa, machine, caller);
        match self.compare(cfa, caller.stack_pointer, || {
            can_contradict && self.cfa(machine, caller).is_some()
        }) {
            RuleJudgement::Right => {}
            RuleJudgement::Wrong => return Judgement::Contradicts,
            RuleJudgement::Unknown => {
                return Judgement::Undecided(why_lost(machine));
            }
        }
        let parts = [
            (
                self.return_address_part(row, machine, caller, cfa),
                Reason::ReturnAddress,
            ),
            (
                self.frame_pointer_part(row, machine, cfa),
                Reason::FramePointer,
            ),
        ];
        let is_wrong = |(part, _): &(RuleJudgement, _)| matches!(part, RuleJudgement::Wrong);
        if parts.iter().any(is_wrong) || !self.keeps(row, machine, cfa) {
            return Judgement::Contradicts;
        }
        let unknown = parts
            .iter()
            .find(|(part, _)| matches!(part, RuleJudgement::Unknown));
        unknown.map_or(Judgement::Agrees, |(_, reason)| {
            Judgement::Undecided(*reason)
        })
    }

    /// Whether the base of a rule for the caller's stack pointer is known well enough to call the rule wrong.
    ///
    /// An unknown base is not. Nor is a register or memory that is no base of frames: there, the row describes a context that
    /// the code is about to switch to, as in `longjmp`.
    fn can_contradict(&self, rule: Rule, machine: &Machine, caller: &Caller) -> bool {
        let base = match rule {
            Rule::Value { base, .. } => base,
            // The layout of an interrupt frame is known.
            Rule::Saved { base, .. } if caller.is_interrupted => base,
            _ => return false,
        };
        let number = self.architecture.register(base);
        let is_frame_base = self.bases().any(|base| number == Some(base.into()));
        match self.base(base, machine, Value::Unknown) {
            Value::Unknown => false,
            Value::Stack(..) | Value::Constant(_) | Value::Signed(_) => true,
            Value::Same(_) | Value::Low(..) | Value::Table(_) => is_frame_base,
        }
    }

    fn compare(&self, found: Value, meant: Value, is_known: impl Fn() -> bool) -> RuleJudgement {
        if found == meant {
            return RuleJudgement::Right;
        }
        match (found, meant) {
            // Different offsets from one base.
            (Value::Stack(one, _), Value::Stack(other, _)) if one == other => RuleJudgement::Wrong,
            _ if is_known() => RuleJudgement::Wrong,
            _ => RuleJudgement::Unknown,
        }
    }

    /// [`Self::compare`], for a register's value at the entry that is saved somewhere.
    fn compare_saved(
        &self,
        found: Value,
        meant: Value,
        is_known: impl Fn() -> bool,
    ) -> RuleJudgement {
        match (self.compare(found, meant, is_known), found) {
            (
                RuleJudgement::Unknown,
                Value::Unknown | Value::Same(Origin::Named(_)) | Value::Low(..),
            ) => RuleJudgement::Unknown,
            // Another value is there, so the rule is wrong even if the right one is not known.
            (RuleJudgement::Unknown, _) => RuleJudgement::Wrong,
            (part, _) => part,
        }
    }

    fn return_address_part(
        &self,
        row: &Row,
        machine: &Machine,
        caller: &Caller,
        cfa: Value,
    ) -> RuleJudgement {
        let found = match row.return_address {
            Rule::Same => machine.get(I::RETURN_ADDRESS),
            rule => self.value(rule, machine, cfa),
        };
        // An interrupt may overwrite what is below the stack pointer.
        let found = match self.is_overwritten(row.return_address, machine, cfa) {
            true => Value::Unknown,
            false => found,
        };
        if let (Value::Signed(of), Value::Same(Origin::Entry(entry))) =
            (found, caller.return_address)
            && of == entry
        {
            return if row.signed {
                RuleJudgement::Right
            } else {
                RuleJudgement::Wrong
            };
        }
        self.compare_saved(found, caller.return_address, || {
            self.location(caller.return_address, machine, caller)
                .is_some()
        })
    }

    fn frame_pointer_part(&self, row: &Row, machine: &Machine, cfa: Value) -> RuleJudgement {
        if row.frame_pointer == self.architecture.lost_frame_pointer() {
            // The row says that the frame pointer is lost, which claims nothing.
            return RuleJudgement::Right;
        }
        let meant = Value::entry(I::FRAME_POINTER);
        let found = match row.frame_pointer {
            Rule::Same | Rule::Undefined => machine.get(I::FRAME_POINTER),
            // If the slot is below the stack pointer, `unwind` uses the register instead.
            rule if self.is_overwritten(rule, machine, cfa) => machine.get(I::FRAME_POINTER),
            rule => self.value(rule, machine, cfa),
        };
        self.compare_saved(found, meant, || self.is_frame_pointer_known(machine))
    }

    /// Whether what the row says of the registers in [`Isa::FOLLOWED`] is right. There is always a row that says nothing wrong of them, so
    /// that what is not known counts as wrong.
    fn keeps(&self, row: &Row, machine: &Machine, cfa: Value) -> bool {
        row.kept.rules().into_iter().all(|(number, rule)| {
            let number = number as Register;
            let meant = Value::entry(number);
            !I::FOLLOWED.contains(&number)
                || match rule {
                    Rule::Same => machine.get(number) == meant,
                    Rule::Undefined => true,
                    rule => {
                        !self.is_overwritten(rule, machine, cfa)
                            && self.value(rule, machine, cfa) == meant
                    }
                }
        })
    }

    fn is_frame_pointer_known(&self, machine: &Machine) -> bool {
        let meant = Value::entry(I::FRAME_POINTER);
        let in_slot = machine.known().any(|slot| {
            slot.value == meant
                && slot.size == I::WORD
                && !is_below(machine, slot.base, slot.offset)
        });
        in_slot || machine.get(I::FRAME_POINTER) == meant
    }

    /// Whether a rule takes its value from below the stack pointer.
    fn is_overwritten(&self, rule: Rule, machine: &Machine, cfa: Value) -> bool {
        let Rule::Saved { base, offset } = rule else {
            return false;
        };
        match self.base(base, machine, cfa).plus(constant(offset)) {
            Value::Stack(base, offset) => is_below(machine, base, offset),
            _ => false,
        }
    }

    /// The value that a rule yields.
    pub(super) fn value(&self, rule: Rule, machine: &Machine, cfa: Value) -> Value {
        match rule {
            Rule::Value { base, offset } => self.base(base, machine, cfa).plus(constant(offset)),
            Rule::Saved { base, offset } => {
                match self.base(base, machine, cfa).plus(constant(offset)) {
                    Value::Stack(base, offset) => machine.peek(base, offset, I::WORD),
                    _ => Value::Unknown,
                }
            }
            Rule::Same | Rule::Undefined => Value::Unknown,
        }
    }

    pub(super) fn base(&self, base: RowBase, machine: &Machine, cfa: Value) -> Value {
        match self.architecture.register(base) {
            None => cfa,
            Some(number) => {
                let renumbered = I::RENUMBERED.iter().find(|(dwarf, _)| *dwarf == number);
                let number = renumbered.map_or(number, |(_, register)| (*register).into());
                match Register::try_from(number) {
                    Ok(number) if usize::from(number) < REGISTERS => machine.get(number),
                    _ => Value::Unknown,
                }
            }
        }
    }
}

pub(super) const fn constant(offset: i64) -> Value {
    Value::Constant(offset.cast_unsigned())
}

/// Why the caller's stack pointer is not known.
pub(super) fn why_lost(machine: &Machine) -> Reason {
    match (machine.lost, machine.sp()) {
        (Some(lost), _) => lost,
        // A base is the address of the instruction that moved the stack pointer by an unknown amount.
        (None, Value::Stack(base, _)) if base != Base::ENTRY => Reason::StackPointer(base.0),
        _ => Reason::StackPointer(machine.at),
    }
}

/// Whether a slot of the stack is below the stack pointer.
pub(super) fn is_below(machine: &Machine, base: Base, offset: i64) -> bool {
    match machine.sp() {
        Value::Stack(of, sp) if of == base => offset < sp,
        // Other bases were made from the stack pointer after the entry, so they are below it.
        Value::Stack(Base::ENTRY, _) => true,
        _ => false,
    }
}
