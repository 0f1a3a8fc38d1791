//! What A64 instructions make of numbers, of bounds and of copies.

mod compared;
mod memory;
mod numbers;
mod words;

use crate::common::a64::{START, run, run_assuming};
use linker::prove::aarch64::A64;
use linker::prove::compare::Condition;
use linker::prove::isa::{Flow, Isa};
use linker::prove::machine::Machine;
use linker::prove::table::Tables;
use linker::prove::value::{Base, Register, Value};

/// Runs a text and compares registers with numbers; `None`: any other value than a number.
fn numbers(name: &str, text: &str, expected: &[(Register, Option<u64>)]) {
    let ran = run(&format!("a64_values_{name}"), text);
    for (register, number) in expected {
        let found = match ran.machine.get(*register) {
            Value::Constant(number) => Some(number),
            _ => None,
        };
        assert_eq!(
            found,
            *number,
            "x{register}: {:?}",
            ran.machine.get(*register)
        );
    }
}
