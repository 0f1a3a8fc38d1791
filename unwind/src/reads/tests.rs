//! How much a step and a whole report read of tables and names: of ordinary ones, and of ones that lie to make it take long.
//! `cargo test -p sframe-unwind --lib reads -- --nocapture` prints the numbers.

extern crate std;

use std::fmt::Write;
use std::println;
use std::string::String;
use std::vec::Vec;

use super::counted::of;
use crate::bytes::{ByteOrder, Bytes};
use crate::crc32::crc32;
use crate::report::Text;
use crate::sframe::{Tables, Verified};
use crate::symbols::{SymbolTable, format as names};
use crate::x86_64::Registers;
use crate::{Code, End, Range, Stacks, Trace, Unwinder};

/// The table is as far away from the code as a kernel's.
const TABLE: u64 = 0x80_0000;
const TEXT: u64 = 0x1000;
const STACK: u64 = 0x100_0000;
/// Bytes of each function.
const SIZE: u64 = 0x40;

/// The most functions, or rows, that a look-up reads one after another.
const MOST: u64 = 1 << 16;
/// The most look-ups of a step, as `Frames` promises; and the most reads of one, of a section and of several, as
/// `LookupError::TooLarge` does.
const LOOK_UPS: u64 = 9;
const READS: u64 = 200_000;
const READS_OF_SEVERAL: u64 = 500_000;

/// Whether functions are said to be sorted.
const SORTED: u8 = 1;
const UNSORTED: u8 = 0;

/// A table of these functions: start, size. They share their rows.
fn table(flags: u8, functions: impl ExactSizeIterator<Item = (u64, u32)>, rows: u16) -> Vec<u8> {
    section(TABLE, flags, functions, rows)
}

