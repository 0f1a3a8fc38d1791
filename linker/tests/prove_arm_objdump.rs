//! What executing an A32 or T32 instruction changes, against what llvm-objdump prints for it: registers written, and targets of branches. The
//! instructions are arbitrary, so that rare ones come up as often as common ones.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::common::{folder, stdout, succeed, tool};
use linker::prove::arm::Arm;
use linker::prove::isa::{Flow, Isa};
use linker::prove::machine::Machine;
use linker::prove::table::Tables;
use linker::prove::value::{Register, Value};

/// How many of each set are made, and the bytes from one to the next: two halves of nothing follow each, so that a disassembler that takes
/// the second half for the first of another one is back in step.
const COUNT: usize = 60_000;
const STEP: u64 = 8;
const NOP: u16 = 0xbf00;
const LR: Register = 14;
const PC: Register = 15;

/// Numbers without a pattern, the same in every run: Marsaglia's xorshift.
fn words() -> impl Iterator<Item = u32> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as u32
    })
}

/// A file with these instructions, from address 0 on.
fn file(folder: &Path, words: &[u32], is_thumb: bool) -> Vec<u8> {
    let mut text = format!(
        ".syntax unified\n{}\n",
        if is_thumb { ".thumb" } else { ".arm" }
    );
    for word in words {
        match is_thumb {
            // What is no instruction is refused by the assembler, but not as a number of an instruction.
            true => {
                let [first, second] = [word & 0xffff, word >> 16];
                for half in [first, second, NOP.into(), NOP.into()] {
                    text.push_str(&format!(".inst.n {half:#x}\n"));
                }
            }
            false => text.push_str(&format!(".inst {word:#x}\n.inst 0xe320f000\n")),
        }
    }
    let object = crate::common::assemble(folder, "armv7a-none-eabi", &text);
    fs::read(object).unwrap()
}

/// What llvm-objdump prints at each of these places, where it knows an instruction: its length in bytes, and its text.
fn disassembled(folder: &Path, is_thumb: bool, count: usize) -> Vec<Option<(u8, String)>> {
    let path = folder.join("input.o");
    let mut command = tool("llvm-objdump", "llvm");
    let set = if is_thumb { "thumbv7a" } else { "armv7a" };
    command.args([
        "-d",
        &format!("--triple={set}"),
        "--mattr=+vfp4,+neon,+hwdiv,+hwdiv-arm",
    ]);
    let printed = stdout(&succeed(command.arg(path)));
    let mut found = vec![None; count];
    for line in printed.lines() {
        let mut columns = line.split('\t');
        let (Some(start), Some(mnemonic)) = (columns.next(), columns.next()) else {
            continue;
        };
        let Some((at, bytes)) = start.split_once(':') else {
            continue;
        };
        let Ok(at) = u64::from_str_radix(at.trim(), 16) else {
            continue;
        };
        if at % STEP != 0 || mnemonic.starts_with('<') {
            continue;
        }
        let digits = bytes.chars().filter(char::is_ascii_hexdigit).count();
        let operands = columns.next().unwrap_or_default();
        let text = format!("{mnemonic} {operands}");
        let text = text.split(['@', '<']).next().unwrap_or_default();
        found[(at / STEP) as usize] = Some(((digits / 2) as u8, text.trim().to_owned()));
    }
    found
}

fn register(name: &str) -> Option<Register> {
    Some(match name.trim_end_matches('!') {
        "sp" => 13,
        "lr" => LR,
        "pc" => PC,
        other => other
            .strip_prefix('r')?
            .parse()
            .ok()
            .filter(|it| *it < 13)?,
    })
}

/// The registers that an instruction writes, by its text.
fn written(text: &str) -> BTreeSet<Register> {
    let (mnemonic, operands) = text.split_once(' ').unwrap_or((text, ""));
    let is = |start: &str| mnemonic.starts_with(start);
    let mut written = BTreeSet::new();
    let names: Vec<&str> = operands
        .split([',', '{', '}', ' ', '[', ']'])
        .filter(|name| !name.is_empty())
        .collect();
    // The base of a memory operand that is moved.
    if let Some((before, after)) = operands.split_once('[')
        && let Some((inside, behind)) = after.split_once(']')
        && (behind.starts_with('!') || behind.starts_with(','))
        && !before.is_empty()
    {
        written.extend(inside.split(',').next().and_then(register));
    }
    let is_multiple =
        (is("ldm") || is("stm") || is("vldm") || is("vstm") || is("fldm") || is("fstm"))
            && !is("strex");
    if is_multiple && names.first().is_some_and(|base| base.ends_with('!')) {
        written.extend(names.first().and_then(|base| register(base)));
    }
    if is("push") || is("pop") || is("vpush") || is("vpop") {
        written.insert(13);
    }
    let list = || {
        let (_, list) = operands.split_once('{').unwrap_or_default();
        list.split([',', '}', ' '])
            .filter_map(register)
            .collect::<Vec<_>>()
    };
    let first = |count: usize| names.iter().take(count).filter_map(|name| register(name));
    if is("pop") || is("ldm") {
        written.extend(list());
    } else if is("umull")
        || is("smull")
        || is("umlal")
        || is("smlal")
        || is("umaal")
        || is("smlsl")
        || is("mrrc")
    {
        let at = if is("mrrc") { 2 } else { 0 };
        written.extend(
            names
                .iter()
                .skip(at)
                .take(2)
                .filter_map(|name| register(name)),
        );
    } else if is("ldrd") || is("ldrexd") {
        written.extend(first(2));
    } else if is("mrc") {
        written.extend(names.get(2).and_then(|name| register(name)));
    } else if is("vmov") && operands.split(',').next().and_then(register).is_some() {
        written.extend(first(2));
    } else if is("strex")
        || !(is("str")
            || is("st")
            || is("cmp")
            || is("cmn")
            || is("tst")
            || is("teq")
            || is("b") && !is("bic") && !is("bf")
            || is("mcr")
            || is("msr")
            || is("pld")
            || is("pli")
            || is("push")
            || is("cb")
            || is("tb")
            || is("rfe")
            || is("srs")
            || is("v")
            || is("ldc")
            || is("stc")
            || is("cdp")
            || is("it")
            || is("svc")
            || is("f"))
        || is("vmrs")
    {
        written.extend(first(1));
    }
    written
}

