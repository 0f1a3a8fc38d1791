//! What x86-64 instructions do to stack pointer, saved registers, numbers and jumps, one after the other.

mod flow;
mod numbers;
mod stack;
mod tables;

use std::fs;

use crate::common::{assemble, folder};
use linker::prove::compare::Condition;
use linker::prove::isa::{Flow, Isa};
use linker::prove::machine::Machine;
use linker::prove::table::{Table, Tables};
use linker::prove::value::{Base, Register, Value};
use linker::prove::x86_64::X86;
use object::{Object, ObjectSection};

const START: u64 = 0x10_0000;
const RAX: Register = 0;
const RDX: Register = 1;
const RCX: Register = 2;
const RBX: Register = 3;
const RSI: Register = 4;
const RBP: Register = X86::FRAME_POINTER;

/// The bytes of some texts, which one run of the assembler makes.
fn codes(name: &str, texts: &[&str]) -> Vec<Vec<u8>> {
    let folder = folder(&format!("x86_ran_{name}"));
    let sections = texts.iter().enumerate();
    let sections = sections
        .map(|(index, text)| format!(".section .text.of{index}, \"ax\", %progbits\n{text}\n"));
    let text: String = sections.collect();
    let file = fs::read(assemble(&folder, "x86_64-unknown-linux-gnu", &text)).unwrap();
    let object = object::File::parse(&*file).unwrap();
    let code = |index| {
        let section = object.section_by_name(&format!(".text.of{index}"));
        section.unwrap().data().unwrap().to_vec()
    };
    (0..texts.len()).map(code).collect()
}

fn code(name: &str, text: &str) -> Vec<u8> {
    codes(name, &[text]).remove(0)
}

/// The machine after some instructions, one after the other.
struct Ran {
    machine: Machine,
    tables: Tables,
    flows: Vec<Flow>,
}

impl Ran {
    fn sp(&self) -> i64 {
        match self.machine.sp() {
            Value::Stack(Base::ENTRY, offset) => offset,
            other => panic!("the stack pointer is {other:?}"),
        }
    }

    fn get(&self, register: Register) -> Value {
        self.machine.get(register)
    }

    fn word(&self, offset: i64) -> Value {
        self.machine.peek(Base::ENTRY, offset, 8)
    }

    fn table(&self, value: Value) -> Table {
        match value {
            Value::Table(number) => self.tables.get(number),
            other => panic!("not made from a table: {other:?}"),
        }
    }
}

fn run(name: &str, text: &str) -> Ran {
    run_assuming(name, text, &[])
}

/// Runs a text's instructions, also behind branches; behind as many as `assumed` says, that condition is taken to hold.
fn run_assuming(name: &str, text: &str, assumed: &[(usize, Condition)]) -> Ran {
    run_code(&code(name, text), assumed)
}

/// [`run`], of each of some texts.
fn run_all(name: &str, texts: &[&str]) -> Vec<Ran> {
    let codes = codes(name, texts);
    codes.iter().map(|code| run_code(code, &[])).collect()
}

fn run_code(code: &[u8], assumed: &[(usize, Condition)]) -> Ran {
    let mut machine = Machine::at_entry(X86::STACK_POINTER);
    let mut tables = Tables::default();
    let (mut flows, mut at) = (Vec::new(), 0);
    while at < code.len() {
        machine.at = START + at as u64;
        let executed = X86.execute(&code[at..], &mut machine, &mut tables).unwrap();
        assert_eq!(X86.length(&code[at..], 0), Some(executed.length));
        at += usize::from(executed.length);
        flows.push(executed.flow);
        for (_, condition) in assumed.iter().filter(|(behind, _)| *behind == flows.len()) {
            machine.assume(*condition);
        }
    }
    Ran {
        machine,
        tables,
        flows,
    }
}

const fn number(value: u64) -> Value {
    Value::Constant(value)
}
