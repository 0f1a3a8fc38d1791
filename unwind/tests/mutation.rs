//! A million damaged tables and stacks in every test run: no panic (overflow checks are on), no stray read, always an
//! end within the step bound, and never "complete" on a walk that is not. What must hold is in `exercise`.
//!
//! The tables are real sections (`tests/data`), the mutations those that find bugs in readers: bits, bytes, words of
//! extreme values, truncation, and blocks copied elsewhere.

mod exercise;
mod golden;
mod say;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::LazyLock;
use std::thread;

use exercise::Start;
use linker::architecture;
use linker::cfi::Frames;
use linker::function::Function;
use linker::sframe::Table;
use say::say;
use unwind::sframe::{Abi, Base, Row, Rule, Section, Sections, Tables};
use unwind::{Code, End, Range};

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

/// Code: any bytes, with many that begin or end calls and jumps.
static TEXT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut random = Random(1);
    let mut byte = || match random.below(4) {
        0 => [0xe8, 0xff, 0xd0, 0xe9, 0x94, 0x14, 0x0d, 0xc0][random.below(8)],
        _ => random.next() as u8,
    };
    (0..0x4000).map(|_| byte()).collect()
});

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
    let texts = [
        Code::new(&TEXT, address),
        Code::without_bytes(Range::new(address, address.wrapping_add(1 << 30))),
    ];
    let start = Start {
        registers: [code(random), stack(random), stack(random), code(random)],
        ranges: &ranges,
        code: &texts[..random.below(3)],
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
    let sections = sections();
    let address = 0x4_0000;
    let (mut complete, mut ended) = (0_u32, 0_u32);
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
                Some(End::Complete) => complete += 1,
                Some(_) => ended += 1,
                None => panic!("{name}, seed {seed}: no end"),
            }
        }
    }
    say(format_args!(
        "{ended} walks ended early, {complete} complete"
    ));
    assert!(ended > 0);
}

/// A stack as code would leave it: chosen rows of a section, one called by the next, up to a function that nobody calls.
struct Chain {
    /// The innermost program counter.
    pc: u64,
    /// Return addresses, by where they lie.
    words: HashMap<u64, u64>,
    /// The same addresses, and the instruction that ends there.
    calls: Vec<u64>,
    call: &'static [u8],
    /// The stack, from the innermost stack pointer to its begin.
    stack: Range,
}

impl Chain {
    /// One of `length` calls; none if the section has no function that nobody calls, or none that calls.
    fn new(section: &Section<'_>, length: usize, random: &mut Random) -> Option<Self> {
        // `call rax`; `blr x0`. What is looked up is the last byte of the one, and the first instruction of the other.
        let (alignment, call, after): (_, &[u8], _) = match section.abi() {
            Abi::Amd64 => (8, &[0xff, 0xd0], 1),
            Abi::AArch64Little | Abi::AArch64Big => (16, &[0, 0, 0x3f, 0xd6], 4),
            _ => return None,
        };
        let rows = section
            .functions()
            .filter(|function| !function.is_signal_frame() && !function.is_pc_mask())
            .flat_map(|function| {
                function.rows().filter_map(move |row| {
                    let pc = function.start().wrapping_add(row.offset.into());
                    // Some tables have rows behind a function's end, and some that the next one replaces.
                    // At even addresses only, so that no call lies over another.
                    (pc % 2 == 0 && section.lookup(pc).ok()?.1 == row).then_some((pc, row))
                })
            });
        let (last, rows): (Vec<_>, Vec<_>) = rows.partition(|(_, row)| row.is_outermost());
        // Bytes from the stack pointer to the CFA and to the return address, if all that is read lies between.
        let frame = |row: &Row| match (row.cfa, row.return_address, row.frame_pointer) {
            (
                Rule::Value {
                    base: Base::StackPointer,
                    offset: cfa,
                },
                Rule::Saved {
                    base: Base::Cfa,
                    offset: return_address,
                },
                Rule::Same
                | Rule::Saved {
                    base: Base::Cfa, ..
                },
            ) => {
                let inside = |offset: i64| (0..cfa).contains(&(cfa + offset));
                let saved = match row.frame_pointer {
                    Rule::Saved { offset, .. } => inside(offset),
                    _ => true,
                };
                (cfa % alignment == 0 && inside(return_address) && saved)
                    .then_some((cfa.cast_unsigned(), (cfa + return_address).cast_unsigned()))
            }
            _ => None,
        };
        let calling: Vec<_> = rows
            .iter()
            .filter_map(|(pc, row)| Some((*pc, frame(row)?)))
            .collect();
        let start = 0x10_0000;
        let (mut pc, mut sp, mut words) = (None, start, HashMap::new());
        let mut slot = None;
        // The return address is behind the call.
        let mut enter = |at: u64, slot: Option<u64>| match slot {
            Some(slot) => _ = words.insert(slot, at.wrapping_add(after)),
            None => pc = Some(at),
        };
        for _ in 0..length {
            let (at, (size, return_address)) = *calling.get(random.below(calling.len()))?;
            enter(at, slot);
            slot = Some(sp + return_address);
            sp += size;
        }
        enter(last.get(random.below(last.len()))?.0, slot);
        Some(Self {
            pc: pc?,
            calls: words.values().copied().collect(),
            words,
            call,
            stack: Range::new(start, sp),
        })
    }

    fn walk(&self, bytes: &[u8], address: u64, stack: Range) -> Option<End> {
        let word = |address: u64| self.words.get(&address).copied().unwrap_or(0);
        let length = self.call.len() as u64;
        let call = |end: &u64| Code::new(self.call, end.wrapping_sub(length));
        let code: Vec<_> = self.calls.iter().map(call).collect();
        let start = Start {
            registers: [self.pc, self.stack.start, 0, 0],
            ranges: &[stack],
            code: &code,
            word: &word,
        };
        exercise::walk(bytes, address, &start)
    }
}

/// Complete is what ends in a function that nobody calls, at the begin of a stack; and not if the stack is said to begin
/// elsewhere, or a return address is another one.
#[test]
fn sound_chains_are_complete() {
    let address = 0x4_0000;
    let (mut complete, mut cut) = (0_u32, 0_u32);
    for (name, bytes) in &sections() {
        let sections = Sections::new(bytes, address);
        for (section, seed) in sections
            .flatten()
            .flat_map(|one| (1..50).map(move |seed| (one, seed)))
        {
            let mut random = Random(seed);
            let length = random.below(20);
            let Some(chain) = Chain::new(&section, length, &mut random) else {
                continue;
            };
            let end = chain.walk(bytes, address, chain.stack);
            assert_eq!(end, Some(End::Complete), "{name}, seed {seed}");
            complete += 1;

            let longer = Range::new(chain.stack.start, chain.stack.end + 16);
            let end = chain.walk(bytes, address, longer);
            assert_ne!(
                end,
                Some(End::Complete),
                "{name}, seed {seed}: a longer stack"
            );
            let Some(slot) = chain.words.keys().copied().min() else {
                continue;
            };
            let mut damaged = chain;
            damaged.words.insert(slot, 1);
            let end = damaged.walk(bytes, address, damaged.stack);
            assert_ne!(end, Some(End::Complete), "{name}, seed {seed}: {slot:#x}");
            cut += 1;
        }
    }
    say(format_args!(
        "{complete} sound walks complete, {cut} with one word changed not"
    ));
    assert!(complete > 0 && cut > 0);
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
