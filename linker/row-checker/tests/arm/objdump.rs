//! What instructions change, against what llvm-objdump prints for them: registers written, lengths, and targets. The instructions are
//! arbitrary, so that rare ones come up as often as common ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use row_checker::architecture::Architecture as _;
use row_checker::arm::Arm;
use row_checker::instruction::{Effect, Flow, Instruction};
use row_checker::program::Program;

use crate::support::{folder, program};

/// How many instructions of each set are made, and the bytes from one to the next: two halves of `nop` follow each, so that a disassembler
/// that takes the second half for the first of another one is back in step.
const COUNT: usize = 20_000;
const STEP: u64 = 8;
const NOP: u32 = 0xbf00;
const LR: u8 = 14;
const PC: u8 = 15;

/// Numbers without a pattern, the same in every run: Marsaglia's xorshift.
fn words() -> impl Iterator<Item = u32> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as u32
    })
}

/// An instruction as llvm-objdump prints it.
struct Printed {
    length: u8,
    mnemonic: String,
    operands: String,
}

/// What llvm-objdump prints at each address, where it knows an instruction.
fn disassembled(path: &Path, is_thumb: bool) -> BTreeMap<u64, Printed> {
    let target = setup::workspace::target_folder().unwrap();
    let tool = setup::program("llvm-objdump", "llvm", &target).unwrap();
    let set = if is_thumb { "thumbv7a" } else { "armv7a" };
    let output = Command::new(tool)
        .args(["-d", "--mattr=+vfp4,+neon,+hwdiv,+hwdiv-arm"])
        .arg(format!("--triple={set}"))
        .arg(path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8_lossy(&output.stdout);
    printed.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<(u64, Printed)> {
    let mut columns = line.split('\t');
    let (at, bytes) = columns.next()?.split_once(':')?;
    let at = u64::from_str_radix(at.trim(), 16).ok()?;
    let mnemonic = columns.next().filter(|it| !it.starts_with('<'))?;
    let digits = bytes.chars().filter(char::is_ascii_hexdigit).count();
    let operands = columns.next().unwrap_or_default();
    let operands = operands.split(['@', '<']).next().unwrap_or_default();
    let printed = Printed {
        length: (digits / 2) as u8,
        mnemonic: mnemonic.trim().to_owned(),
        operands: operands.trim().to_owned(),
    };
    Some((at, printed))
}

fn register(name: &str) -> Option<u8> {
    match name.trim_end_matches('!') {
        "sp" => Some(13),
        "lr" => Some(LR),
        "pc" => Some(PC),
        other => other.strip_prefix('r')?.parse().ok().filter(|it| *it < 13),
    }
}

impl Printed {
    fn is(&self, starts: &[&str]) -> bool {
        starts.iter().any(|start| self.mnemonic.starts_with(start))
    }

    /// The registers that the instruction writes.
    fn written(&self) -> BTreeSet<u8> {
        const TWO: &[&str] = &[
            "umull", "smull", "umlal", "smlal", "umaal", "smlsl", "ldrd", "ldrexd",
        ];
        const NONE: &[&str] = &[
            "str", "st", "cmp", "cmn", "tst", "teq", "mcr", "msr", "pld", "pli", "push", "cb",
            "tb", "rfe", "srs", "v", "ldc", "cdp", "it", "svc", "f", "b",
        ];
        let operands = &self.operands;
        let names: Vec<_> = operands
            .split([',', '{', '}', ' ', '[', ']'])
            .filter(|name| !name.is_empty())
            .collect();
        let mut written = BTreeSet::new();
        // The base of a memory operand that is moved.
        if let Some((before, after)) = operands.split_once('[')
            && let Some((inside, behind)) = after.split_once(']')
            && behind.starts_with(['!', ','])
            && !before.is_empty()
        {
            written.extend(inside.split(',').next().and_then(register));
        }
        let base = names.first().filter(|base| base.ends_with('!'));
        if self.is(&["ldm", "stm", "vldm", "vstm", "fldm", "fstm"]) {
            written.extend(base.and_then(|base| register(base)));
        }
        if self.is(&["push", "pop", "vpush", "vpop"]) {
            written.insert(13);
        }
        let results = if self.is(&["pop", "ldm"]) {
            let (_, list) = operands.split_once('{').unwrap_or_default();
            let all: Vec<_> = list.split([',', '}', ' ']).collect();
            all
        } else if self.is(&["mrrc"]) {
            names.iter().skip(2).take(2).copied().collect()
        } else if self.is(&["mrc"]) {
            names.iter().skip(2).take(1).copied().collect()
        } else if self.is(TWO)
            || self.is(&["vmov"]) && names.first().copied().and_then(register).is_some()
        {
            names.iter().take(2).copied().collect()
        } else if self.is(&["strex", "vmrs", "bic", "bfi", "bfc"]) || !self.is(NONE) {
            names.iter().take(1).copied().collect()
        } else {
            Vec::new()
        };
        written.extend(results.into_iter().filter_map(register));
        written
    }

    /// The target of a branch, which is printed last.
    fn target(&self) -> Option<u64> {
        let last = self.operands.rsplit([' ', '#']).next()?;
        u64::from_str_radix(last.strip_prefix("0x")?, 16).ok()
    }
}

fn sets(instruction: &Instruction, register: u8) -> bool {
    match register {
        PC => instruction.flow != Flow::Next,
        _ => (instruction.effects.iter())
            .any(|effect| matches!(effect, Effect::Set(set, _) if *set == register)),
    }
}

/// What is wrong with a translated instruction.
fn wrong(at: u64, instruction: &Instruction, printed: &Printed) -> Option<String> {
    let Printed {
        mnemonic,
        operands,
        length,
    } = printed;
    if *length != instruction.length {
        return Some(format!("{} bytes", instruction.length));
    }
    // A return from an exception restores registers that the checker does not follow further, and `^` names those of user mode.
    let is_other = |register: u8| operands.ends_with('^') && register > 12;
    let missing = printed
        .written()
        .into_iter()
        .find(|it| !is_other(*it) && !sets(instruction, *it));
    if let Some(register) = missing.filter(|_| instruction.flow != Flow::TrapReturn) {
        return Some(format!("r{register} is not written"));
    }
    let next = at + u64::from(*length);
    let name = mnemonic.split('.').next().unwrap_or_default();
    let is_right = match (name, instruction.flow) {
        ("b" | "bl" | "blx", Flow::Jump | Flow::Branch | Flow::Call) => {
            printed.target() == Some(instruction.target)
        }
        ("bl" | "blx", Flow::Next) => printed.target() == Some(next),
        ("blx", flow) => flow == Flow::IndirectCall,
        ("bx", flow) => matches!(flow, Flow::Return | Flow::IndirectJump | Flow::Jump),
        ("b" | "bl", _) => false,
        _ => true,
    };
    (!is_right).then(|| format!("{:?} to {:#x}", instruction.flow, instruction.target))
}

/// Compares all instructions that both know; returns how many those are.
fn compare(program: &Program<'_>, printed: &BTreeMap<u64, Printed>) -> usize {
    let mut count = 0;
    let mut all = Vec::new();
    for (at, printed) in printed {
        let known = Arm.decode(program, *at);
        if let Some(instruction) = known.filter(|one| *one != Instruction::unlisted(one.length)) {
            count += 1;
            let Printed {
                mnemonic, operands, ..
            } = printed;
            let wrong = wrong(*at, &instruction, printed);
            all.extend(wrong.map(|why| format!("{at:#x} {mnemonic} {operands}: {why}")));
        }
    }
    assert!(
        all.is_empty(),
        "{}: {:#?}",
        all.len(),
        &all[..all.len().min(40)]
    );
    count
}

/// Makes arbitrary instructions, and compares them.
fn arbitrary(name: &str, is_thumb: bool) {
    let folder = folder(name);
    let mut text = String::from(if is_thumb { ".thumb\n" } else { ".arm\n" });
    for word in words().take(COUNT) {
        // Blocks of conditional instructions are not what is compared here, nor conditions of A32.
        let is_block = |half: u32| half & 0xff00 == NOP;
        match is_thumb {
            true if is_block(word & 0xffff) || is_block(word >> 16) => {
                writeln!(
                    text,
                    ".inst.n {NOP:#x}\n.inst.n {NOP:#x}\n.inst.n {NOP:#x}\n.inst.n {NOP:#x}"
                )
            }
            // As numbers, because the assembler refuses what is no instruction.
            true => writeln!(
                text,
                ".inst.n {:#x}\n.inst.n {:#x}\n.inst.n {NOP:#x}\n.inst.n {NOP:#x}",
                word & 0xffff,
                word >> 16
            ),
            false if word >> 30 == 3 => writeln!(text, ".inst {word:#x}\n.inst 0xe320f000"),
            false => writeln!(
                text,
                ".inst {:#x}\n.inst 0xe320f000",
                word & 0x0fff_ffff | 0xe000_0000
            ),
        }
        .unwrap();
    }
    let object = setup::assemble(&folder, "armv7a-none-eabi", &text).unwrap();
    let mut printed = disassembled(&object, is_thumb);
    printed.retain(|at, _| at.is_multiple_of(STEP));
    let program = program(&fs::read(&object).unwrap(), 0);
    let count = compare(&program, &printed);
    assert!(count > COUNT / 3, "{count} of {COUNT}");
}

#[test]
fn a32_instructions_write_what_objdump_prints() {
    arbitrary("arm_objdump", false);
}

#[test]
fn t32_instructions_write_what_objdump_prints() {
    arbitrary("arm_objdump_thumb", true);
}