/// Runs each at the state of an entry, and looks whether all that the text says is written has changed.
fn compare(is_thumb: bool) {
    let name = if is_thumb {
        "arm_objdump_thumb"
    } else {
        "arm_objdump"
    };
    // Under a condition all is joined with what was before: instructions that are always executed are those that tell.
    let always = |word: u32| match is_thumb {
        // No block of conditional instructions, which llvm-objdump would go on with.
        true if word & 0xff00 == 0xbf00 || word >> 16 & 0xff00 == 0xbf00 => NOP.into(),
        true => word,
        false if word >> 30 == 3 => word,
        false => word & 0x0fff_ffff | 0xe000_0000,
    };
    let words: Vec<u32> = words().map(always).take(COUNT).collect();
    let folder = folder(name);
    let data = file(&folder, &words, is_thumb);
    let parsed = object::File::parse(&*data).unwrap();
    let isa = Arm::of(&parsed);
    let texts = disassembled(&folder, is_thumb, words.len());
    let (mut executed, mut refused, mut unknown) = (0, 0, 0);
    let mut wrong = Vec::new();
    for (index, (word, text)) in words.iter().zip(texts).enumerate() {
        let at = index as u64 * STEP;
        let bytes = [word.to_le_bytes(), [0, 0xbf, 0, 0xbf]].concat();
        let mut machine = Machine::at_entry(Arm::STACK_POINTER);
        machine.at = at;
        let before = machine.clone();
        let ran = isa.execute(&bytes, &mut machine, &mut Tables::default());
        let (Some((length, text)), Some(ran)) = (&text, ran) else {
            match text {
                Some(_) => refused += 1,
                None => unknown += 1,
            }
            continue;
        };
        executed += 1;
        let what = format!("{word:#010x} {text}");
        if *length != ran.length {
            wrong.push(format!("{} bytes: {what}", ran.length));
        }
        let writes = match ran.flow {
            Flow::InterruptReturn => BTreeSet::new(),
            _ => written(text),
        };
        for register in writes {
            let changed = match register {
                PC => !matches!(ran.flow, Flow::Next),
                _ => machine.get(register) != before.get(register),
            };
            // Those of user mode.
            let is_other = text.ends_with('^') && register > 12;
            if !changed && !is_copy(text) && !is_other {
                wrong.push(format!("r{register} is not written: {what}"));
            }
        }
        let mnemonic = text.split([' ', '.']).next().unwrap_or_default();
        let target = text
            .rsplit([' ', '#'])
            .next()
            .and_then(|it| it.strip_prefix("0x"));
        let target = target.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        match (mnemonic, ran.flow) {
            (
                "b" | "bl" | "blx",
                Flow::Jump(Value::Constant(to)) | Flow::Call(Value::Constant(to)),
            ) => {
                assert_eq!(Some(to & 0xffff_ffff), target, "{what}");
            }
            ("b" | "bl", Flow::Next) => assert_eq!(target, Some(at + u64::from(*length)), "{what}"),
            ("b" | "bl", flow) => wrong.push(format!("{flow:?}: {what}")),
            _ => {}
        }
    }
    assert!(
        wrong.is_empty(),
        "{}: {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(40)]
    );
    assert!(executed > COUNT / 4, "{executed} of {COUNT}");
    crate::common::say(format_args!(
        "{name}: {executed} executed, {refused} refused, {unknown} unknown to llvm-objdump"
    ));
}

/// Whether it leaves a register as it is, as far as is followed.
fn is_copy(text: &str) -> bool {
    let (mnemonic, operands) = text.split_once(' ').unwrap_or((text, ""));
    let names: Vec<&str> = operands.split(", ").collect();
    let zero = names
        .last()
        .is_some_and(|last| matches!(*last, "#0" | "#0x0" | "#-0" | "#-0x0"));
    let same = names.first() == names.get(1);
    // The program counter's lowest bits are zeros.
    text.contains("pc, lsl #2")
        || text.contains("pc, lsl #3")
        || text.contains("#-0]!")
        || text.contains("#0]!")
        || text.contains("], #-0")
        || text.ends_with("], #0")
        || (mnemonic.starts_with("mov") && same)
        || zero
            && (same || names.len() == 2)
            && (mnemonic.starts_with("add") || mnemonic.starts_with("sub"))
}

#[test]
fn a32_changes_what_objdump_prints() {
    compare(false);
}

#[test]
fn t32_changes_what_objdump_prints() {
    compare(true);
}
