//! Walks, and what must hold for each.

use std::cell::Cell;

use unwind::sframe::{Abi, Section, Tables};
use unwind::{
    Cached, Code, CodeReader, Doubt, End, Frame, FrameKind, How, Memory, RegisterSet, RowSource,
    RuleCache, Stacks, Unbounded, Undeclared, Unwinder, aarch64, s390x, x86_64,
};

use super::forms;
use super::registers::registers;
use super::start::Start;
use super::vouched::Vouched;

/// The most frames of a scan, and the most words that it reads.
const SCANNED: usize = 32;
const SCANNED_WORDS: usize = 4096;

/// The most words that one frame reads: its frame address, return address and frame pointer; by a fallback the word on the
/// stack, and the two at the frame pointer; and what the processor has pushed that tells user code. Trap code reads each of the registers that it is said to keep, too.
const READS: usize = 7;

/// The further registers that a row of ARM may restore.
const FURTHER: usize = 13;

/// Walks from `start` with the tables in `bytes`, as the architecture of their first section.
pub fn walk(bytes: &[u8], address: u64, start: &Start<'_>) -> Option<End> {
    let tables = Tables::new(bytes, address);
    let [pc, sp, fp, other] = start.registers;
    let abi = tables.first().map_or(Abi::Amd64, |section| section.abi());
    match abi {
        Abi::Amd64 => {
            let mut registers = x86_64::Registers::new(pc, sp, fp);
            registers.r10 = Some(other);
            // Seldom those of user code, where a walk ends.
            let cs = if other == u64::MAX { 3 } else { 0 };
            walk_by(tables, registers.with_cs(cs), start)
        }
        Abi::AArch64Little | Abi::AArch64Big => {
            let spsr = u64::from(other != u64::MAX);
            let mut general = [other; 31];
            general[29] = fp;
            let mut registers = match other % 2 {
                0 => aarch64::Registers::new(pc, sp, fp, other).with_spsr(spsr),
                _ => aarch64::Registers::interrupted(&general, sp, pc, spsr),
            };
            registers.elr = Some(other);
            registers.sp_el0 = Some(other);
            walk_by(
                tables,
                registers.with_authentication_bits(0xff7f << 48),
                start,
            )
        }
        Abi::S390x => {
            let mut registers = s390x::Registers::new(pc, sp, fp, other);
            registers.floating = Some([other; 16]);
            walk_by(tables, registers, start)
        }
    }
}

/// Walks with the tables, and with the tables' rows reported as proven. Checks that the frames are the same, and that a walk with the tables
/// is complete only if they contain a proof.
fn walk_by<R: RegisterSet>(tables: Tables<'_>, first: R, start: &Start<'_>) -> Option<End> {
    let saved = start.saved();
    let read = |address: u64| Some((start.word)(address));
    let memory = Stacks::new(start.ranges, read);
    let own = start.unwinder(tables, &saved);
    let vouched = start.unwinder(Vouched(tables), &saved);
    let mut by_own = own.frames(first, memory);
    let mut by_vouched = vouched.frames(first, memory);
    assert!(by_own.by_ref().eq(by_vouched.by_ref()));
    let says_so = |section: &Section<'_>| section.unproven_count().is_some();
    let is_proven = tables.sections().flatten().any(|section| says_so(&section));
    match (by_own.end(), by_vouched.end()) {
        (Some(End::Complete), vouched) => {
            assert!(is_proven && vouched == Some(End::Complete));
        }
        (own, Some(End::Complete)) => assert_eq!(own, Some(End::Outermost)),
        (own, vouched) => assert_eq!(own, vouched),
    }
    walk_from(Vouched(tables), first, start)
}

