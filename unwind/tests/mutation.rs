//! A million damaged tables and stacks in every test run: no panic (overflow checks are on), no stray read, always an
//! end within the step bound, and never "complete" on a walk that is not. What must hold is in `exercise`.
//!
//! The tables are real sections (`tests/data`), the mutations those that find bugs in readers: bits, bytes, words of
//! extreme values, truncation, and blocks copied elsewhere.

mod exercise;
mod golden;
mod say;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::thread;

use exercise::Start;
use linker::architecture;
use linker::cfi::Frames;
use linker::function::Function;
use linker::sframe::Table;
use say::say;
use unwind::sframe::{Abi, Section, Sections, Tables};
use unwind::{End, Range};

/// Damaged sections, over all of the real ones.
const MUTATIONS: u64 = 1_000_000;
/// A section's mutations, split among threads.
const THREADS: u64 = 2;

/// Pseudo-random numbers (xorshift64*), the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).expect("below a usize")
    }
}

/// The stored sections; a big one only as far as its header claims fits in a quick mutation.
fn sections() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut folders = vec![folder];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the stored sections are there") {
            let path = entry.expect("a folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "sframe")
            {
                let bytes = std::fs::read(&path).expect("a stored section can be read");
                found.push((path.display().to_string(), bytes));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no stored sections");
    let with_blocks: Vec<_> = found
        .iter()
        .filter_map(|(name, bytes)| Some((format!("{name} with blocks"), with_blocks(bytes)?)))
        .collect();
    assert!(!with_blocks.is_empty(), "no section can have a block index");
    found.extend(with_blocks);
    found
}

/// A little-endian section's functions and rows with a block index, which only `linker` writes.
fn with_blocks(bytes: &[u8]) -> Option<Vec<u8>> {
    let address = 0x4_0000;
    let section = Section::parse(bytes, address).ok()?;
    let architecture = match section.abi() {
        Abi::Amd64 => &architecture::X86_64,
        Abi::AArch64Little => &architecture::AARCH64,
        _ => return None,
    };
    let functions = section.functions().map(|function| Function {
        start: function.start(),
        size: function.size(),
        rows: function.rows().collect(),
        signal: function.is_signal_frame(),
        key_b: function.uses_key_b(),
        block: None,
    });
    let mut frames = Frames {
        functions: functions.filter(|function| function.size > 0).collect(),
        left_out: Vec::new(),
    };
    frames.functions.sort_by_key(|function| function.start);
    let table = Table::new(architecture, &mut frames);
    let plain = table.size();
    let table = table.with_blocks();
    (table.size() > plain).then(|| table.to_bytes(address))
}

/// Damages `bytes` in one to four places.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        // Every other time in the header and the first entries, where a byte matters most.
        let reach = if random.next() & 1 == 0 {
            64
        } else {
            bytes.len()
        };
        let at = random.below(reach.min(bytes.len()));
        let Some(byte) = bytes.get_mut(at) else {
            return;
        };
        match random.below(6) {
            0 => *byte ^= 1 << random.below(8),
            1 => *byte = random.next() as u8,
            2 => *byte = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
            3 => {
                let word =
                    [0, 1, i32::MAX as u32, 1 << 31, u32::MAX, bytes.len() as u32][random.below(6)];
                for (byte, new) in bytes[at..].iter_mut().zip(word.to_le_bytes()) {
                    *byte = new;
                }
            }
            4 => bytes.truncate(at),
            _ => {
                let from = random.below(bytes.len());
                let length = random.below(32).min(bytes.len() - from.max(at));
                bytes.copy_within(from..from + length, at);
            }
        }
    }
}

