//! What is known of registers, of the stack and of comparisons: what a read gives back, what a write or a call makes
//! unknown, and what is left where two ways meet.

mod compared;
mod joined;
mod memory;
mod values;

use linker::prove::compare::{Condition, Consequence, Limit, Operand};
use linker::prove::machine::Machine;
use linker::prove::value::{Address, Base, Origin, REGISTERS, Register, Value};

const SP: Register = 7;
const ENTRY: Base = Base::ENTRY;

fn machine() -> Machine {
    let mut machine = Machine::at_entry(SP);
    machine.at = 0x100;
    machine
}

/// A number that stands in no register.
fn number(value: u64) -> Operand {
    Operand {
        register: None,
        value: Value::Constant(value),
    }
}

fn stack(offset: i64) -> Value {
    Value::Stack(ENTRY, offset)
}

fn at(offset: i64) -> Address {
    Address::Stack(ENTRY, offset)
}
