//! Walks over stacks that nobody has declared, also over damaged ones.

extern crate std;

use core::cell::Cell;
use std::vec::Vec;

use super::{TEXT, Words, X86_64, amd64};
use crate::sframe::Tables;
use crate::{Code, Doubt, End, Fallbacks, How, Range, Undeclared, Unwinder, x86_64};

type Found = (Vec<u64>, End, Option<Doubt>);

/// The walk from the function of 24 bytes of locals with this stack pointer; what `stack_of` knows; the words.
fn walk(sp: u64, stack: Option<Range>, words: &[(u64, u64)]) -> Found {
    let (words, table) = (Words::new(words), amd64());
    let read = |address: u64| {
        assert!(address.is_multiple_of(8), "{address:#x}");
        words.0.get(&address).copied()
    };
    let code = [Code::new(X86_64, TEXT)];
    let unwinder = Unwinder::new(Tables::new(&table, 0)).code(&code);
    let unwinder = unwinder.fallbacks(Fallbacks::all().difference(Fallbacks::SCAN));
    let stack_of = |sp| stack.filter(|stack| stack.holds_stack_pointer(sp));
    let registers = x86_64::Registers::new(0x3010, sp, 0);
    let mut frames = unwinder.frames(registers, Undeclared::new(read, stack_of));
    let found = frames.by_ref().map(|frame| frame.pc).collect();
    let end = frames.end().expect("an ended walk has a reason");
    (found, end, frames.doubt())
}

/// Two frames of 32 bytes.
const WORDS: [(u64, u64); 2] = [(0x10018, 0x3010), (0x10038, 0x1005)];

#[test]
fn a_walk_is_complete_only_on_a_stack_that_is_known() {
    let pcs = Vec::from([0x3010, 0x3010, 0x1005]);
    let doubt = Doubt {
        frame: 2,
        how: How::SFrame,
        reason: End::BaseUnknown(0x10040),
    };
    let unknown = walk(0x10000, None, &WORDS);
    assert_eq!(unknown, (pcs.clone(), End::Outermost, Some(doubt)));
    let elsewhere = walk(0x10000, Some(Range::new(0x20000, 0x30000)), &WORDS);
    assert_eq!(elsewhere, unknown);
    let known = |end| walk(0x10000, Some(Range::new(0x8000, end)), &WORDS);
    assert_eq!(known(0x10040), (pcs.clone(), End::Complete, None));
    assert_eq!(known(0x10048), (pcs, End::NotAtBase(0x10040), None));
    let too_small = known(0x10038);
    assert_eq!(too_small.0.len(), 2);
    assert_eq!(too_small.1, End::Unreadable(0x10038));
}

#[test]
fn the_doubt_says_it_as_text() {
    let text = End::BaseUnknown(0x10040);
    assert_eq!(
        std::format!("{text}"),
        "it is unknown whether the stack begins at address 0x0000000000010040"
    );
}

/// A trap frame at `at`: the interrupted program counter and stack pointer.
fn trap(at: u64, pc: u64, sp: u64) -> [(u64, u64); 3] {
    [(at, pc), (at + 24, sp), (at + 32, 0)]
}