/// Walks from `first` by `tables`, and checks all that is promised.
pub fn walk_from<R: RegisterSet, S: RowSource + Copy>(
    tables: S,
    first: R,
    start: &Start<'_>,
) -> Option<End> {
    let reads = Cell::new(0);
    let read = |address: u64| {
        // The promise: no read outside the declared ranges.
        let inside = start
            .ranges
            .iter()
            .any(|range| range.holds(address, R::WORD));
        assert!(inside, "stray read at {address:#x}");
        assert!(
            address.is_multiple_of(R::WORD),
            "unaligned read at {address:#x}"
        );
        reads.set(reads.get() + 1);
        Some((start.word)(address))
    };
    let stacks = Stacks::new(start.ranges, &read);
    let saved = start.saved();
    let unwinder = start.unwinder(tables, &saved);
    let further = if R::FOLLOWS_ALL { FURTHER } else { 0 };
    let most_reads = |frames: usize| frames * (READS + further + saved.len()) + SCANNED_WORDS;

    // The promise: at most as many frames as the stacks have words, the given one and a leaf's caller, and a scan's.
    let bound = start.words::<R>() + 4 + SCANNED;
    let mut frames = unwinder.frames(first, stacks);
    let found: Vec<Frame<R>> = frames.by_ref().take(bound + 1).collect();
    let count = found.len();
    assert!(
        count <= bound,
        "{count} frames from {} words",
        start.words::<R>()
    );
    assert_eq!(frames.found() as usize, count);
    // The promise: so many reads at most.
    let most = most_reads(count);
    assert!(reads.get() <= most, "{} reads, not {most}", reads.get());
    let end = frames.end()?;
    complete_is_complete(end, frames.doubt(), &found, start);
    // The promise: a walk never leaves user code for the kernel's, and ends there with a frame of it.
    let users = found.iter().filter_map(|frame| frame.registers);
    let users: Vec<_> = users.map(|registers| registers.is_user()).collect();
    assert!(users.is_sorted(), "{users:?}");
    assert!(!matches!(end, End::User(_)) || users.last() == Some(&true));
    let last_of_walk = found.iter().rfind(|frame| frame.how != How::Scan);
    let last = last_of_walk.and_then(|frame| frame.registers);
    let is_base = |sp| start.ranges.iter().any(|range| range.end == sp);
    assert!(end != End::Complete || last.is_some_and(|registers| is_base(registers.sp())));

    reads.set(0);
    forms::all(unwinder.frames(first, stacks), &found, end, start.ends());
    // Eight reports, each of which may walk twice.
    assert!(
        reads.get() <= 16 * most,
        "{} reads, not {most}",
        reads.get()
    );

    let called = unwinder.frames_from_call(first, stacks);
    assert!(called.take(bound + 1).count() <= bound);
    assert_eq!(resume(unwinder.frames(first, stacks), first, bound), end);
    continued(&unwinder, first, stacks, bound);
    let anywhere = Unbounded(|address: u64| Some((start.word)(address)));
    let mut anywhere = unwinder.frames(first, anywhere);
    anywhere.by_ref().take(bound).for_each(drop);
    assert_ne!(anywhere.end(), Some(End::Complete));
    undeclared(&unwinder, first, start, bound);
    sources(tables, first, &found, start, &stacks);
    code(tables, first, &found, start, &stacks);
    let ends = [found.first(), last_of_walk];
    for frame in ends
        .into_iter()
        .flatten()
        .filter_map(|frame| frame.registers)
    {
        registers(&frame, start);
    }
    Some(end)
}

/// Goes on after no rows for this trap code, from the registers where the walk began and then from others: a walk never goes
/// back, and ends. Returns why it ended at first.
fn resume<R: RegisterSet>(
    mut frames: unwind::Frames<'_, R, impl Memory, impl RowSource>,
    first: R,
    bound: usize,
) -> End {
    frames.by_ref().for_each(drop);
    let end = frames.end().expect("it has ended");
    let before = frames.found();
    if !frames.resume_at(first) {
        assert_eq!((frames.next(), frames.end()), (None, Some(end)));
    }
    assert!(frames.end().is_some() || matches!(end, End::TrapFrame(_)));
    for step in 1..4 {
        frames.by_ref().for_each(drop);
        frames.resume_at(first.caller(first.pc(), first.sp().wrapping_add(step * 64), first.fp()));
    }
    frames.by_ref().for_each(drop);
    assert!((frames.found() - before) as usize <= bound + 4);
    end
}

/// A walk that continues one that is in doubt is never complete, and is the same otherwise.
fn continued<R: RegisterSet>(
    unwinder: &Unwinder<'_, impl RowSource>,
    first: R,
    stacks: impl Memory + Copy,
    bound: usize,
) {
    let mut earlier = unwinder.frames(first, stacks);
    let count = earlier.by_ref().count();
    let is_in_doubt = earlier.doubt().is_some();
    let mut again = unwinder
        .frames(first, stacks)
        .continues(earlier.inherited());
    assert_eq!(Doubt::may_have_run().frame, 0);
    assert_eq!(again.by_ref().take(bound + 1).count(), count);
    assert!(!is_in_doubt || again.doubt().is_some() && again.end() != Some(End::Complete));
}

