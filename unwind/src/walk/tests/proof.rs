//! Walks that use unproven rows, and walks with tables that contain no proof.

extern crate std;

use std::borrow::ToOwned as _;
use std::format;
use std::vec::Vec;

use super::{OUTERMOST, PUSHES_FP, TEXT, TRAP_ENTRY, Words, X86_64, table_with};
use crate::report::Backtrace;
use crate::sframe::{Abi, Tables};
use crate::{
    Cached, Code, Doubt, End, How, InheritedDoubt, Range, RowSource, RuleCache, Stacks, Unwinder,
    x86_64,
};

/// Tables for an outermost function, a function that pushes its frame pointer, and trap code.
fn tables(unproven: Option<&[(u64, u32)]>) -> Vec<u8> {
    let functions = [
        (0x1000, 0x100, 0, 0, 1, OUTERMOST),
        (0x2000, 0x100, 0, 0, 2, PUSHES_FP),
        (0x5000, 0x10, 0x80, 1, 1, TRAP_ENTRY),
    ];
    table_with(Abi::Amd64, &functions, unproven)
}

/// Walks from trap code (frame 0) through the interrupted function (frame 1) and its caller (frame 2) to the outermost function (frame 3).
fn walk(source: impl RowSource) -> (End, Option<Doubt>) {
    let walked = walk_from(source, START, InheritedDoubt(false));
    assert_eq!(walked.found, [0x5004, 0x2060, 0x2050, 0x1005]);
    walked.verdict
}

/// The registers in the trap code.
const START: x86_64::Registers = x86_64::Registers::new(0x5004, 0x10000, 0);

/// A walk from its first frame to its end.
struct Walked {
    found: Vec<u64>,
    /// Registers of the first frame that was interrupted, and whether the walk was in doubt there.
    interrupted: Option<(x86_64::Registers, InheritedDoubt)>,
    verdict: (End, Option<Doubt>),
}

fn walk_from(
    source: impl RowSource,
    registers: x86_64::Registers,
    earlier: InheritedDoubt,
) -> Walked {
    let words = Words::new(&[
        (0x10000, 0x2060),
        (0x10018, 0x10040),
        (0x10020, 0x10050),
        (0x10050, 0x10060),
        (0x10058, 0x2050),
        (0x10060, 0),
        (0x10068, 0x1005),
    ]);
    let read = |address| words.0.get(&address).copied();
    let code = [Code::new(X86_64, TEXT)];
    let ranges = [Range::new(0x10000, 0x10070)];
    let unwinder = Unwinder::new(source).code(&code);
    let frames = unwinder.frames(registers, Stacks::new(&ranges, read));
    let mut frames = frames.continues(earlier);
    let (mut found, mut interrupted) = (Vec::new(), None);
    while let Some(frame) = frames.next() {
        found.push(frame.pc);
        if frame.how == How::TrapFrame {
            interrupted = frame.registers.map(|it| (it, frames.inherited()));
        }
    }
    let verdict = (frames.end().expect("it has ended"), frames.doubt());
    Walked {
        found,
        interrupted,
        verdict,
    }
}

fn doubt(frame: u32, reason: End) -> (End, Option<Doubt>) {
    let how = How::SFrame;
    (End::Outermost, Some(Doubt { frame, how, reason }))
}

#[test]
fn walk_with_proven_rows_is_complete() {
    let elsewhere = [(0x1000, 4), (0x1005, 1), (0x204f - 8, 8), (0x2061, 0x9f)];
    for unproven in [&[], &elsewhere[..]] {
        let bytes = tables(Some(unproven));
        assert_eq!(walk(Tables::new(&bytes, 0)), (End::Complete, None));
    }
}

#[test]
fn walk_with_an_unproven_row_is_in_doubt() {
    // Frames 0 and 1 are looked up at their program counter, frames 2 and 3 one byte before their return address.
    let rows = [
        ((0x5004, 1), doubt(1, End::UnprovenRow(0))),
        ((0x2060, 1), doubt(2, End::UnprovenRow(1))),
        ((0x204f, 1), doubt(3, End::UnprovenRow(2))),
        ((0x1004, 1), doubt(3, End::UnprovenRow(3))),
        // The table is at address 0: a range that ends after 4 GiB, and one for code 4 GiB higher.
        ((0xffff_f000, 0x2005), doubt(3, End::UnprovenRow(3))),
        ((0x1_0000_5004, 1), doubt(1, End::UnprovenRow(0))),
    ];
    for (range, expected) in rows {
        let others = [(0x900, 0x10), range];
        for unproven in [&others[..], &others[1..]] {
            let bytes = tables(Some(unproven));
            let source = Tables::new(&bytes, 0);
            assert_eq!(walk(source), expected, "{range:x?}");
            let cache = RuleCache::<1024>::new();
            for _ in 0..2 {
                let cached = Cached::new(source, &cache);
                assert_eq!(walk(cached), expected, "{range:x?}, with a cache");
            }
        }
    }
}