#[test]
fn a_walk_changes_stacks_only_so_often_and_never_goes_back() {
    // Each stack has been interrupted on the one before.
    let stack = |n: u64| 0x10000 + 0x1000_0000 * n;
    let mut words = Vec::new();
    for n in 0..8 {
        words.push((stack(n) + 24, 0x5008));
        words.extend(trap(stack(n) + 32, 0x3010, stack(n + 1)));
    }
    let (pcs, end, _) = walk(stack(0), None, &words);
    // Two frames on each of five stacks, and what was interrupted on the sixth.
    assert_eq!(pcs.len(), 2 * 5 + 1);
    assert_eq!(end, End::NoStack(stack(5)));

    // Back to where it came from, to what lies below, and to itself.
    for back in [stack(0), stack(0) + 16, stack(1) + 32, stack(1)] {
        let mut words = Vec::from([(stack(0) + 24, 0x5008), (stack(1) + 24, 0x5008)]);
        words.extend(trap(stack(0) + 32, 0x3010, stack(1)));
        words.extend(trap(stack(1) + 32, 0x3010, back));
        let (pcs, end, _) = walk(stack(0), None, &words);
        assert_eq!((pcs.len(), end), (5, End::NoStack(back)), "{back:#x}");
    }
    // Below where it came from, and up from there: what lies above is not read again.
    let below = stack(0) - 0x100;
    let mut words = Vec::from([(stack(0) + 24, 0x5008), (stack(1) + 24, 0x5008)]);
    words.extend(trap(stack(0) + 32, 0x3010, stack(1)));
    words.extend(trap(stack(1) + 32, 0x3010, below));
    words.extend((0..8).map(|frame| (below + frame * 32 + 24, 0x3010)));
    let (pcs, end, _) = walk(stack(0), None, &words);
    assert_eq!((pcs.len(), end), (5 + 8, End::Unreadable(stack(0) + 24)));
    // Up on the first one is no way back.
    let up = stack(0) + 0x100;
    let mut words = Vec::from([(stack(0) + 24, 0x5008), (stack(1) + 24, 0x5008)]);
    words.extend(trap(stack(0) + 32, 0x3010, stack(1)));
    words.extend(trap(stack(1) + 32, 0x3010, up));
    words.push((up + 24, 0x1005));
    let (pcs, end, _) = walk(stack(0), None, &words);
    assert_eq!((pcs.len(), end), (6, End::Outermost));
}

#[test]
fn an_empty_stack_below_the_one_that_its_interruption_was_handled_on() {
    let (table, code) = (amd64(), [Code::new(X86_64, TEXT)]);
    // The outermost function was interrupted before it had stored anything.
    let base = 0x10000;
    let mut words = Vec::from([(base + 24, 0x5008)]);
    words.extend(trap(base + 32, 0x1005, base));
    let words = Words::new(&words);
    let read = |address: u64| words.0.get(&address).copied();
    let lower = Range::new(base - 0x100, base);
    let upper = Range::new(base, base + 0x100);
    let stack_of = |sp| {
        [lower, upper]
            .into_iter()
            .find(|one| one.holds_stack_pointer(sp))
    };
    let of_handler = |sp| stack_of(sp).map(|_| upper);
    let unwinder = Unwinder::new(Tables::new(&table, 0)).code(&code);
    let registers = x86_64::Registers::new(0x3010, base, 0);
    let mut frames = unwinder.frames(registers, Undeclared::new(read, of_handler));
    assert_eq!(frames.by_ref().count(), 3);
    assert_eq!(frames.end(), Some(End::NoStack(base)));
    let first = Cell::new(true);
    let stack_of = |sp| match first.take() {
        true => Some(upper),
        false => stack_of(sp),
    };
    let mut frames = unwinder.frames(registers, Undeclared::new(read, stack_of));
    assert_eq!(frames.by_ref().count(), 3);
    assert_eq!(frames.end(), Some(End::Complete));
}

#[test]
fn a_step_is_a_word_at_least() {
    // What was interrupted has its stack pointer half a word above the trap frame.
    let mut words = Vec::from([(0x10018, 0x5008)]);
    words.extend(trap(0x10020, 0x3010, 0x10024));
    let (pcs, end, _) = walk(0x10000, None, &words);
    assert_eq!((pcs.len(), end), (3, End::NoStack(0x10024)));
}

