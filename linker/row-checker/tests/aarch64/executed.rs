//! Each instruction compared with what the emulator makes of it: registers that change, their values, and bytes of memory.

use std::fs;
use std::io::Write as _;
use std::ops::Range;
use std::process::Stdio;

use row_checker::aarch64::SP;
use row_checker::instruction::{Effect, Flow, Instruction, Operand, Register, Size};

use super::inputs::{decode, folder, succeed, tool};
use super::objdump::random_words;

/// How many words are executed at most.
const COUNT: usize = 40_000;
/// Bytes between the addresses in two registers.
const DISTANCE: u64 = 64;
/// Bytes of memory that are compared: half of them before the first register's address.
const WINDOW: u64 = 0x3000;

/// What an instruction has changed.
struct Executed {
    failed: bool,
    registers: [u64; 32],
    /// Bytes of the window that have changed.
    changed: Range<u64>,
    /// The bytes from the first changed one on.
    bytes: Vec<u8>,
}

impl Executed {
    /// Bytes of a result in the output of `executed.c`.
    const SIZE: usize = 8 * 35 + 64;

    fn parse(bytes: &[u8]) -> Self {
        let (words, bytes) = bytes.split_at(8 * 35);
        let word = |index: usize| u64::from_le_bytes(*words[8 * index..].first_chunk().unwrap());
        Self {
            failed: word(0) != 0,
            registers: std::array::from_fn(|number| word(1 + number)),
            changed: word(33)..word(34),
            bytes: bytes.to_vec(),
        }
    }
}

/// Executes words. Returns the address in the first register, the address of each instruction, and the changes of each.
fn execute(words: &[u32]) -> (u64, u64, Vec<Executed>) {
    let folder = folder("executed");
    let path = |file: &str| folder.join(file);
    fs::write(path("executed.c"), include_str!("executed.c")).unwrap();
    let mut compiler = tool("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu");
    compiler.args([
        "-O2",
        "-static",
        "-nostdlib",
        "-ffreestanding",
        "-fno-stack-protector",
    ]);
    compiler.args(["-fno-tree-loop-distribute-patterns", "-fno-pie", "-no-pie"]);
    succeed(
        compiler
            .arg("-o")
            .arg(path("executed"))
            .arg(path("executed.c")),
    );
    let input: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut input_file = fs::File::create(path("words")).unwrap();
    input_file.write_all(&input).unwrap();
    let mut emulator = tool("qemu-aarch64", "qemu-user");
    emulator.args(["-cpu", "max"]).arg(path("executed"));
    emulator.stdin(Stdio::from(fs::File::open(path("words")).unwrap()));
    let output = succeed(&mut emulator).stdout;
    let (head, results) = output.split_at(16);
    let address = |at: usize| u64::from_le_bytes(*head[at..].first_chunk().unwrap());
    let results: Vec<_> = results
        .chunks_exact(Executed::SIZE)
        .map(Executed::parse)
        .collect();
    assert_eq!(results.len(), words.len());
    (address(0), address(8), results)
}

/// The state before each instruction.
struct Before {
    /// The address in x0.
    first: u64,
}

impl Before {
    fn register(&self, register: Register) -> u64 {
        self.first + DISTANCE * u64::from(register)
    }

    /// Returns the offset of an address in the window.
    fn offset(&self, address: u64) -> Option<u64> {
        let offset = address.wrapping_sub(self.first - WINDOW / 2);
        (offset < WINDOW - 8).then_some(offset)
    }

    /// Returns the value of an operand, if the state determines it.
    fn value(&self, operand: Operand) -> Option<u64> {
        match operand {
            Operand::Sum(..=SP, _) | Operand::Load(..=SP, _) => {}
            Operand::Sum(..) | Operand::Load(..) => return None,
            _ => {}
        }
        Some(match operand {
            Operand::Sum(register, by) => self.register(register).wrapping_add_signed(by.into()),
            Operand::Registers {
                left,
                right,
                shift,
                subtracts,
            } => {
                let (left, right) = (self.register(left), self.register(right) << shift);
                match subtracts {
                    true => left.wrapping_sub(right),
                    false => left.wrapping_add(right),
                }
            }
            Operand::Number(number) => i64::from(number).cast_unsigned(),
            Operand::Inserted { register, bits, at } => {
                self.register(register) & !(0xffff << at) | u64::from(bits) << at
            }
            Operand::LowByte(register, byte) => self.register(register) & !0xff | u64::from(byte),
            Operand::Address(address) => address,
            Operand::Load(register, by) => {
                let address = self.register(register).wrapping_add_signed(by.into());
                let offset = self.offset(address)?;
                u64::from_le_bytes(std::array::from_fn(|index| pattern(offset + index as u64)))
            }
            Operand::Word
            | Operand::Signed(_)
            | Operand::Authenticated(_)
            | Operand::Computed(_)
            | Operand::Moved
            | Operand::Unknown => {
                return None;
            }
        })
    }
}

