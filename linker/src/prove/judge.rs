//! A row against what is known of the machine, and the row that says what is known.

use unwind::sframe::{Base as RowBase, Row, Rule};

use super::isa::Isa;
use super::machine::Machine;
use super::reason::Reason;
use super::value::{Address, Base, Origin, REGISTERS, Register, Value};
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
    fn value(&self, rule: Rule, machine: &Machine, cfa: Value) -> Value {
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

    fn base(&self, base: RowBase, machine: &Machine, cfa: Value) -> Value {
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

    /// Makes a machine one in which a row holds: at the entry of code that says itself how it is entered.
    pub fn enter(&self, row: &Row, machine: &mut Machine) -> Option<Caller> {
        let at_sp = |rule: Rule, value: Value, machine: &mut Machine| {
            let (Rule::Saved { base, offset } | Rule::Value { base, offset }) = rule else {
                return None;
            };
            let from = self
                .base(base, machine, Value::Unknown)
                .plus(constant(offset));
            match (rule, from) {
                (Rule::Saved { .. }, Value::Stack(base, offset)) => {
                    machine.interrupted(base, offset, value);
                    Some(value)
                }
                (Rule::Value { .. }, Value::Stack(..)) => Some(from),
                // In a register that holds nothing else.
                (Rule::Value { .. }, Value::Same(Origin::Entry(_))) => Some(from),
                _ => None,
            }
        };
        let stack_pointer = at_sp(row.cfa, Value::entry(I::STACK_POINTER), machine)?;
        let return_address = match row.return_address {
            Rule::Same => machine.get(I::RETURN_ADDRESS),
            Rule::Saved {
                base: RowBase::Cfa,
                offset,
            } => {
                let Value::Stack(base, from) = stack_pointer else {
                    return None;
                };
                let value = Value::entry(I::RETURN_ADDRESS);
                machine.interrupted(base, from + offset, value);
                value
            }
            rule => at_sp(rule, Value::entry(I::RETURN_ADDRESS), machine)?,
        };
        if matches!(row.return_address, Rule::Saved { .. }) {
            // What the register holds is the interrupted code's own.
            machine.set(I::RETURN_ADDRESS, Value::Unknown);
        }
        if row.frame_pointer != Rule::Same {
            machine.set(I::FRAME_POINTER, Value::Unknown);
            let frame_pointer = Value::entry(I::FRAME_POINTER);
            match (row.frame_pointer, stack_pointer) {
                (
                    Rule::Saved {
                        base: RowBase::Cfa,
                        offset,
                    },
                    Value::Stack(base, from),
                ) => {
                    machine.store(Address::Stack(base, from + offset), 8, frame_pointer);
                }
                (rule, _) => {
                    at_sp(rule, frame_pointer, machine)?;
                }
            }
        }
        Some(Caller {
            return_address,
            stack_pointer,
            is_interrupted: true,
        })
    }

    /// The row that says what is known, without its offset.
    ///
    /// # Errors
    /// What a row would have to say is not known.
    pub fn row(&self, machine: &Machine, caller: &Caller) -> Result<Row, Reason> {
        if let Some(lost @ Reason::StackPointer(_)) = machine.lost {
            return Err(lost);
        }
        let cfa = self.cfa(machine, caller).ok_or(why_lost(machine))?;
        let found = self.place_of(caller.return_address, machine, caller);
        let return_address = found.ok_or(Reason::ReturnAddress)?;
        let is_link = return_address
            == Rule::Value {
                base: self
                    .architecture
                    .base(gimli::Register(I::RETURN_ADDRESS.into())),
                offset: 0,
            };
        let meant = Value::entry(I::FRAME_POINTER);
        let slots = match caller.stack_pointer {
            Value::Stack(base, offset) => Some((base, offset)),
            _ => None,
        };
        // A copy on the stack may be a variable as long as the register still holds it.
        let frame_pointer = match machine.get(I::FRAME_POINTER) == meant {
            true => Rule::Same,
            false => self
                .in_slot(meant, machine, slots)
                .or_else(|| self.in_register(meant, machine, caller.is_interrupted))
                .unwrap_or_else(|| self.architecture.lost_frame_pointer()),
        };
        let signed = self.is_signed(return_address, machine, caller);
        Ok(Row {
            offset: 0,
            cfa,
            return_address: if is_link { Rule::Same } else { return_address },
            frame_pointer,
            signed,
        })
    }

    fn is_signed(&self, rule: Rule, machine: &Machine, caller: &Caller) -> bool {
        self.value(rule, machine, caller.stack_pointer) == Value::Signed(I::RETURN_ADDRESS)
    }

    /// The rule for the caller's stack pointer.
    fn cfa(&self, machine: &Machine, caller: &Caller) -> Option<Rule> {
        let meant = caller.stack_pointer;
        let bases = self.bases();
        if let Value::Stack(base, offset) = meant {
            for register in bases.clone() {
                if let Value::Stack(of, from) = machine.get(register)
                    && of == base
                {
                    return Some(Rule::Value {
                        base: self.rule_base(register),
                        offset: offset.wrapping_sub(from),
                    });
                }
            }
        }
        let in_register = self.in_register(meant, machine, caller.is_interrupted);
        in_register.or_else(|| self.in_slot(meant, machine, None))
    }

    /// A register that holds a value, as a walk knows them.
    fn in_register(&self, meant: Value, machine: &Machine, all: bool) -> Option<Rule> {
        let known = |register: &Register| machine.get(*register) == meant;
        let found = self.bases().find(known).or_else(|| {
            // System registers, where an exception has left them.
            let system = 33..REGISTERS as Register;
            system.into_iter().find(|register| all && known(register))
        })?;
        Some(Rule::Value {
            base: self.rule_base(found),
            offset: 0,
        })
    }

    /// Where a value is: in a register or on the stack.
    fn place_of(&self, meant: Value, machine: &Machine, caller: &Caller) -> Option<Rule> {
        let Value::Same(Origin::Entry(register)) = meant else {
            return None;
        };
        let signed = Value::Signed(register);
        let link = [meant, signed].contains(&machine.get(I::RETURN_ADDRESS));
        if link && register == I::RETURN_ADDRESS && self.architecture.fixed_return_address.is_none()
        {
            return Some(Rule::Value {
                base: self.rule_base(I::RETURN_ADDRESS),
                offset: 0,
            });
        }
        let cfa = match caller.stack_pointer {
            Value::Stack(base, offset) => Some((base, offset)),
            _ => None,
        };
        self.in_slot(meant, machine, cfa)
            .or_else(|| self.in_slot(signed, machine, cfa))
            .or_else(|| self.in_register(meant, machine, caller.is_interrupted))
    }

    /// A place on the stack that holds a value.
    fn in_slot(&self, meant: Value, machine: &Machine, cfa: Option<(Base, i64)>) -> Option<Rule> {
        let holding = machine.known().filter(|slot| {
            slot.value == meant && slot.size == 8 && !is_below(machine, slot.base, slot.offset)
        });
        // Registers are saved next to the caller's frame, variables further down.
        let mut holding: Vec<_> = holding.collect();
        holding.sort_by_key(|slot| (slot.base != Base::ENTRY, -slot.offset));
        holding.into_iter().find_map(|slot| {
            if let Some((base, offset)) = cfa
                && base == slot.base
            {
                return Some(Rule::Saved {
                    base: RowBase::Cfa,
                    offset: slot.offset.wrapping_sub(offset),
                });
            }
            self.bases()
                .find_map(|register| match machine.get(register) {
                    Value::Stack(base, offset) if base == slot.base => Some(Rule::Saved {
                        base: self.rule_base(register),
                        offset: slot.offset.wrapping_sub(offset),
                    }),
                    _ => None,
                })
        })
    }

    fn bases(&self) -> impl Iterator<Item = Register> + Clone {
        [I::STACK_POINTER, I::FRAME_POINTER]
            .into_iter()
            .chain(I::OTHER_BASES.iter().copied())
    }

    fn rule_base(&self, register: Register) -> RowBase {
        let renumbered = I::RENUMBERED.iter().find(|(_, number)| *number == register);
        if let Some((dwarf, _)) = renumbered {
            return RowBase::Register(*dwarf);
        }
        self.architecture.base(gimli::Register(register.into()))
    }
}

const fn constant(offset: i64) -> Value {
    Value::Constant(offset.cast_unsigned())
}

/// Why the caller's stack pointer is not known.
fn why_lost(machine: &Machine) -> Reason {
    match (machine.lost, machine.sp()) {
        (Some(lost), _) => lost,
        // The instruction that moved it by an amount that is not known.
        (None, Value::Stack(base, _)) if base != Base::ENTRY => Reason::StackPointer(base.0),
        _ => Reason::StackPointer(machine.at),
    }
}

/// Whether a place on the stack lies below the stack pointer.
fn is_below(machine: &Machine, base: Base, offset: i64) -> bool {
    match machine.sp() {
        Value::Stack(of, sp) if of == base => offset < sp,
        // What counts from another base than the entry's lies below everything of the entry's.
        Value::Stack(Base::ENTRY, _) => true,
        _ => false,
    }
}
