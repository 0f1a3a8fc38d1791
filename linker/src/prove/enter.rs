//! The state at a function's entry: where its caller's registers are then.

use unwind::sframe::{Base as RowBase, Row, Rule};

use super::isa::Isa;
use super::judge::{Caller, Judge, constant};
use super::machine::Machine;
use super::outcome::Entry;
use super::value::{Address, Base, Origin, Value};

impl<I: Isa> Judge<'_, I> {
    /// Changes a machine to the state at an entry, and returns the caller's registers. `None`: the first row does not say where
    /// they are.
    pub fn caller(&self, entry: Entry, machine: &mut Machine) -> Option<Caller> {
        let return_address = Value::entry(I::RETURN_ADDRESS);
        let word = |offset| Address::Stack(Base::ENTRY, offset);
        match entry {
            Entry::Call => {
                let pushed = self
                    .architecture
                    .fixed_return_address
                    .map_or(0, |offset| -i64::from(offset));
                if pushed > 0 {
                    machine.store(word(0), I::WORD, return_address);
                }
                Some(Caller {
                    return_address,
                    stack_pointer: Value::Stack(Base::ENTRY, pushed),
                    is_interrupted: false,
                })
            }
            // rip, cs, rflags, rsp, ss: volume 3, figure 7-9 "IA-32e Mode Stack Usage After Privilege Level Change".
            Entry::Interrupt(code) => {
                let code = i64::from(code);
                let stack_pointer = Value::entry(I::STACK_POINTER);
                machine.interrupted(Base::ENTRY, code, I::WORD, return_address);
                machine.interrupted(Base::ENTRY, code + 24, I::WORD, stack_pointer);
                Some(Caller {
                    return_address,
                    stack_pointer,
                    is_interrupted: true,
                })
            }
            Entry::Declared(row) => self.enter(&row, machine),
        }
    }

    /// Changes a machine to a state in which a row holds: the first row of code that is not entered by a call.
    fn enter(&self, row: &Row, machine: &mut Machine) -> Option<Caller> {
        let at_sp = |rule: Rule, value: Value, machine: &mut Machine| {
            let (Rule::Saved { base, offset } | Rule::Value { base, offset }) = rule else {
                return None;
            };
            let from = self
                .base(base, machine, Value::Unknown)
                .plus(constant(offset));
            match (rule, from) {
                (Rule::Saved { .. }, Value::Stack(base, offset)) => {
                    machine.interrupted(base, offset, I::WORD, value);
                    Some(value)
                }
                (Rule::Value { .. }, Value::Stack(..)) => Some(from),
                // The register holds its value at the entry.
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
                machine.interrupted(base, from + offset, I::WORD, value);
                value
            }
            rule => at_sp(rule, Value::entry(I::RETURN_ADDRESS), machine)?,
        };
        if matches!(row.return_address, Rule::Saved { .. }) {
            // The register belongs to the interrupted code: it is not the return address.
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
                    machine.store(Address::Stack(base, from + offset), I::WORD, frame_pointer);
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
}
