//! Runs assembled A64 instructions in the interpreter, one after the other.

use std::fs;

use linker::prove::aarch64::A64;
use linker::prove::compare::Condition;
use linker::prove::isa::{Flow, Isa};
use linker::prove::machine::Machine;
use linker::prove::table::{Table, Tables};
use linker::prove::value::{Base, Register, Value};
use object::{Object, ObjectSection};

use super::{assemble, folder};

/// Address of the first instruction.
pub const START: u64 = 0x10_0000;

/// The abstract state after some instructions.
pub struct Ran {
    pub machine: Machine,
    pub tables: Tables,
    /// The flow of each of them.
    pub flows: Vec<Flow>,
}

impl Ran {
    pub fn last(&self) -> Flow {
        *self.flows.last().unwrap()
    }

    /// The stack pointer, relative to that at the entry.
    pub fn sp(&self) -> i64 {
        match self.machine.sp() {
            Value::Stack(Base::ENTRY, offset) => offset,
            other => panic!("the stack pointer is {other:?}"),
        }
    }

    /// The register whose value at the entry is saved on the stack, `offset` bytes from the stack pointer at the entry.
    pub fn saved(&self, offset: i64) -> Option<Register> {
        let value = self.machine.peek(Base::ENTRY, offset, 8);
        (0..32).find(|register| value == Value::entry(*register))
    }

    pub fn is_as_at_entry(&self, register: Register) -> bool {
        self.machine.get(register) == Value::entry(register)
    }

    /// The jump table that a value is computed from.
    pub fn table(&self, value: Value) -> Table {
        match value {
            Value::Table(number) => self.tables.get(number),
            other => panic!("not made from a table: {other:?}"),
        }
    }
}

/// Runs the instructions of a text one after the other, without following branches. `assumed` has conditions that hold before
/// some of them.
pub fn run(name: &str, text: &str) -> Ran {
    run_assuming(name, text, &[])
}

pub fn run_assuming(name: &str, text: &str, assumed: &[(usize, Condition)]) -> Ran {
    let code = code(name, text);
    let mut machine = Machine::at_entry(A64::STACK_POINTER);
    let mut tables = Tables::default();
    let mut flows = Vec::new();
    for (index, word) in code.chunks_exact(4).enumerate() {
        for (_, condition) in assumed.iter().filter(|(before, _)| *before == index) {
            machine.assume(*condition);
        }
        machine.at = START + 4 * index as u64;
        let executed = A64.execute(word, &mut machine, &mut tables).unwrap();
        assert_eq!(executed.length, 4);
        flows.push(executed.flow);
    }
    for (_, condition) in assumed.iter().filter(|(before, _)| *before == flows.len()) {
        machine.assume(*condition);
    }
    Ran {
        machine,
        tables,
        flows,
    }
}

pub fn code(name: &str, text: &str) -> Vec<u8> {
    let folder = folder(name);
    let text = format!(".arch armv9-a+memtag\n{text}\n");
    let file = fs::read(assemble(&folder, "aarch64-unknown-none-softfloat", &text)).unwrap();
    let object = object::File::parse(&*file).unwrap();
    let section = object.section_by_name(".text").unwrap();
    section.data().unwrap().to_vec()
}
