//! A row against what is known of the machine.

use unwind::sframe::{Base as RowBase, Row, Rule};

use super::isa::Isa;
use super::machine::Machine;
use super::reason::Reason;
use super::value::{Base, Origin, REGISTERS, Register, Value};
use crate::architecture::Architecture;

/// How a function is entered, so what it knows of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// What the return address is called at the entry.
    pub return_address: Value,
    /// The caller's stack pointer.
    pub stack_pointer: Value,
    /// The function is entered by an interruption.
    pub is_interrupted: bool,
}

/// What a row is worth at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It leads where the code leads.
    Agrees,
    /// It leads elsewhere.
    Contradicts,
    /// That is not known.
    Undecided(Reason),
}

/// Compares rows with machines, for one architecture.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a, I> {
    pub(super) isa: &'a I,
    pub(super) architecture: &'static Architecture,
}

/// What one rule of a row is worth.
enum Part {
    Right,
    Wrong,
    Unknown,
}

impl<I: Isa> Judge<'_, I> {
    /// Judges a row at the instruction that the machine is at.
    #[must_use]
    pub fn judge(&self, row: &Row, machine: &Machine, caller: &Caller) -> Judgement {
        match (self.compare_row(row, machine, caller), machine.lost) {
            // On another stack there may be another caller: nothing can be held against what the row says.
            (Judgement::Contradicts, Some(lost @ Reason::StackPointer(_))) => {
                Judgement::Undecided(lost)
            }
            (judgement, _) => judgement,
        }
    }

    /// Judges a row of a call while the callee runs, which has changed what it may. `None`: nothing leads to the caller then.
    #[must_use]
    pub fn judge_during_call(
        &self,
        row: &Row,
        machine: &Machine,
        caller: &Caller,
    ) -> Option<Judgement> {
        let judgement = self.judge(row, machine, caller);
        // What agrees leads there.
        let leads = judgement == Judgement::Agrees || self.row(machine, caller).is_ok();
        leads.then_some(judgement)
    }

    fn compare_row(&self, row: &Row, machine: &Machine, caller: &Caller) -> Judgement {
        // That nobody called is the word of whoever wrote it.
        if row.is_outermost() {
            return Judgement::Agrees;
        }
        let cfa = self.value(row.cfa, machine, Value::Unknown);
        let is_told = self.is_told(row.cfa, machine, caller);
        match self.compare(cfa, caller.stack_pointer, || {
            is_told && self.cfa(machine, caller).is_some()
        }) {
            Part::Right => {}
            Part::Wrong => return Judgement::Contradicts,
            // Where the frame is unknown, it may be that of another function, on another stack.
            Part::Unknown => {
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
        if parts.iter().any(|(part, _)| matches!(part, Part::Wrong)) {
            return Judgement::Contradicts;
        }
        let unknown = parts.iter().find(|(part, _)| matches!(part, Part::Unknown));
        unknown.map_or(Judgement::Agrees, |(_, reason)| {
            Judgement::Undecided(*reason)
        })
    }

    /// Whether enough is known of what a rule takes a caller's stack pointer from to say that it is a wrong one.
    ///
    /// Of nothing follows nothing. And what a row takes from registers or memory that no frame is counted from, it takes from
    /// a context that the code is about to switch to: `longjmp` says so of itself.
    fn is_told(&self, rule: Rule, machine: &Machine, caller: &Caller) -> bool {
        let base = match rule {
            Rule::Value { base, .. } => base,
            // Where the processor leaves what it interrupted is known.
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

    fn compare(&self, found: Value, meant: Value, is_known: impl Fn() -> bool) -> Part {
        if found == meant {
            return Part::Right;
        }
        match (found, meant) {
            // Two places of one frame.
            (Value::Stack(one, _), Value::Stack(other, _)) if one == other => Part::Wrong,
            _ if is_known() => Part::Wrong,
            _ => Part::Unknown,
        }
    }

    /// [`Self::compare`], for what was in a register at the entry and is somewhere now.
    fn compare_saved(&self, found: Value, meant: Value, is_known: impl Fn() -> bool) -> Part {
        match (self.compare(found, meant, is_known), found) {
            (Part::Unknown, Value::Unknown | Value::Same(Origin::Named(_)) | Value::Low(..)) => {
                Part::Unknown
            }
            // Something else is there, wherever the right one may be.
            (Part::Unknown, _) => Part::Wrong,
            (part, _) => part,
        }
    }

    fn return_address_part(
        &self,
        row: &Row,
        machine: &Machine,
        caller: &Caller,
        cfa: Value,
    ) -> Part {
        let found = match row.return_address {
            Rule::Same => machine.get(I::RETURN_ADDRESS),
            rule => self.value(rule, machine, cfa),
        };
        // Below the stack pointer an interrupt overwrites it.
        let found = match self.is_overwritten(row.return_address, machine, cfa) {
            true => Value::Unknown,
            false => found,
        };
        if let (Value::Signed(of), Value::Same(Origin::Entry(entry))) =
            (found, caller.return_address)
            && of == entry
        {
            return if row.signed { Part::Right } else { Part::Wrong };
        }
        self.compare_saved(found, caller.return_address, || {
            self.place_of(caller.return_address, machine, caller)
                .is_some()
        })
    }

    fn frame_pointer_part(&self, row: &Row, machine: &Machine, cfa: Value) -> Part {
        if row.frame_pointer == self.architecture.lost_frame_pointer() {
            // It claims nothing.
            return Part::Right;
        }
        let meant = Value::entry(I::FRAME_POINTER);
        let found = match row.frame_pointer {
            Rule::Same | Rule::Undefined => machine.get(I::FRAME_POINTER),
            // A walk takes the register's value when the slot lies below the stack pointer.
            rule if self.is_overwritten(rule, machine, cfa) => machine.get(I::FRAME_POINTER),
            rule => self.value(rule, machine, cfa),
        };
        self.compare_saved(found, meant, || self.is_frame_pointer_known(machine))
    }

    fn is_frame_pointer_known(&self, machine: &Machine) -> bool {
        let meant = Value::entry(I::FRAME_POINTER);
        let in_slot = machine.known().any(|slot| {
            slot.value == meant && slot.size == 8 && !is_below(machine, slot.base, slot.offset)
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

    /// What a rule yields.
    pub(super) fn value(&self, rule: Rule, machine: &Machine, cfa: Value) -> Value {
        match rule {
            Rule::Value { base, offset } => self.base(base, machine, cfa).plus(constant(offset)),
            Rule::Saved { base, offset } => {
                match self.base(base, machine, cfa).plus(constant(offset)) {
                    Value::Stack(base, offset) => machine.peek(base, offset, 8),
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
        // The instruction that moved it by an amount that is not known.
        (None, Value::Stack(base, _)) if base != Base::ENTRY => Reason::StackPointer(base.0),
        _ => Reason::StackPointer(machine.at),
    }
}

/// Whether a place on the stack lies below the stack pointer.
pub(super) fn is_below(machine: &Machine, base: Base, offset: i64) -> bool {
    match machine.sp() {
        Value::Stack(of, sp) if of == base => offset < sp,
        // What counts from another base than the entry's lies below everything of the entry's.
        Value::Stack(Base::ENTRY, _) => true,
        _ => false,
    }
}