/// From a stack that is known, through a trap frame, to another: side by side they are two, and where they overlap they are not.
#[test]
fn stacks_may_touch_and_not_overlap() {
    let first = Range::new(0x10000, 0x11000);
    for (second, may) in [
        (Range::new(0xf000, 0x10000), true),
        (Range::new(0xf000, 0x10008), false),
        (Range::new(0x11000, 0x12000), true),
        (Range::new(0x10ff8, 0x12000), false),
    ] {
        let mut words = Vec::from([(0x10018, 0x5008), (second.end - 8, 0x1005)]);
        words.extend(trap(0x10020, 0x3010, second.end - 32));
        let (words, table) = (Words::new(&words), amd64());
        let code = [Code::new(X86_64, TEXT)];
        let unwinder = Unwinder::new(Tables::new(&table, 0)).code(&code);
        let stack_of = |of| Some(if of == 0x10000 { first } else { second });
        let registers = x86_64::Registers::new(0x3010, 0x10000, 0);
        let read = |address| words.0.get(&address).copied();
        let mut frames = unwinder.frames(registers, Undeclared::new(read, stack_of));
        let count = frames.by_ref().count();
        let expected = match may {
            true => (4, Some(End::Complete)),
            false => (3, Some(End::NoStack(second.end - 32))),
        };
        assert_eq!((count, frames.end()), expected, "{second:x?}");
    }
}

/// A stack that is full of return addresses, and has no end.
#[test]
fn a_walk_that_could_go_on_for_ever_has_a_limit() {
    let table = amd64();
    let code = [Code::new(X86_64, TEXT)];
    let reads = Cell::new(0_u32);
    let read = |_| {
        reads.set(reads.get() + 1);
        Some(0x3010)
    };
    let unwinder = Unwinder::new(Tables::new(&table, 0)).code(&code).limit(99);
    let registers = x86_64::Registers::new(0x3010, 0x10000, 0);
    let mut frames = unwinder.frames(registers, Undeclared::new(read, |_| None));
    assert_eq!(frames.by_ref().count(), 99);
    assert_eq!((frames.end(), reads.get()), (Some(End::Limit), 99));
}

/// Whatever a word of the stack is, the walk ends, and reads nothing below its stack pointer, far above it, or outside of a stack
/// that is known.
#[test]
fn a_damaged_word_leads_nowhere_else() {
    const SPAN: u64 = Undeclared::<fn(u64) -> Option<u64>, fn(u64) -> Option<Range>>::SPAN;
    const STACK: Range = Range::new(0x10000, 0x10070);
    let table = amd64();
    let code = [Code::new(X86_64, TEXT)];
    let unwinder = Unwinder::new(Tables::new(&table, 0)).code(&code);
    let unwinder = unwinder.fallbacks(Fallbacks::all().difference(Fallbacks::SCAN));
    let values = [
        0,
        1,
        8,
        0x1005,
        0x2050,
        0x3010,
        0x5008,
        0x10000,
        0x10018,
        0x10040,
        0x10041,
        0x8000_0000_0000_0000,
        u64::MAX,
        u64::MAX - 7,
    ];
    // A trap frame, between two functions, and a function with a frame pointer.
    let sound: Vec<_> = [(0x10018, 0x5008)]
        .into_iter()
        .chain(trap(0x10020, 0x2050, 0x10048))
        .chain([(0x10040, 0x10060), (0x10060, 0), (0x10068, 0x1005)])
        .collect();
    // Without damage, too.
    let none = (u64::MAX, 0);
    let damages = sound
        .iter()
        .flat_map(|(at, _)| values.map(|value| (*at, value)));
    let damages: Vec<_> = [none].into_iter().chain(damages).collect();
    for known in [None, Some(STACK)] {
        let mut truth = Vec::new();
        let mut ends = Vec::new();
        for (at, value) in &damages {
            let mut words = Words::new(&sound);
            words.0.insert(*at, *value);
            let reads = Cell::new(0_u32);
            let read = |address: u64| {
                reads.set(reads.get() + 1);
                assert!(address.is_multiple_of(8), "{address:#x}");
                // What a damaged trap frame names as a stack pointer is a stack for all that is known.
                let span = Range::new(*value, value.saturating_add(SPAN));
                let own = known.unwrap_or(Range::new(STACK.start, STACK.start + SPAN));
                let fits = [span, own].iter().any(|span| span.holds(address, 8));
                assert!(fits, "{at:#x} is {value:#x}: {address:#x}");
                words.0.get(&address).copied()
            };
            let stack_of = |sp| known.filter(|stack| stack.holds_stack_pointer(sp));
            let registers = x86_64::Registers::new(0x3010, 0x10000, 0);
            let mut frames = unwinder.frames(registers, Undeclared::new(read, stack_of));
            let pcs: Vec<_> = frames.by_ref().take(32).map(|frame| frame.pc).collect();
            assert!(pcs.len() < 32, "{at:#x}, {value:#x}");
            let end = frames.end().expect("it has ended");
            assert!(reads.get() < 64, "{}", reads.get());
            if truth.is_empty() {
                truth = pcs.clone();
            }
            let best = known.map_or(End::Outermost, |_| End::Complete);
            ends.push((end == best, pcs == truth));
            assert!(known.is_some() || end != End::Complete);
            assert!(
                end != End::Complete || pcs == truth,
                "{at:#x} is {value:#x}: {pcs:x?}"
            );
        }
        assert_eq!(ends.first(), Some(&(true, true)));
        // Some words are of no importance.
        assert!(ends.iter().skip(1).any(|end| *end == (true, true)));
        assert!(ends.iter().any(|(is_best, _)| !is_best));
    }
}