#[test]
fn walk_with_tables_without_proof_is_in_doubt() {
    let bytes = tables(None);
    let expected = doubt(1, End::UnprovenTables);
    let cache = RuleCache::<1024>::new();
    for _ in 0..2 {
        assert_eq!(walk(Tables::new(&bytes, 0)), expected);
        let cached = Cached::new(Tables::new(&bytes, 0), &cache);
        assert_eq!(walk(cached), expected);
    }
}

/// The list of ranges precedes the address and the checksum (20 bytes): the ranges, their count, and a magic number.
#[test]
fn tables_with_a_damaged_list_contain_no_proof() {
    let sound = tables(Some(&[(0x3000, 8)]));
    assert_eq!(walk(Tables::new(&sound, 0)).0, End::Complete);
    let end = sound.len() - 20;
    for (at, bit) in [(end - 1, 1), (end - 5, 0x80), (end - 5, 0x40), (end + 8, 1)] {
        let mut bytes = sound.clone();
        bytes[at] ^= bit;
        assert_eq!(
            walk(Tables::new(&bytes, 0)),
            doubt(1, End::UnprovenTables),
            "{at}"
        );
    }
}

#[test]
fn walk_is_in_doubt_only_if_it_reaches_a_module_without_proof() {
    let image = tables(Some(&[]));
    let module = |start| {
        let functions = [(start, 0x100, 0, 0, 1, OUTERMOST)];
        table_with(Abi::Amd64, &functions, None)
    };
    let (elsewhere, before) = (module(0x7000), module(0x1000));
    let image = Tables::new(&image, 0);
    let with = |sources: [Tables<'_>; 2]| walk(&sources[..]);
    let elsewhere = Tables::new(&elsewhere, 0);
    assert_eq!(with([image, elsewhere]), (End::Complete, None));
    assert_eq!(with([elsewhere, image]), (End::Complete, None));
    let before = Tables::new(&before, 0);
    assert_eq!(with([before, image]), doubt(3, End::UnprovenTables));
}

/// A report of a stopped CPU begins with what its handler has interrupted.
#[test]
fn walk_that_continues_another_inherits_its_doubt() {
    let proven = tables(Some(&[]));
    let start_in_doubt = Doubt {
        frame: 0,
        how: How::Given,
        reason: End::StartInDoubt,
    };
    for (first, expected) in [
        (tables(Some(&[])), (End::Complete, None)),
        (
            tables(Some(&[(0x5004, 1)])),
            (End::Outermost, Some(start_in_doubt)),
        ),
        (tables(None), (End::Outermost, Some(start_in_doubt))),
    ] {
        let walked = walk_from(Tables::new(&first, 0), START, InheritedDoubt(false));
        let (registers, earlier) = walked.interrupted.expect("there is trap code");
        let rest = walk_from(Tables::new(&proven, 0), registers, earlier);
        assert_eq!(rest.found, [0x2060, 0x2050, 0x1005]);
        assert_eq!(rest.verdict, expected);
    }
}

#[test]
fn report_names_the_frame_with_the_unproven_row() {
    let report = |unproven: Option<&[(u64, u32)]>| {
        let bytes = tables(unproven);
        let code = [Code::new(X86_64, TEXT)];
        let ranges = [Range::new(0x10000, 0x10010)];
        let read = |address| (address == 0x10008).then_some(0x1005);
        let unwinder = Unwinder::new(Tables::new(&bytes, 0)).code(&code);
        let registers = x86_64::Registers::new(0x2000, 0x10008, 0);
        let frames = unwinder.frames(registers, Stacks::new(&ranges, read));
        let text = format!("{}", Backtrace::new(frames, None));
        text.lines().last().unwrap_or_default().to_owned()
    };
    let unproven = [(0x2000, 1)];
    assert_eq!(
        report(Some(&unproven)),
        "end of backtrace: outermost function reached, from frame 1 on in doubt (no proof for the unwind row of frame 0), 2 frames"
    );
    assert_eq!(
        report(None),
        "end of backtrace: outermost function reached, from frame 1 on in doubt (the unwind tables contain no proof that their rows are correct), 2 frames"
    );
}
