//! Uses every part of `unwind` on bytes that may be anything, and checks what must hold for any bytes. Shared by the
//! mutation test and the fuzz targets.
#![allow(
    dead_code,
    reason = "each of the targets that include this uses its part"
)]

use std::cell::Cell;
use std::fmt::Write;

use unwind::report::Backtrace;
use unwind::sframe::{Abi, LookupError, Rule, Section, Sections, StartRule, Tables};
use unwind::symbols::{Precision, SymbolTable, format};
use unwind::{
    Code, Doubt, End, Frame, FrameKind, How, Range, RegisterSet, Stacks, Unwinder, aarch64, s390x,
    x86_64,
};

/// Most functions and rows looked at in one section, so that a header which claims millions stays quick.
const FUNCTIONS: usize = 64;
const ROWS: usize = 256;

/// The first `N` little-endian words of fuzzer input, and the rest; words are copied, as nothing is aligned.
#[must_use]
pub fn words<const N: usize>(data: &[u8]) -> Option<([u64; N], &[u8])> {
    let (head, rest) = data.split_at_checked(N * 8)?;
    let (chunks, _) = head.as_chunks::<8>();
    Some((
        std::array::from_fn(|index| u64::from_le_bytes(chunks[index])),
        rest,
    ))
}

/// Parses sections and asks them everything.
pub fn sections(bytes: &[u8], address: u64, pc: u64) {
    verify(bytes, address);
    for rule in [StartRule::FromFlags, StartRule::Section, StartRule::Field] {
        for found in Sections::with(bytes, address, rule).take(FUNCTIONS) {
            match found {
                Ok(found) => section(&found, pc),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
}

/// Verifies tables. In sound ones every row can be read, and every function is found by each of its addresses.
fn verify(bytes: &[u8], address: u64) {
    let tables = Tables::new(bytes, address);
    if let Err(damage) = tables.verify() {
        assert!(!damage.to_string().is_empty());
        return;
    }
    for section in tables.sections() {
        let section = section.expect("each was parsed when they were verified");
        for index in 0..section.function_count().min(FUNCTIONS as u32) {
            let function = section.function(index).expect("each was looked at");
            assert_eq!(function.rows().count(), function.row_count() as usize);
            for offset in [0, function.size() / 2, function.size().wrapping_sub(1)] {
                let pc = function.start().wrapping_add(offset.into());
                if offset < function.size() {
                    let found = tables.lookup(pc);
                    let found = found.map_or_else(
                        |error| matches!(error, LookupError::NoRow | LookupError::NoRows { .. }),
                        |(found, _)| found.start() == function.start(),
                    );
                    assert!(found, "{pc:#x}: {:?}", tables.lookup(pc));
                }
            }
        }
    }
}

fn section(section: &Section<'_>, pc: u64) {
    for function in section.functions().take(FUNCTIONS) {
        let (start, size) = (function.start(), function.size());
        let rows = function.rows().take(ROWS).count();
        assert!(rows <= function.row_count() as usize);
        for pc in [start, start.wrapping_add(u64::from(size) / 2), pc] {
            // An unsorted table that says it is sorted may miss, but never answers with a function elsewhere.
            if let Some(found) = section.function_at(pc) {
                assert!(found.contains(pc));
            }
            if let Some(row) = function.row_at(pc) {
                let offset = pc.wrapping_sub(start);
                assert!(offset < u64::from(size));
                assert!(u64::from(row.offset) <= offset);
                assert!(row.cfa != Rule::Same);
            }
        }
    }
    let _ = section.lookup(pc);
}

/// Parses a symbol table and asks it for `pc`.
pub fn symbols(bytes: &[u8], address: u64, pc: u64) {
    match SymbolTable::parse(bytes, address) {
        Ok(table) => {
            if let Some(answer) = table.resolve(pc) {
                assert!(pc.wrapping_sub(answer.start) < answer.size);
                let frames: Vec<_> = answer.frames().collect();
                let most = match answer.precision {
                    Precision::Exact => format::MAX_EDGES + 1,
                    _ => 1,
                };
                assert!((1..=most).contains(&frames.len()));
                for frame in frames {
                    let longest = 4 * format::TEXT_STEPS as usize;
                    assert!(frame.name.to_string().len() <= longest);
                    if let Some((file, line)) = frame.place() {
                        assert!(file.to_string().len() <= longest);
                        assert!(line > 0 && answer.precision != Precision::NameOnly);
                    }
                }
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A symbol table with its checksum made right, so that a mutation gets past it.
pub fn with_checksum(bytes: &mut [u8]) {
    let length = bytes.get(12..16).map_or(0, |field| {
        u32::from_le_bytes(field.try_into().expect("4 bytes"))
    });
    if let Some(body) = bytes.get(20..length as usize) {
        let crc = crc32fast::hash(body).to_le_bytes();
        bytes[16..20].copy_from_slice(&crc);
    }
}

/// Where a walk starts, and what it may see.
pub struct Start<'a> {
    /// pc, sp, fp, link register or r10.
    pub registers: [u64; 4],
    /// The stacks.
    pub ranges: &'a [Range],
    /// The code; empty: what the table says.
    pub code: &'a [Code<'a>],
    /// The word at an address.
    pub word: &'a dyn Fn(u64) -> u64,
}

/// Walks from `start` with the tables in `bytes`, as the architecture of their first section.
pub fn walk(bytes: &[u8], address: u64, start: &Start<'_>) -> Option<End> {
    let tables = Tables::new(bytes, address);
    let [pc, sp, fp, other] = start.registers;
    let abi = tables.first().map_or(Abi::Amd64, |section| section.abi());
    match abi {
        Abi::Amd64 => {
            let mut registers = x86_64::Registers::new(pc, sp, fp);
            registers.r10 = Some(other);
            walk_from(tables, registers, start)
        }
        Abi::AArch64Little | Abi::AArch64Big => {
            let mut registers = aarch64::Registers::new(pc, sp, fp, other);
            registers.elr = Some(other);
            registers.sp_el0 = Some(other);
            walk_from(
                tables,
                registers.with_authentication_bits(0xff7f << 48),
                start,
            )
        }
        Abi::S390x => {
            let mut registers = s390x::Registers::new(pc, sp, fp, other);
            registers.floating = Some([other; 16]);
            walk_from(tables, registers, start)
        }
    }
}

fn walk_from<R: RegisterSet>(tables: Tables<'_>, registers: R, start: &Start<'_>) -> Option<End> {
    let reads = Cell::new(0_u64);
    let read = |address: u64| {
        // The promise: no read outside the declared ranges.
        let inside = start.ranges.iter().any(|range| range.holds(address, 8));
        assert!(inside, "stray read at {address:#x}");
        assert!(address.is_multiple_of(8), "unaligned read at {address:#x}");
        reads.set(reads.get() + 1);
        Some((start.word)(address))
    };
    let stacks = Stacks::new(start.ranges, &read);
    let unwinder = Unwinder::new(tables).code(start.code);
    let mut frames = unwinder.frames(registers, stacks);
    let report = Backtrace::new(frames.clone(), None);

    // The promise: at most as many frames as the stacks have words, the given one and a leaf's caller, and a scan's.
    let words: u64 = start
        .ranges
        .iter()
        .map(|range| (range.end - range.start) / 8)
        .sum();
    let bound = usize::try_from(words).expect("small stacks") + 4 + 32;
    let found: Vec<Frame<R>> = frames.by_ref().take(bound + 1).collect();
    assert!(
        found.len() <= bound,
        "{} frames from {words} words",
        found.len()
    );
    let end = frames.end()?;
    complete_is_complete(end, frames.doubt(), &found, start);
    let last = found.iter().rfind(|frame| frame.how != How::Scan);
    let last = last.and_then(|frame| frame.registers);
    let is_base = |sp| start.ranges.iter().any(|range| range.end == sp);
    assert!(end != End::Complete || last.is_some_and(|registers| is_base(registers.sp())));

    let mut text = String::new();
    write!(text, "{report}").expect("a String takes everything");
    assert!(text.lines().filter(|line| line.contains(": 0x")).count() >= found.len());
    let last = text.lines().last().expect("there is an end line");
    assert!(last.starts_with("end of backtrace: "), "{last}");
    assert_eq!(last.contains(": complete,"), end == End::Complete);
    Some(end)
}

/// The promise: what is called complete was found by table, frame by frame, each by a call in known code, and ends where a
/// stack begins.
fn complete_is_complete<R: RegisterSet>(
    end: End,
    doubt: Option<Doubt>,
    found: &[Frame<R>],
    start: &Start<'_>,
) {
    if end != End::Complete {
        return;
    }
    assert_eq!(doubt, None);
    let (first, rest) = found.split_first().expect("the given frame at least");
    assert_eq!((first.how, first.kind), (How::Given, FrameKind::Exact));
    for frame in rest {
        assert!(
            matches!(frame.how, How::SFrame | How::TrapFrame),
            "{frame:?}"
        );
        let call = frame.lookup_pc();
        let is_of = |code: &Code<'_>| code.range().holds(call, 1);
        assert!(
            frame.how == How::TrapFrame || start.code.iter().any(is_of),
            "no call was seen: {frame:?}"
        );
    }
    // Every frame but the last has a CFA, and within a stack they rise; the last one has no caller.
    let (last, others) = found.split_last().expect("the given frame at least");
    assert_eq!(last.cfa, None);
    assert!(others.iter().all(|frame| frame.cfa.is_some()));
}
