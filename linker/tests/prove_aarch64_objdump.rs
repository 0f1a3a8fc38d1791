//! What executing an A64 instruction changes, against the operands that llvm-objdump prints for it: registers written,
//! places on the stack written, targets of branches, numbers. The instructions are arbitrary words, so that rare ones come
//! up as often as common ones.

mod text;

use std::collections::BTreeSet;
use std::fs;

use crate::common::{folder, say, stdout, succeed, tool};
use linker::prove::aarch64::A64;
use linker::prove::isa::{Flow, Isa};
use linker::prove::machine::Machine;
use linker::prove::table::Tables;
use linker::prove::value::{Address, Base, Register, Value};
use text::{Text, number};

const SP: Register = A64::STACK_POINTER;
/// How many words are made.
const WORDS: usize = 100_000;
/// On the stack, what lies so far on both sides of the stack pointer is looked at: bytes.
const AROUND: i64 = 96;

/// Words without a pattern, the same in every run: Marsaglia's xorshift.
fn words() -> Vec<u32> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        with_ones((state >> 16) as u32)
    };
    std::iter::repeat_with(next).take(WORDS).collect()
}

/// Puts ones where the manual says that they should be, in exclusive loads and stores and in multiplications: other words
/// are nothing that an assembler writes.
fn with_ones(word: u32) -> u32 {
    let bit = |number: u32| word >> number & 1 == 1;
    let is_exclusive = word >> 24 & 0x3f == 0b00_1000;
    if word & 0xff60_0000 == 0x9b40_0000 {
        return word | 0x1f << 10;
    }
    if !is_exclusive || bit(21) && bit(23) {
        return word;
    }
    let second = if bit(21) { 0 } else { 0x1f << 10 };
    let status = if bit(22) || bit(23) { 0x1f << 16 } else { 0 };
    word | second | status
}

/// What llvm-objdump prints for each word, of those that it knows.
fn disassembled(words: &[u32]) -> Vec<Option<String>> {
    let folder = folder("a64_objdump");
    let mut file = object::write::Object::new(
        object::BinaryFormat::Elf,
        object::Architecture::Aarch64,
        object::Endianness::Little,
    );
    let text = file.section_id(object::write::StandardSection::Text);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    file.append_section_data(text, &bytes, 4);
    let path = folder.join("words.o");
    fs::write(&path, file.write().unwrap()).unwrap();
    let mut command = tool("llvm-objdump", "llvm");
    // Each version knows some of them, and passes over the others.
    let extensions = "--mattr=+all,+v8.7a,+mte,+sve2,+lse,+pauth,+rcpc-immo,+fullfp16,+mops";
    let output = succeed(command.args(["-d", "-z", extensions]).arg(&path));
    let mut texts = vec![None; words.len()];
    for line in stdout(&output).lines() {
        let Some((address, rest)) = line.trim_start().split_once(": ") else {
            continue;
        };
        let (Ok(address), Some((_, text))) =
            (usize::from_str_radix(address, 16), rest.split_once('\t'))
        else {
            continue;
        };
        if !text.contains("<unknown>") {
            texts[address / 4] = Some(text.replace('\t', " "));
        }
    }
    texts
}

/// A machine with something in every place around the stack pointer, and `base` there, too.
fn machine(base: Register) -> Machine {
    let mut machine = Machine::at_entry(SP);
    for (index, offset) in (-AROUND..AROUND).step_by(8).enumerate() {
        let value = Value::Signed(index as Register);
        machine.store(Address::Stack(Base::ENTRY, offset), 8, value);
    }
    machine.set(base, Value::Stack(Base::ENTRY, 0));
    machine
}