/// The same stacks, but asked for; and none that anybody knows.
fn undeclared<R: RegisterSet>(
    unwinder: &Unwinder<'_, impl RowSource>,
    first: R,
    start: &Start<'_>,
    bound: usize,
) {
    let read = |address: u64| Some((start.word)(address));
    let stack_of = |sp| {
        let mut ranges = start.ranges.iter();
        ranges.find(|range| range.holds_stack_pointer(sp)).copied()
    };
    for known in [false, true] {
        let memory = Undeclared::new(read, |sp| known.then(|| stack_of(sp))?);
        let mut frames = unwinder.frames(first, memory);
        let found: Vec<_> = frames.by_ref().take(bound).collect();
        if frames.end() == Some(End::Complete) {
            let last = found.last().and_then(|frame| frame.registers);
            let sp = last.expect("a frame by a row").sp();
            assert!(stack_of(sp).is_some_and(|stack| known && stack.end == sp));
        }
    }
}

/// The same tables several times, and through references, are the same source of rows.
fn sources<R: RegisterSet, S: RowSource + Copy>(
    tables: S,
    first: R,
    found: &[Frame<R>],
    start: &Start<'_>,
    memory: &(impl Memory + Clone),
) {
    let saved = start.saved();
    let twice = [tables, tables];
    let dynamic: [&dyn RowSource; 2] = [&tables, &twice.as_slice()];
    let pc = first.pc();
    assert_eq!(twice.as_slice().covers(pc), tables.covers(pc));
    assert_eq!(twice.as_slice().doubt(), tables.doubt());
    let unwinder: Unwinder<'_, _> = start.unwinder(&twice[..], &saved);
    assert!(
        unwinder
            .frames(first, memory.clone())
            .eq(found.iter().copied())
    );
    let unwinder: Unwinder<'_, _> = start.unwinder(&dynamic[..], &saved);
    assert!(
        unwinder
            .frames(first, memory.clone())
            .eq(found.iter().copied())
    );
    assert_eq!(
        tables.describes(R::MACHINE).is_err(),
        twice[..].describes(R::MACHINE).is_err()
    );
    // Without anything in the cache, with what a walk has left there, and without it again.
    let cache = RuleCache::<1024>::new();
    let unwinder: Unwinder<'_, _> = start.unwinder(Cached::new(tables, &cache), &saved);
    for _ in 0..3 {
        let walk = unwinder.frames(first, memory.clone());
        assert!(walk.eq(found.iter().copied()));
        let again = unwinder.frames(first, memory.clone());
        assert!(again.eq(found.iter().copied()));
        cache.clear();
    }
}

/// The same tables, with the code where they have nothing. The promise: what it finds is marked and never complete, and changes nothing
/// before that.
fn code<R: RegisterSet, S: RowSource + Copy>(
    tables: S,
    first: R,
    found: &[Frame<R>],
    start: &Start<'_>,
    memory: &(impl Memory + Clone),
) {
    let function_at = |pc| {
        let mut ranges = start.code.iter().map(Code::range);
        ranges.find(|range| range.holds(pc, 1))
    };
    let reader = CodeReader::<R, _>::new(tables, &function_at);
    assert_eq!(reader.describes(R::MACHINE), tables.describes(R::MACHINE));
    assert_eq!(reader.covers(first.pc()), tables.covers(first.pc()));
    assert_eq!(reader.doubt(), tables.doubt());
    for code in start.code {
        let read = reader.read_code(R::MACHINE, code, first.pc());
        assert!(read.is_none_or(|read| !read.is_trap && !read.rules.is_outermost()));
        assert_eq!(tables.read_code(R::MACHINE, code, first.pc()), None);
    }
    let saved = start.saved();
    let unwinder = start.unwinder(&reader, &saved);
    let mut frames = unwinder.frames(first, memory.clone());
    let bound = start.words::<R>() + 4 + SCANNED;
    let read: Vec<_> = frames.by_ref().take(bound + 1).collect();
    assert!(read.len() <= bound);
    match read.iter().position(|frame| frame.how == How::Analysis) {
        Some(by_code) => {
            assert_eq!(read[..by_code], found[..by_code]);
            assert!(frames.doubt().is_some());
            assert_ne!(frames.end(), Some(End::Complete));
        }
        None => assert_eq!(read, found),
    }
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