/// Returns what a byte of the window contains before each instruction.
fn pattern(offset: u64) -> u8 {
    (offset * 167 + (offset >> 8) * 13 + 7) as u8
}

#[derive(Debug, Default)]
struct Counts {
    executed: usize,
    values: usize,
    stores: usize,
    stored_values: usize,
}

/// Compares one instruction. Returns how it differs.
fn compare(
    before: &Before,
    word: u32,
    instruction: &Instruction,
    executed: &Executed,
    counts: &mut Counts,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for register in 0..=SP {
        let (was, is) = (
            before.register(register),
            executed.registers[usize::from(register)],
        );
        let set = |effect: &Effect| match effect {
            Effect::Set(to, value) if *to == register => Some(*value),
            _ => None,
        };
        match instruction.effects.iter().rev().find_map(set) {
            None if was != is => wrong.push(format!("changes register {register}")),
            None => {}
            Some(operand) => {
                if let Some(value) = before.value(operand) {
                    counts.values += 1;
                    if value != is {
                        wrong.push(format!(
                            "gives register {register} {is:#x}, not {operand:?}"
                        ));
                    }
                }
            }
        }
    }
    // A store with an index is assumed to stay in its object.
    let is_indexed = word & 0x3b20_0c00 == 0x3820_0800;
    if executed.changed.is_empty() || is_indexed {
        return wrong;
    }
    counts.stores += 1;
    let mut unexplained: Vec<u64> = executed.changed.clone().collect();
    for effect in &instruction.effects {
        let Effect::Store {
            base,
            offset,
            size,
            value,
        } = *effect
        else {
            continue;
        };
        let address = before.register(base).wrapping_add_signed(offset.into());
        let start = address
            .wrapping_sub(before.first - WINDOW / 2)
            .cast_signed();
        let (start, end) = match size {
            Size::Bytes(count) => (start, start + i64::from(count)),
            _ => (i64::MIN, i64::MAX),
        };
        unexplained.retain(|at| !(start..end).contains(&at.cast_signed()));
        let stored = before
            .value(value)
            .filter(|_| start.cast_unsigned() < WINDOW - 8);
        for (index, byte) in stored
            .map(u64::to_le_bytes)
            .into_iter()
            .flatten()
            .enumerate()
        {
            counts.stored_values += usize::from(index == 0);
            let at = start.cast_unsigned() + index as u64;
            let is = match at.checked_sub(executed.changed.start) {
                Some(at) if at < executed.bytes.len() as u64 => executed.bytes[at as usize],
                _ => pattern(at),
            };
            if is != byte {
                wrong.push(format!(
                    "stores {is:#x} at {at:#x}, not a byte of {value:?}"
                ));
            }
        }
    }
    if !unexplained.is_empty() {
        wrong.push(format!("stores at {unexplained:x?}"));
    }
    wrong
}

/// Returns whether the harness can execute an instruction: control continues, and no system call is made.
fn is_executable(word: u32, instruction: &Instruction) -> bool {
    instruction.flow == Flow::Next && !matches!(word >> 24, 0xd4 | 0xd5)
}

#[test]
fn random_words_have_the_effects_that_the_emulator_makes() {
    let is_candidate = |word: &u32| decode(0, *word).is_some_and(|one| is_executable(*word, &one));
    let words: Vec<u32> = random_words()
        .into_iter()
        .filter(is_candidate)
        .take(COUNT)
        .collect();
    let (first, at, results) = execute(&words);
    let before = Before { first };
    let (mut counts, mut wrong) = (Counts::default(), Vec::new());
    for (word, executed) in words
        .iter()
        .zip(&results)
        .filter(|(_, executed)| !executed.failed)
    {
        counts.executed += 1;
        let instruction = decode(at, *word).unwrap();
        let how = compare(&before, *word, &instruction, executed, &mut counts);
        wrong.extend(how.into_iter().map(|how| format!("{word:08x}: {how}")));
    }
    println!("{counts:?}");
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(40)].join("\n")
    );
    assert!(
        counts.executed > 15_000 && counts.values > 4_000,
        "{counts:?}"
    );
    assert!(
        counts.stores > 2_000 && counts.stored_values > 700,
        "{counts:?}"
    );
}
