//! Damaged sections, and damaged stacks under sound ones: no panic (overflow checks are on), no stray read, always an end
//! within the step bound, and never "complete" on a walk that is not. What must hold is in `exercise`.
//!
//! The mutations are those that find bugs in readers: bits, bytes, words of extreme values, truncation, and blocks copied
//! elsewhere.

mod chain;
#[path = "../exercise/mod.rs"]
pub mod exercise;
pub mod random;
#[path = "../say/mod.rs"]
mod say;

use std::path::Path;
use std::sync::LazyLock;

use chain::Chain;
use exercise::Start;
use random::{Random, mutate, on_seeds};
use say::say;
use unwind::sframe::{Section, Sections, Tables, format};
use unwind::{Code, End, Range};

/// Where the sections lie: so high that all of the code that they describe is above 0.
pub const ADDRESS: u64 = 0x400_0000;

/// The sections stored in a folder, with the paths of their files.
pub fn stored(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut folders = vec![folder.to_owned()];
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
    found
}

/// Code: any bytes, with many that begin or end calls and jumps.
pub static TEXT: LazyLock<Vec<u8>> = LazyLock::new(|| {
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
        choices: match random.below(2) {
            0 => 0,
            _ => random.next(),
        },
    };
    exercise::walk(bytes, address, &start)
}

/// Appends the trailer that `linker` writes: a list of unproven ranges, the linked address, a checksum. Returns the bytes unchanged if the
/// section is big-endian or does not end with its rows.
fn with_proof(
    mut bytes: Vec<u8>,
    address: u64,
    functions: &[(u64, u32)],
    random: &mut Random,
) -> Vec<u8> {
    let is_little = bytes.starts_with(&format::MAGIC.to_le_bytes());
    let length = Section::parse(&bytes, address).map(|section| section.length());
    if !is_little || length != Ok(bytes.len()) {
        return bytes;
    }
    let mut proof = Vec::new();
    let listed = functions.iter().filter(|_| random.below(3) == 0);
    let mut listed: Vec<_> = listed
        .map(|(start, size)| (start.wrapping_sub(address) as u32, *size as u16))
        .collect();
    listed.sort_unstable();
    for (start, size) in &listed {
        proof.extend(start.to_le_bytes());
        proof.extend(size.to_le_bytes());
    }
    let count = listed.len() as u32;
    proof.extend(count.to_le_bytes());
    proof.extend(format::PROOF_MAGIC.to_le_bytes());
    proof.extend(address.to_le_bytes());
    proof.extend(format::LINKED_MAGIC.to_le_bytes());
    let rows = u32::from_le_bytes(bytes[16..20].try_into().expect("four bytes"));
    let rows = rows as usize + proof.len() + format::CHECKSUM_SIZE;
    bytes[16..20].copy_from_slice(&(rows as u32).to_le_bytes());
    bytes.extend(proof);
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes.extend(format::CHECKSUM_MAGIC.to_le_bytes());
    bytes
}

/// Damages them so many times: whatever comes of it holds what `exercise` asks.
pub fn sections(sections: &[(String, Vec<u8>)], mutations: u64) {
    let address = ADDRESS;
    let functions: Vec<Vec<(u64, u32)>> = sections
        .iter()
        .map(|(_, bytes)| {
            let all = Sections::new(bytes, address).flatten();
            all.flat_map(|section| section.functions())
                .map(|function| (function.start(), function.size()))
                .collect()
        })
        .collect();
    on_seeds(mutations, |seed| {
        let index = usize::try_from(seed).expect("64 bits") % sections.len();
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut bytes = sections[index].1.clone();
        if random.below(2) == 0 {
            bytes = with_proof(bytes, address, &functions[index], &mut random);
        }
        mutate(&mut bytes, &mut random);
        let pc = functions[index]
            .get(random.below(functions[index].len()))
            .map_or(0, |f| f.0);
        exercise::sections(&bytes, address, pc);
        exercise::values([address, pc, random.next(), random.next()]);
        walk(&bytes, address, &functions[index], &mut random);
    });
}

/// Walks by sound sections over stacks of anything.
pub fn stacks(sections: &[(String, Vec<u8>)]) {
    let address = ADDRESS;
    let (mut complete, mut ended) = (0_u32, 0_u32);
    for (name, bytes) in sections {
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

/// Complete is what ends in a function that nobody calls, at the begin of a stack; and not if the stack is said to begin
/// elsewhere, or a return address is another one.
pub fn chains(sections: &[(String, Vec<u8>)]) {
    let address = ADDRESS;
    let (mut complete, mut cut) = (0_u32, 0_u32);
    for (name, bytes) in sections {
        for (section, seed) in Sections::new(bytes, address)
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