/// A section of such a table, which lies at `address`.
fn section(
    address: u64,
    flags: u8,
    functions: impl ExactSizeIterator<Item = (u64, u32)>,
    rows: u16,
) -> Vec<u8> {
    let count = functions.len();
    // They may share more than the header can count.
    let row_count = (count as u32).wrapping_mul(rows.into());
    let rows = [
        &rows.to_le_bytes()[..],
        &[0, 0, 0],
        // The frame address is `sp + 16`.
        &[0x00, 0x03, 0x10].repeat(rows.into()),
    ]
    .concat();
    let mut bytes = Vec::from([0xe2, 0xde, 3, 4 | flags, 3, 0, 0xf8, 0]);
    let [count, row_bytes] = [count as u32, rows.len() as u32];
    for word in [count, row_count, row_bytes, 0, count * 16] {
        bytes.extend(word.to_le_bytes());
    }
    for (start, size) in functions {
        let field = address + bytes.len() as u64;
        bytes.extend(start.wrapping_sub(field).to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(0_u32.to_le_bytes());
    }
    bytes.extend(rows);
    bytes
}

/// So many functions, one behind the other.
fn functions(count: u64) -> impl ExactSizeIterator<Item = (u64, u32)> + DoubleEndedIterator {
    (0..count as u32).map(|index| (TEXT + u64::from(index) * SIZE, SIZE as u32))
}

/// The code of functions, each of which calls the one before it; the call of the first leads to `elsewhere`.
fn calls(count: u64, elsewhere: u64) -> Vec<u8> {
    let mut code = [0x90].repeat((count * SIZE) as usize);
    for (index, function) in code.chunks_exact_mut(SIZE as usize).enumerate() {
        let start = TEXT + index as u64 * SIZE;
        let to = if index == 0 { elsewhere } else { start - SIZE };
        function[0] = 0xe8;
        let distance = to.wrapping_sub(start + 5) as u32;
        function[1..5].copy_from_slice(&distance.to_le_bytes());
    }
    code
}

/// What a report has read, of how many frames, and why it ended.
struct Report {
    reads: u64,
    frames: u32,
    end: End,
}

/// A stack on which the functions call each other: the first runs, and the ones after it are its callers.
fn stack(frames: u64) -> (Vec<u64>, [Range; 1]) {
    let words: Vec<u64> = (1..frames)
        .flat_map(|caller| [0, TEXT + caller * SIZE + 5])
        .collect();
    let ranges = [Range::new(STACK, STACK + 8 * words.len() as u64)];
    (words, ranges)
}

/// The reads of the step that takes most of them, the last one included; how many frames there are, and why there is no other.
fn worst_step(table: &[u8], code: &[u8]) -> (u64, u32, End) {
    let (words, ranges) = stack(32);
    let read = |address: u64| words.get(((address - STACK) / 8) as usize).copied();
    let code = [Code::new(code, TEXT)];
    let unwinder = Unwinder::new(Tables::new(table, TABLE)).code(&code);
    let mut frames = unwinder.frames(Registers::new(TEXT, STACK, 0), Stacks::new(&ranges, read));
    let mut worst = 0;
    loop {
        let (reads, frame) = of(|| frames.next());
        worst = worst.max(reads);
        if frame.is_none() {
            let end = frames.end().expect("an ended walk has a reason");
            return (worst, frames.found(), end);
        }
    }
}

/// A report that begins in the first function.
fn report(table: &[u8], code: &[u8], frames: u64, symbols: Option<SymbolTable<'_>>) -> Report {
    let (words, ranges) = stack(frames);
    let read = |address: u64| words.get(((address - STACK) / 8) as usize).copied();
    let code = [Code::new(code, TEXT)];
    let mut text = String::new();
    let (mut number, mut ended) = (0, End::Limit);
    let (reads, told) = of(|| {
        let unwinder = Unwinder::new(Tables::new(table, TABLE)).code(&code);
        let frames = unwinder.frames(Registers::new(TEXT, STACK, 0), Stacks::new(&ranges, read));
        Trace::new(frames).tell(&mut |event| {
            if let crate::Event::End { end, count, .. } = event {
                (ended, number) = (*end, *count);
            }
            Text::new(symbols).write(&mut text, event)
        })
    });
    told.expect("a string takes all");
    Report {
        reads,
        frames: number,
        end: ended,
    }
}

#[test]
fn an_ordinary_report_reads_little() {
    for (count, most) in [(32, 40), (1 << 10, 50), (1 << 16, 60)] {
        let made = report(
            &table(SORTED, functions(count), 8),
            &calls(32, TEXT),
            32,
            None,
        );
        assert_eq!(made.frames, 32, "{:?}", made.end);
        let reads = made.reads / 32;
        println!("{count} functions: {reads} reads a frame");
        assert!((5..=most).contains(&reads), "{count} functions: {reads}");
    }
}

/// The whole of it is read once, by who verifies it.
#[test]
fn verifying_reads_each_number_once() {
    let bytes = table(SORTED, functions(1 << 10), 8);
    // They share rows, which is read for each.
    let (reads, verified) = of(|| Tables::new(&bytes, TABLE).verify());
    assert_eq!(
        verified,
        Ok(Verified {
            checksum: false,
            code: false
        })
    );
    println!("1024 functions of 8 rows: verified by {reads} reads");
    let rows = (1 << 10) * 8 * 2;
    assert!((rows..=rows + (1 << 10) * 12).contains(&reads), "{reads}");
}

/// Tables of one section that lie.
fn lies() -> Vec<(&'static str, Vec<u8>)> {
    let most_rows = u16::MAX;
    let equal = |count: u32| (0..count).map(|_| (TEXT, 0));
    Vec::from([
        ("unsorted", table(UNSORTED, functions(MOST).rev(), 1)),
        (
            "unsorted, with many rows",
            table(UNSORTED, functions(MOST).rev(), most_rows),
        ),
        (
            "sorted, with many rows",
            table(SORTED, functions(32), most_rows),
        ),
        (
            "sorted, and the last row is none",
            no_last_row(table(SORTED, functions(32), most_rows)),
        ),
        (
            "unsorted, said to be sorted",
            table(SORTED, functions(MOST).rev(), 1),
        ),
        ("equal starts, size 0", table(SORTED, equal(1 << 20), 1)),
        (
            "equal starts, size 0, unsorted",
            table(UNSORTED, equal(MOST as u32), 1),
        ),
        (
            "too many, unsorted",
            table(UNSORTED, functions(MOST + 1), 1),
        ),
    ])
}

/// The table, with a last row whose words have no width: all others are read, and the look-up fails.
fn no_last_row(mut table: Vec<u8>) -> Vec<u8> {
    let info = table.len() - 2;
    table[info] = 0xff;
    table
}

/// So many sections, one behind the other, each made by its number and address.
fn sections(count: u64, make: impl Fn(u64, u64) -> Vec<u8>) -> Vec<u8> {
    (0..count).fold(Vec::new(), |mut bytes, number| {
        bytes.extend(make(number, TABLE + bytes.len() as u64));
        bytes
    })
}

/// Tables of several sections that lie.
fn lies_of_several() -> [(&'static str, Vec<u8>); 4] {
    let last = |at| section(at, SORTED, functions(32), u16::MAX);
    // Of other code: the look-up goes on to the next section.
    let others = |count| functions(count).map(|(start, size)| (start + 0x4000_0000, size));
    let few = |at| section(at, UNSORTED, others(64), 1);
    let sorted = |at| section(at, SORTED, others(1 << 10), 1);
    let between = |other: &dyn Fn(u64) -> Vec<u8>| {
        sections(1025, |number, at| match number {
            0 => section(at, UNSORTED, others(MOST), 1),
            1024 => last(at),
            _ => other(at),
        })
    };
    [
        (
            "200 sections, and the last row of each is none",
            sections(200, |_, at| no_last_row(last(at))),
        ),
        (
            "100,000 sections without functions",
            sections(100_000, |_, at| section(at, UNSORTED, functions(0), 0)),
        ),
        ("the last of 1,025 sections, few unsorted", between(&few)),
        ("the last of 1,025 sections, sorted", between(&sorted)),
    ]
}

#[test]
fn tables_that_lie_cost_each_step_a_bounded_number_of_reads() {
    // Nothing but jumps, each to another place, behind a call that leads there.
    let mut jumps = calls(32, TEXT);
    jumps.resize(0x4_0000, 0x90);
    for (index, jump) in jumps[0x1000..0x3_0000].chunks_exact_mut(5).enumerate() {
        jump[0] = 0xe9;
        let distance = (index as i32 * 0x1357) % 0x8000;
        jump[1..].copy_from_slice(&distance.to_le_bytes());
    }
    let to = (TEXT + 0x1000).wrapping_sub(TEXT + SIZE + 5) as u32;
    jumps[SIZE as usize + 1..][..4].copy_from_slice(&to.to_le_bytes());
    for (lies, bound) in [
        (&lies()[..], LOOK_UPS * READS),
        (&lies_of_several(), LOOK_UPS * READS_OF_SEVERAL),
    ] {
        let mut worst = 0;
        for (name, table) in lies {
            for (text, code) in [("", &[][..]), (" and jumps", &jumps)] {
                let (reads, frames, end) = worst_step(table, code);
                println!("{name}{text}: {frames} frames, at most {reads} reads a step, {end:?}");
                assert!(reads <= bound, "{name}{text}: {reads}");
                worst = worst.max(reads);
            }
        }
        // The bound is near to what a table can cost.
        assert!(worst > bound / 2, "no table has cost much: {worst}");
    }
}

/// The bytes, with a right checksum.
fn sealed(mut blob: Vec<u8>) -> Vec<u8> {
    let checksum = crc32(&blob[names::CRC_FROM..]);
    blob[16..20].copy_from_slice(&checksum.to_le_bytes());
    blob
}

const BLOBS: [&[u8]; 2] = [
    include_bytes!("../../tests/data/symbols/all.symbols"),
    include_bytes!("../../tests/data/symbols/faults.symbols"),
];

/// What one answer reads, with all its names and files, and the bytes of these.
fn answer(table: &SymbolTable<'_>, pc: u64) -> (u64, usize) {
    let mut text = String::new();
    let (reads, ()) = of(|| {
        let Some(answer) = table.resolve(pc) else {
            return;
        };
        for frame in answer.frames() {
            let _ = write!(text, "{}", frame.name);
            if let Some((file, _)) = frame.place() {
                let _ = write!(text, "{file}");
            }
        }
    });
    (reads, text.len())
}

#[test]
fn ordinary_names_take_few_reads() {
    for blob in BLOBS {
        let table = SymbolTable::parse(blob, 0).expect("a table of names");
        let answers = (0x1000..0x2000).map(|pc| answer(&table, pc));
        let worst = answers.max().expect("some");
        println!(
            "names of an address: at most {} reads, {} bytes",
            worst.0, worst.1
        );
        assert!((100..=7000).contains(&worst.0), "{worst:?}");
    }
}

/// Names and paths of one address: of the function, and of the functions that are inlined there.
const TEXTS: u64 = 2 * (names::MAX_EDGES as u64 + 1);

#[test]
fn names_that_lie_take_a_bounded_number_of_reads() {
    // A code is two bytes at most, and a rule one number.
    let of_text = u64::from(names::TEXT_STEPS) + 2 * names::TEXT_MAX as u64;
    // A code and its phrase are two numbers, and so is each byte of it.
    let of_row = (2 + names::PHRASE_MAX as u64) * names::CHUNK_MAX as u64;
    let of_ranges = 3 * names::RANGES_MAX as u64 + 64;
    // Of each record: its place in the index, up to eight lengths, and its own numbers; and edges that are skipped.
    let of_records = (names::MAX_EDGES as u64 + 1) * 32
        + 10 * u64::from(names::LOOKUP_STEPS)
        + TEXTS * 10 * u64::from(names::EDGES_MAX);
    let bound = of_row + of_ranges + of_records + TEXTS * of_text;
    let mut random = 1_u64;
    let mut next = move |below: usize| {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (random >> 33) as usize % below
    };
    let (mut worst, mut longest, mut accepted) = (0, 0, 0);
    for round in 0..4000 {
        let mut blob = BLOBS[round % 2].to_vec();
        for _ in 0..=next(3) {
            let at = 20 + next(blob.len() - 20);
            blob[at] = next(256) as u8;
        }
        // Rules that contain rules, in the last part, which is the grammar of texts.
        if round % 4 < 2 {
            let length = Bytes::new(&blob, ByteOrder::Little)
                .u32(12)
                .expect("a length") as usize;
            for at in (length - 64..length).step_by(2) {
                let rule = names::FIRST_RULE + next(40) as u16;
                blob[at..at + 2].copy_from_slice(&rule.to_le_bytes());
            }
        }
        let blob = sealed(blob);
        let Ok(table) = SymbolTable::parse(&blob, 0) else {
            continue;
        };
        accepted += 1;
        for pc in (0x1000..0x2000).step_by(37) {
            let (reads, length) = answer(&table, pc);
            assert!(reads <= bound, "{reads} reads");
            assert!(
                length as u64 <= TEXTS * 3 * names::TEXT_MAX as u64,
                "{length} bytes"
            );
            worst = worst.max(reads);
            longest = longest.max(length);
        }
    }
    println!(
        "{accepted} damaged tables: at most {worst} of {bound} reads, and {longest} bytes of text"
    );
    assert!(
        accepted > 1000 && worst > 5000,
        "{accepted} tables, {worst} reads"
    );
}