/// Walks as [`walk`] does, with a scan, from a frame pointer. Words that are not listed are no return addresses.
fn scanned(fp: u64, stack: Option<Range>, words: &[(u64, u64)]) -> (Vec<(u64, How)>, End) {
    let (words, table) = (Words::new(words), amd64());
    let read = |address: u64| Some(words.0.get(&address).copied().unwrap_or(0x11));
    let code = [Code::new(X86_64, TEXT)];
    let unwinder = Unwinder::new(Tables::new(&table, 0)).code(&code);
    let registers = x86_64::Registers::new(0x3010, 0x10000, fp);
    let mut frames = unwinder.frames(registers, Undeclared::new(read, |_| stack));
    let found = frames.by_ref().map(|frame| (frame.pc, frame.how)).collect();
    (found, frames.end().expect("an ended walk has a reason"))
}

#[test]
fn a_null_return_address_ends_a_list_unless_the_stack_is_known() {
    // Above the first frame of the stack there are return addresses of old calls.
    let words = [
        (0x10018, 0x3010),
        (0x10038, 0),
        (0x10048, 0x2050),
        (0x10058, 0x1005),
    ];
    let frames = [(0x3010, How::Given), (0x3010, How::SFrame)];
    let (found, end) = scanned(3, None, &words);
    assert_eq!((&found[..], end), (&frames[..], End::BadReturnAddress(0)));
    // On a known stack the word was overwritten.
    let known = Range::new(0x8000, 0x10050);
    let (found, end) = scanned(3, Some(known), &words);
    assert_eq!(found[..2], frames);
    assert_eq!(found[2..], [(0x2050, How::Scan)]);
    assert_eq!(end, End::BadReturnAddress(0));
}

#[test]
fn a_scan_ends_at_the_last_frame_record() {
    // The caller has no row. Its caller is the first function, whose frame record is the last one.
    let words = [
        (0x10018, 0x4010),
        (0x10048, 0x2050),
        (0x10060, 0),
        (0x10068, 0),
        (0x10078, 0x1005),
    ];
    let (found, _) = scanned(0x10060, None, &words);
    assert_eq!(found[2..], [(0x2050, How::Scan)]);
    let (found, _) = scanned(3, None, &words);
    assert_eq!(found[2..], [(0x2050, How::Scan), (0x1005, How::Scan)]);
}