#[test]
fn changes_are_those_of_the_operands() {
    let words = words();
    let texts = disassembled(&words);
    let (mut compared, mut values, mut stores, mut branches, mut unknown) = (0, 0, 0, 0, 0);
    // What the decoder does not know: pointer authentication with the program counter (Armv9.5), and system registers
    // of 128 bits that do not exist.
    let mut left_out = 0;
    let mut wrong = Vec::new();
    for (index, (word, text)) in words.iter().zip(&texts).enumerate() {
        let before = machine((word >> 5 & 31) as Register);
        let mut after = before.clone();
        after.at = 4 * index as u64;
        let executed = A64.execute(&word.to_le_bytes(), &mut after, &mut Tables::default());
        let Some(text) = text else {
            unknown += usize::from(executed.is_some());
            continue;
        };
        let parsed = Text::parse(text);
        // A base register that is loaded and moved: what it holds then, the manual leaves open.
        let moves = parsed
            .memory()
            .is_some_and(|at| parsed.operands[at].ends_with('!') || parsed.operands.len() > at + 1);
        let base = parsed
            .base()
            .filter(|_| moves && parsed.mnemonic.starts_with("ld"));
        if base.is_some() && [0, 1].iter().any(|of| parsed.register(*of) == base) {
            continue;
        }
        let is_newer = parsed.mnemonic.contains("sppc") || parsed.mnemonic.contains("171615");
        let is_unnamed = text.contains("S0_") || text.contains("S1_");
        if executed.is_none() && (is_newer || is_unnamed && parsed.mnemonic.contains("rr")) {
            left_out += 1;
            continue;
        }
        let Some(executed) = executed else {
            wrong.push(format!("{word:08x} {text}: not decoded"));
            continue;
        };
        compared += 1;
        let changed: BTreeSet<Register> = (0..=SP)
            .filter(|of| before.get(*of) != after.get(*of))
            .collect();
        let written = parsed.written();
        // A register that is given what it holds is written, and does not change; the base holds the stack pointer.
        let gives_same = parsed.register(0) == Some(SP)
            || (1..=2).any(|of| parsed.register(0) == parsed.register(of));
        let copies = gives_same && written.len() == 1 && changed.is_empty();
        if changed != written && !copies {
            wrong.push(format!("{word:08x} {text}: changes {changed:?}"));
        }
        if let Some(value) = parsed.result(after.at, &before) {
            values += 1;
            let is = after.get(parsed.register(0).unwrap());
            if is != value {
                wrong.push(format!("{word:08x} {text}: gives {is:?}, not {value:?}"));
            }
        }
        let target = match executed.flow {
            Flow::Branch(target, _) => Some(target),
            Flow::Jump(Value::Constant(target)) | Flow::Call(Value::Constant(target)) => {
                Some(target)
            }
            _ => None,
        };
        if let Some(target) = target {
            branches += 1;
            let printed = parsed.operands.last().and_then(|operand| number(operand));
            if printed != Some(target.cast_signed()) {
                wrong.push(format!("{word:08x} {text}: leads to {target:#x}"));
            }
        }
        if written.contains(&SP) {
            continue;
        }
        let places = (-AROUND..AROUND).step_by(8);
        let overwritten: Vec<i64> = places
            .clone()
            .filter(|of| after.peek(Base::ENTRY, *of, 8) != before.peek(Base::ENTRY, *of, 8))
            .collect();
        let expected: Vec<i64> = match parsed.stores() {
            _ if parsed.stores_anywhere() => places.collect(),
            Some((offset, size)) => {
                stores += 1;
                places
                    .filter(|of| *of < offset + size && offset < *of + 8)
                    .collect()
            }
            None => Vec::new(),
        };
        if overwritten != expected {
            wrong.push(format!(
                "{word:08x} {text}: overwrites {overwritten:?}, not {expected:?}"
            ));
        }
    }
    say(format_args!(
        "{compared} instructions compared, {values} values, {stores} stores, {branches} branches; llvm-objdump does not know {unknown}, the decoder {left_out}"
    ));
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(30)].join("\n")
    );
    assert!(compared > WORDS / 4 && values > 500 && stores > 1000 && branches > 1000);
}

/// Whatever has run before: no instruction makes the arithmetic on what is known overflow.
#[test]
fn any_instruction_follows_any_other() {
    let words = words();
    let mut executed = 0;
    for run in words.chunks(50) {
        let mut machine = Machine::at_entry(SP);
        let mut tables = Tables::default();
        // Numbers to compute with.
        for register in 0..8 {
            let value = u64::from(run[usize::from(register)]) << (register * 4);
            machine.set(register, Value::Constant(value));
        }
        for (index, word) in run.iter().enumerate() {
            machine.at = (u64::MAX - 99).wrapping_add(4 * index as u64);
            // Most read registers that hold numbers or the stack pointer.
            let word =
                word & !(0x18 << 5 | 0x18 << 16) | if word & 1 << 31 == 0 { 0x1f << 5 } else { 0 };
            let done = A64.execute(&word.to_le_bytes(), &mut machine, &mut tables);
            executed += usize::from(done.is_some());
        }
    }
    assert!(executed > WORDS / 4);
}
