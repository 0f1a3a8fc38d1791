//! Makes a row from the abstract state.

use unwind::Kept;
use unwind::sframe::{Base as RowBase, Row, Rule};

use super::isa::Isa;
use super::judge::{Caller, Judge, is_below, why_lost};
use super::machine::{MEMORY, Machine};
use super::memory::Slot;
use super::value::{Base, Origin, REGISTERS, Register, Value};
use crate::reason::Reason;

impl<I: Isa> Judge<'_, I> {
    /// The row for a state, with offset 0.
    ///
    /// # Errors
    /// Returns an error if the state does not contain the location of the caller's stack pointer or of the return address.
    pub fn row(&self, machine: &Machine, caller: &Caller) -> Result<Row, Reason> {
        if let Some(lost @ Reason::StackPointer(_)) = machine.lost {
            return Err(lost);
        }
        let cfa = self.cfa(machine, caller).ok_or(why_lost(machine))?;
        let found = self.location(caller.return_address, machine, caller);
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
        // The register comes first: as long as it holds the value, a copy on the stack may be a variable.
        let frame_pointer = match machine.get(I::FRAME_POINTER) == meant {
            true => Rule::Same,
            false => self
                .in_slot(meant, machine, slots)
                .or_else(|| self.in_register(meant, machine, caller.is_interrupted))
                .unwrap_or_else(|| self.architecture.lost_frame_pointer()),
        };
        let mut kept = Kept::ALL;
        for &register in I::FOLLOWED {
            let meant = Value::entry(register);
            if machine.get(register) != meant {
                let saved = self.in_slot(meant, machine, slots);
                kept.set(register.into(), saved.unwrap_or(Rule::Undefined));
            }
        }
        let signed = self.is_signed(return_address, machine, caller);
        Ok(Row {
            offset: 0,
            cfa,
            return_address: if is_link { Rule::Same } else { return_address },
            frame_pointer,
            signed,
            kept,
        })
    }

    /// What of a state a row is made from: bits as in [`Machine::changed`], those of all system registers among them.
    pub(super) fn looked_at(&self) -> u64 {
        let registers = self.bases().chain([I::RETURN_ADDRESS]);
        let registers = registers.chain(I::FOLLOWED.iter().copied());
        registers.fold(MEMORY | u64::MAX << 32, |all, register| all | 1 << register)
    }

    fn is_signed(&self, rule: Rule, machine: &Machine, caller: &Caller) -> bool {
        self.value(rule, machine, caller.stack_pointer) == Value::Signed(I::RETURN_ADDRESS)
    }

    /// The rule for the caller's stack pointer.
    pub(super) fn cfa(&self, machine: &Machine, caller: &Caller) -> Option<Rule> {
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

    /// The rule for a register that holds a value. With `all`, system registers count, too.
    fn in_register(&self, meant: Value, machine: &Machine, all: bool) -> Option<Rule> {
        let known = |register: &Register| machine.get(*register) == meant;
        let found = self.bases().find(known).or_else(|| {
            // System registers, which the processor sets at an exception.
            let system = 33..REGISTERS as Register;
            system.into_iter().find(|register| all && known(register))
        })?;
        Some(Rule::Value {
            base: self.rule_base(found),
            offset: 0,
        })
    }

    /// The rule for where a value is: in a register or on the stack.
    pub(super) fn location(
        &self,
        meant: Value,
        machine: &Machine,
        caller: &Caller,
    ) -> Option<Rule> {
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

    /// The rule for a slot of the stack that holds a value.
    fn in_slot(&self, meant: Value, machine: &Machine, cfa: Option<(Base, i64)>) -> Option<Rule> {
        let holding = machine.known().filter(|slot| {
            slot.value == meant
                && slot.size == I::WORD
                && !is_below(machine, slot.base, slot.offset)
        });
        let rules = holding.filter_map(|slot| Some((slot, self.saved(slot, machine, cfa)?)));
        // Registers are saved next to the caller's frame, variables further down.
        let first = rules.min_by_key(|(slot, _)| (slot.base != Base::ENTRY, -slot.offset));
        first.map(|(_, rule)| rule)
    }

    /// The rule for a slot, if something is known to lie at a distance from it.
    fn saved(&self, slot: &Slot, machine: &Machine, cfa: Option<(Base, i64)>) -> Option<Rule> {
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
    }

    pub(super) fn bases(&self) -> impl Iterator<Item = Register> + Clone {
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