/// Walks over a stack whose words are addresses in functions of the table, in the stacks, or nothing sensible.
fn walk(bytes: &[u8], address: u64, functions: &[(u64, u32)], random: &mut Random) -> Option<End> {
    let code = |random: &mut Random| match functions.get(random.below(functions.len())) {
        Some((start, size)) => start.wrapping_add(random.next() % u64::from(*size).max(1)),
        None => random.next(),
    };
    let ranges = [
        Range::new(0x10_0000, 0x10_0200),
        Range::new(0x20_0000, 0x20_0100),
    ];
    let stack = |random: &mut Random| 0x10_0000 + (random.next() & 0x10_01f8);
    let words: Vec<u64> = (0..96)
        .map(|_| match random.below(4) {
            0 => stack(random),
            1 => random.next(),
            _ => code(random),
        })
        .collect();
    let word = |address: u64| words[(address >> 3) as usize % words.len()];
    let text = [Range::new(address, address.wrapping_add(1 << 30))];
    let start = Start {
        registers: [code(random), stack(random), stack(random), code(random)],
        ranges: &ranges,
        text: if random.next() & 1 == 0 { &[] } else { &text },
        word: &word,
    };
    exercise::walk(bytes, address, &start)
}

/// Runs `test` on so many seeds, on several threads; a failure names its seed.
fn on_seeds(count: u64, test: impl Fn(u64) + Sync) {
    thread::scope(|scope| {
        for first in 0..THREADS {
            let test = &test;
            scope.spawn(move || {
                for seed in (first..count).step_by(THREADS as usize) {
                    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| test(seed))) {
                        eprintln!("seed {seed}");
                        resume_unwind(panic);
                    }
                }
            });
        }
    });
}

#[test]
fn damaged_sections() {
    let sections = sections();
    let address = 0x4_0000;
    let functions: Vec<Vec<(u64, u32)>> = sections
        .iter()
        .map(|(_, bytes)| {
            let all = Sections::new(bytes, address).flatten();
            all.flat_map(|section| section.functions())
                .map(|function| (function.start(), function.size()))
                .collect()
        })
        .collect();
    on_seeds(MUTATIONS, |seed| {
        let index = usize::try_from(seed).expect("64 bits") % sections.len();
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut bytes = sections[index].1.clone();
        mutate(&mut bytes, &mut random);
        let pc = functions[index]
            .get(random.below(functions[index].len()))
            .map_or(0, |f| f.0);
        exercise::sections(&bytes, address, pc);
        walk(&bytes, address, &functions[index], &mut random);
    });
}

#[test]
fn sound_sections_over_damaged_stacks() {
    // Here the ends are counted: a run in which no walk ever completed, or none failed, would prove nothing.
    let sections = sections();
    let address = 0x4_0000;
    let complete = Cell::new(0_u32);
    let ended = Cell::new(0_u32);
    for (name, bytes) in &sections {
        let tables = Tables::new(bytes, address);
        assert!(tables.first().is_ok(), "{name}");
        let functions: Vec<_> = Sections::new(bytes, address)
            .flatten()
            .flat_map(|section| section.functions())
            .map(|function| (function.start(), function.size()))
            .collect();
        for seed in 1..200 {
            let mut random = Random(seed);
            match walk(bytes, address, &functions, &mut random) {
                Some(End::Complete) => complete.set(complete.get() + 1),
                Some(_) => ended.set(ended.get() + 1),
                None => panic!("{name}, seed {seed}: no end"),
            }
        }
    }
    say(format_args!(
        "{} walks ended early, {} complete",
        ended.get(),
        complete.get()
    ));
    assert!(ended.get() > 0);
}

#[test]
fn damaged_symbol_tables() {
    let address = 0x40_0000;
    let tables = golden::tables();
    on_seeds(200_000, |seed| {
        let index = usize::try_from(seed).expect("64 bits") % tables.len();
        let table = &tables[index];
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut bytes = table.bytes.clone();
        mutate(&mut bytes, &mut random);
        // Most of them with a checksum that is right, so that the parts behind it see damage too.
        if !seed.is_multiple_of(8) {
            exercise::with_checksum(&mut bytes);
        }
        for _ in 0..4 {
            let (pc, _) = &table.answers[random.below(table.answers.len())];
            exercise::symbols(&bytes, address, pc.wrapping_add(address));
        }
    });
}
