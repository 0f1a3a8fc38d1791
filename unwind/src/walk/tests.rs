//! Walks over stacks of a few words, with tables whose rows are written out byte by byte (the bytes are those that
//! GNU as writes for the same rules).

extern crate std;

mod trap_code;

use std::collections::BTreeMap;
use std::vec::Vec;

use crate::sframe::{Abi, LookupError, ParseError, Tables, format};
use crate::verdict::How::{FramePointer, Given, LinkRegister, SFrame, Scan, TrapFrame};
use crate::{
    Code, Doubt, End, FrameKind, Range, RegisterSet, Stacks, Unbounded, Unwinder, aarch64, s390x,
    x86_64,
};

mod aligned;
mod calls;
mod lost;
mod sources;

/// The code that the walks here go through: nothing but calls through a register, before these return addresses.
const X86_64: &[u8] = &code(
    [
        0x1005, 0x2050, 0x3010, 0x3020, 0x3100, 0x4010, 0x5008, 0x5108,
    ],
    [0xff, 0xd0],
);
const AARCH64: &[u8] = &code(
    [0x1008, 0x2010, 0x3010, 0x4010, 0x5008, 0, 0, 0],
    0xd63f_0000_u32.to_le_bytes(),
);
const TEXT: u64 = 0x1000;

/// Code that begins at [`TEXT`], with `call` before each of the addresses but 0.
const fn code<const N: usize>(returns: [u64; 8], call: [u8; N]) -> [u8; 0x8000] {
    let mut code = [0; 0x8000];
    let mut index = 0;
    while index < returns.len() {
        if returns[index] != 0 {
            let end = (returns[index] - TEXT) as usize;
            let (_, from) = code.split_at_mut(end - N);
            from.split_at_mut(N).0.copy_from_slice(&call);
        }
        index += 1;
    }
    code
}

/// A function for [`table`]: start, size, info, info2, and rows with their number.
type Function<'a> = (u64, u32, u8, u8, u16, &'a [u8]);

/// A version 3 section that lies at address 0, little-endian, with 1-byte row starts.
fn table(abi: Abi, functions: &[Function<'_>]) -> Vec<u8> {
    let mut rows = Vec::new();
    let mut index = Vec::new();
    for (start, size, info, info2, count, bytes) in functions {
        let field = format::HEADER_SIZE + index.len();
        index.extend((*start as i64 - field as i64).to_le_bytes());
        index.extend(size.to_le_bytes());
        index.extend((rows.len() as u32).to_le_bytes());
        rows.extend(count.to_le_bytes());
        rows.extend([*info, *info2, 0]);
        rows.extend(*bytes);
    }
    let fixed_ra = if abi == Abi::Amd64 { 0xf8 } else { 0 };
    let mut section = Vec::from([0xe2, 0xde, 3, 5, abi as u8, 0, fixed_ra, 0]);
    for word in [functions.len(), 0, rows.len(), 0, index.len()] {
        section.extend((word as u32).to_le_bytes());
    }
    section.extend(index);
    section.extend(rows);
    section
}

/// Row `sp+8` of x86-64 at offset 0, then `fp+16` with FP at c-16 at offset 1: a function that pushes its frame pointer.
const PUSHES_FP: &[u8] = &[0x00, 0x03, 0x08, 0x01, 0x04, 0x10, 0xf0];
/// No caller.
const OUTERMOST: &[u8] = &[0x00, 0x00];

/// What the x86-64 tests share: an entry function, a function with a frame pointer, one of 24 bytes of locals, and
/// a hole from 0x4000 on.
fn amd64() -> Vec<u8> {
    table(
        Abi::Amd64,
        &[
            (0x1000, 0x100, 0, 0, 1, OUTERMOST),
            (0x2000, 0x100, 0, 0, 2, PUSHES_FP),
            // sp+8, then sp+32 from offset 4 on.
            (
                0x3000,
                0x100,
                0,
                0,
                2,
                &[0x00, 0x03, 0x08, 0x04, 0x03, 0x20],
            ),
            // A trap entry: CFA = *(sp+24), RA = *(sp+0), FP = *(sp+32); 7 is rsp.
            (
                0x5000,
                0x10,
                0x80,
                1,
                1,
                &[0x00, 0x0d, 0x3b, 24, 0x3b, 0, 0x3b, 32],
            ),
            // A trap entry that the table does not describe.
            (0x5100, 0x10, 0x80, 0, 0, &[]),
            // A DRAP prologue: sp+8, then r10+0, then CFA = *(fp-8) and FP = *(fp+0).
            (
                0x6000,
                0x100,
                0,
                1,
                3,
                &[
                    0x00, 0x04, 0x39, 0x08, 0x05, 0x04, 0x51, 0x00, 0x13, 0x0a, 0x33, 0xf8, 0x00,
                    0x33, 0x00,
                ],
            ),
        ],
    )
}

/// Words at addresses; everything else cannot be read.
#[derive(Clone)]
struct Words(BTreeMap<u64, u64>);

impl Words {
    fn new(words: &[(u64, u64)]) -> Self {
        Self(words.iter().copied().collect())
    }
}

type Found = (u64, FrameKind, crate::How);

fn walk<R: RegisterSet>(
    table: &[u8],
    registers: R,
    ranges: &[Range],
    words: &[(u64, u64)],
) -> (Vec<Found>, End, Option<Doubt>) {
    let words = Words::new(words);
    let read = |address| words.0.get(&address).copied();
    let code = match Tables::new(table, 0).first().map(|section| section.abi()) {
        Ok(Abi::AArch64Little) => [Code::new(AARCH64, TEXT)],
        _ => [Code::new(X86_64, TEXT)],
    };
    let stacks = Stacks::new(ranges, read);
    let unwinder = Unwinder::new(Tables::new(table, 0)).code(&code);
    let mut frames = unwinder.frames(registers, stacks);
    let found = frames
        .by_ref()
        .map(|frame| (frame.pc, frame.kind, frame.how))
        .collect();
    assert!(frames.next().is_none(), "an ended walk stays ended");
    (
        found,
        frames.end().expect("an ended walk has a reason"),
        frames.doubt(),
    )
}

const STACK: [Range; 1] = [Range::new(0x10000, 0x10100)];
use FrameKind::{Exact, ReturnAddress};

#[test]
fn a_walk_by_rows_is_complete() {
    let stack = [
        (0x100e0, 0x100f0),
        (0x100e8, 0x2050),
        (0x100f0, 0),
        (0x100f8, 0x1005),
    ];
    let registers = x86_64::Registers::new(0x3010, 0x100d0, 0x100f0);
    let (frames, end, doubt) = walk(&amd64(), registers, &STACK, &stack);
    assert_eq!(
        frames,
        [
            (0x3010, Exact, Given),
            (0x2050, ReturnAddress, SFrame),
            (0x1005, ReturnAddress, SFrame)
        ]
    );
    assert_eq!((end, doubt), (End::Complete, None));
}

#[test]
fn a_damaged_return_address_is_not_followed_but_the_frame_pointer_may_be() {
    let stack = [(0x100e8, 0x4141_4141), (0x100f0, 0), (0x100f8, 0x1005)];
    let registers = x86_64::Registers::new(0x3010, 0x100d0, 0x100f0);
    let (frames, end, doubt) = walk(&amd64(), registers, &STACK, &stack);
    assert_eq!(frames[1..], [(0x1005, ReturnAddress, FramePointer)]);
    assert_eq!(end, End::Outermost);
    assert_eq!(
        doubt.map(|doubt| doubt.reason),
        Some(End::BadReturnAddress(0x4141_4141))
    );
}

#[test]
fn the_row_is_that_of_the_instruction() {
    // At offset 0 of the function that pushes, at offset 1, and behind its call: all find the same caller.
    for (pc, sp, fp) in [(0x2000, 0x100f8, 7), (0x2001, 0x100f0, 0x100f0)] {
        let words = [(0x100f0, 7), (0x100f8, 0x1005)];
        let (frames, end, _) = walk(&amd64(), x86_64::Registers::new(pc, sp, fp), &STACK, &words);
        assert_eq!(frames[1..], [(0x1005, ReturnAddress, SFrame)], "{pc:#x}");
        assert_eq!(end, End::Complete);
    }
}

#[test]
fn a_return_address_is_looked_up_at_the_call() {
    // A call as last instruction: the return address is the first byte of the next function, whose row says sp+8.
    let words = [(0x100c0, 0x3100), (0x100e0, 0x1005), (0x100d8, 0)];
    let mut table = amd64();
    let (frames, end, _) = walk(
        &table,
        x86_64::Registers::new(0x3000, 0x100c0, 0),
        &STACK,
        &words,
    );
    assert_eq!(frames.len(), 3);
    assert_eq!(frames[2].0, 0x1005);
    // 0x100c8 + 32 is not the end of the stack.
    assert_eq!(end, End::NotAtBase(0x100e8));
    table.clear();
    let (_, end, _) = walk(
        &table,
        x86_64::Registers::new(0x3000, 0x100c0, 0),
        &STACK,
        &[],
    );
    assert_eq!(end, End::NoTables(ParseError::Empty));
}

#[test]
fn after_the_pop_the_register_holds_the_callers_frame_pointer() {
    // At the `ret` compilers keep the rule "FP at c-16", though that slot is below the stack pointer by then.
    let epilogue = table(
        Abi::Amd64,
        &[
            (0x1000, 0x100, 0, 0, 1, OUTERMOST),
            (0x2000, 0x100, 0, 0, 2, PUSHES_FP),
            // sp+8 with FP at c-16.
            (0x3000, 0x10, 0, 0, 1, &[0x00, 0x05, 0x08, 0xf0]),
        ],
    );
    let words = [
        (0x100d8, 0xdead),
        (0x100e0, 0x2050),
        (0x100f0, 0),
        (0x100f8, 0x1005),
    ];
    let registers = x86_64::Registers::new(0x3005, 0x100e0, 0x100f0);
    let (frames, end, _) = walk(&epilogue, registers, &STACK, &words);
    assert_eq!((frames.len(), end), (3, End::Complete));
}

#[test]
fn flexible_rows_of_a_realigned_frame() {
    // In the prologue by r10, which only an interrupted frame knows; in the body by the slot below the frame pointer.
    let words = [(0x10080, 0x55), (0x10078, 0x10100), (0x100f8, 0x1005)];
    let mut registers = x86_64::Registers::new(0x6008, 0x10090, 0x10080);
    let (_, end, _) = walk(&amd64(), registers, &STACK, &words);
    assert_eq!(end, End::RegisterLost(10));
    registers.r10 = Some(0x10100);
    let (frames, end, _) = walk(&amd64(), registers, &STACK, &words);
    assert_eq!((frames.len(), end), (2, End::Complete));
    let body = x86_64::Registers::new(0x6020, 0x10040, 0x10080);
    let (frames, end, _) = walk(&amd64(), body, &STACK, &words);
    assert_eq!((frames.len(), end), (2, End::Complete));
}

#[test]
fn a_trap_frame_leads_to_the_interrupted_instruction_on_another_stack() {
    let ranges = [STACK[0], Range::new(0x20000, 0x20100)];
    // The handler runs on the upper stack; the trap saved pc 0x2000 (before the push), sp and fp.
    let words = [
        (0x200a0, 0x2000),
        (0x200a0 + 24, 0x100f8),
        (0x200a0 + 32, 0x77),
        (0x100f8, 0x1005),
        (0x20098, 0x5008),
    ];
    let registers = x86_64::Registers::new(0x3000, 0x20098, 0);
    let (frames, end, doubt) = walk(&amd64(), registers, &ranges, &words);
    assert_eq!(
        frames,
        [
            (0x3000, Exact, Given),
            (0x5008, ReturnAddress, SFrame),
            (0x2000, Exact, TrapFrame),
            (0x1005, ReturnAddress, SFrame),
        ]
    );
    assert_eq!((end, doubt), (End::Complete, None));
}

#[test]
fn whatever_was_interrupted_is_named_and_then_the_walk_knows_what_is_wrong() {
    // A jump to nowhere, and a stack pointer in no stack: the trap frame still says what they were.
    let trap = |pc, sp, fp| {
        let words = [
            (0x10018, 0x5008),
            (0x10020, pc),
            (0x10038, sp),
            (0x10040, fp),
            (0x100f0, 0),
            (0x100f8, 0x1005),
        ];
        let registers = x86_64::Registers::new(0x3000, 0x10018, 0);
        walk(&amd64(), registers, &STACK, &words)
    };
    let (frames, end, _) = trap(0x2001, 0xdead_0001, 0);
    assert_eq!(frames[2..], [(0x2001, Exact, TrapFrame)]);
    assert_eq!(end, End::NoStack(0xdead_0001));
    let (frames, end, _) = trap(0x2001, 0x10010, 0);
    assert_eq!(frames[2..], [(0x2001, Exact, TrapFrame)]);
    assert_eq!(end, End::NoStack(0x10010), "below what was walked");
    // The frame pointer leads back to a stack.
    let (frames, end, doubt) = trap(0x2001, 0xdead_0001, 0x100f0);
    assert_eq!(
        frames[2..],
        [
            (0x2001, Exact, TrapFrame),
            (0x1005, ReturnAddress, FramePointer)
        ]
    );
    assert_eq!(end, End::Outermost);
    assert_eq!(
        doubt.map(|doubt| doubt.reason),
        Some(End::NoStack(0xdead_0001))
    );
    let (frames, end, _) = trap(0xbad, 0x100f8, 0);
    assert_eq!(
        frames[2..],
        [
            (0xbad, Exact, TrapFrame),
            (0x1005, ReturnAddress, LinkRegister)
        ]
    );
    assert_eq!(end, End::Outermost);
}

#[test]
fn a_damaged_trap_frame_is_not_its_own_caller() {
    // As memory is unbounded here, nothing but the walk itself keeps it from turning in circles.
    let table = amd64();
    let read = |address: u64| match address & 0xff {
        0x00 => Some(0x5008),
        0x18 => Some(0x100),
        0x20 | 0xf0 => Some(0x7ff0),
        0xf8 => Some(0x5008),
        _ => None,
    };
    let registers = x86_64::Registers::new(0x5008, 0x8000, 0x7ff0);
    let unwinder = Unwinder::new(Tables::new(&table, 0));
    let mut frames = unwinder.frames(registers, Unbounded(read));
    assert!(frames.by_ref().take(1000).count() < 1000);
    assert!(frames.end().is_some());
}

#[test]
fn an_undescribed_trap_frame_stops_the_walk_and_the_caller_can_go_on() {
    let words = Words::new(&[(0x10040, 0x5108), (0x100f8, 0x1005)]);
    let read = |address| words.0.get(&address).copied();
    let table = amd64();
    let registers = x86_64::Registers::new(0x3000, 0x10040, 0);
    let code = [Code::new(X86_64, TEXT)];
    let stacks = Stacks::new(&STACK, read);
    let unwinder = Unwinder::new(Tables::new(&table, 0)).code(&code);
    let mut frames = unwinder.frames(registers, stacks);
    assert_eq!(frames.by_ref().count(), 2);
    assert_eq!(frames.end(), Some(End::TrapFrame(0x10048)));
    assert!(
        !frames.resume_at(x86_64::Registers::new(0x2000, 0x10048, 0)),
        "no progress"
    );
    assert!(frames.resume_at(x86_64::Registers::new(0x2000, 0x100f8, 0)));
    let rest: Vec<_> = frames.by_ref().map(|frame| (frame.pc, frame.how)).collect();
    assert_eq!(rest, [(0x2000, TrapFrame), (0x1005, SFrame)]);
    assert_eq!(frames.end(), Some(End::Complete));
    assert!(
        !frames.resume_at(registers),
        "only after an undescribed trap frame"
    );
}

#[test]
fn a_call_through_a_bad_pointer_is_a_frame_of_its_own() {
    for bad in [0, 0x10, 0xdead_beef_0000] {
        let words = [(0x100e8, 0x2050), (0x100f0, 0), (0x100f8, 0x1005)];
        let registers = x86_64::Registers::new(bad, 0x100e8, 0x100f0);
        let (frames, end, doubt) = walk(&amd64(), registers, &STACK, &words);
        assert_eq!(
            frames,
            [
                (bad, Exact, Given),
                (0x2050, ReturnAddress, LinkRegister),
                (0x1005, ReturnAddress, SFrame)
            ]
        );
        assert_eq!(end, End::Outermost, "not complete: a frame was guessed");
        let doubt = doubt.expect("the guess is on record");
        assert_eq!(
            (doubt.frame, doubt.how, doubt.reason),
            (1, LinkRegister, End::BadPc(bad))
        );
    }
}

#[test]
fn without_a_row_the_frame_pointer_leads_on_and_is_marked() {
    // 0x4000 is code without a row, called by code with one.
    let words = [
        (0x100c0, 0x4010),
        (0x100d0, 0x100f0),
        (0x100d8, 0x2050),
        (0x100f0, 0),
        (0x100f8, 0x1005),
    ];
    let registers = x86_64::Registers::new(0x3000, 0x100c0, 0x100d0);
    let (frames, end, doubt) = walk(&amd64(), registers, &STACK, &words);
    assert_eq!(
        frames[1..],
        [
            (0x4010, ReturnAddress, SFrame),
            (0x2050, ReturnAddress, FramePointer),
            (0x1005, ReturnAddress, SFrame)
        ]
    );
    assert_eq!(end, End::Outermost);
    let doubt = doubt.expect("the guess is on record");
    assert_eq!(doubt.reason, End::NoRow(0x4010, LookupError::NoFunction));
}

#[test]
fn a_scan_lists_candidates_and_the_reason_stays() {
    let words: Vec<_> = (0x100c0..0x10100)
        .step_by(8)
        .map(|address| match address {
            0x100c0 => (address, 0x4010),
            0x100d8 => (address, 0x2050),
            0x100f8 => (address, 0x1005),
            _ => (address, 0x11),
        })
        .collect();
    let registers = x86_64::Registers::new(0x3000, 0x100c0, 3);
    let (frames, end, doubt) = walk(&amd64(), registers, &STACK, &words);
    assert_eq!(
        frames[2..],
        [(0x2050, ReturnAddress, Scan), (0x1005, ReturnAddress, Scan)]
    );
    assert_eq!(end, End::NoRow(0x4010, LookupError::NoFunction));
    assert_eq!(doubt.map(|doubt| doubt.frame), Some(2));
}

#[test]
fn each_damage_has_its_reason() {
    let start = |sp| x86_64::Registers::new(0x3010, sp, 3);
    let end = |sp, words: &[(u64, u64)]| walk(&amd64(), start(sp), &STACK, words).1;
    assert_eq!(end(0x100c0, &[(0x100d8, 0)]), End::BadReturnAddress(0));
    assert_eq!(
        end(0x100c0, &[(0x100d8, 0x9001)]),
        End::BadReturnAddress(0x9001)
    );
    assert_eq!(end(0x100f0, &[]), End::Unreadable(0x10108));
    assert_eq!(end(0x100c1, &[]), End::Misaligned(0x100e1));
    assert_eq!(end(0x30000, &[]), End::NoStack(0x30000));
    // The row is fp+16, but the frame pointer lies below the stack pointer.
    let down = x86_64::Registers::new(0x2010, 0x100c0, 0x100a0);
    let words = [(0x100a0, 0), (0x100a8, 0x2050)];
    assert_eq!(
        walk(&amd64(), down, &STACK, &words).1,
        End::Unreadable(0x100a8)
    );
    let flat = x86_64::Registers::new(0x2010, 0x100c0, 0x100b0);
    let words = [(0x100b0, 0), (0x100b8, 0x2050)];
    assert_eq!(
        walk(&amd64(), flat, &STACK, &words).1,
        End::Unreadable(0x100b8)
    );
    let wrong = walk(&table(Abi::AArch64Little, &[]), start(0x100c0), &STACK, &[]).1;
    assert_eq!(wrong, End::WrongAbi(Abi::AArch64Little));
}

#[test]
fn unbounded_memory_is_walked_only_upwards() {
    // A frame that is its own caller: row sp+0 with RA *(c-8), over a word that leads back to it.
    let circle = table(Abi::Amd64, &[(0x3000, 0x100, 0, 0, 1, &[0x00, 0x03, 0x00])]);
    let registers = x86_64::Registers::new(0x3010, 0x10000, 0);
    let code = [Code::without_bytes(Range::new(0x3000, 0x3100))];
    let unwinder = Unwinder::new(Tables::new(&circle, 0)).code(&code);
    let mut frames = unwinder.frames(registers, Unbounded(|_| Some(0x3020)));
    assert_eq!(
        frames.by_ref().count(),
        2 + 32,
        "two frames and the candidates of a scan"
    );
    assert_eq!(frames.end(), Some(End::NotAdvancing(0x10000)));
}

#[test]
fn the_limit_is_a_reason_too() {
    let endless = table(Abi::Amd64, &[(0x3000, 0x100, 0, 0, 1, &[0x00, 0x03, 0x08])]);
    let registers = x86_64::Registers::new(0x3010, 0x10000, 0);
    let unwinder = Unwinder::new(Tables::new(&endless, 0)).limit(100);
    let mut frames = unwinder.frames(registers, Unbounded(|_| Some(0x3020)));
    assert_eq!(frames.by_ref().count(), 100);
    assert_eq!(frames.end(), Some(End::Limit));
}

#[test]
fn a_blocked_task_starts_at_a_return_address() {
    // The saved pc is the first byte behind its function: only the call before it has a row.
    let words = Words::new(&[(0x100f8, 0x1005)]);
    let read = |address| words.0.get(&address).copied();
    let table = amd64();
    let registers = x86_64::Registers::new(0x3100, 0x100e0, 0);
    let code = [Code::new(X86_64, TEXT)];
    let unwinder = Unwinder::new(Tables::new(&table, 0)).code(&code);
    let mut frames = unwinder.frames_from_call(registers, Stacks::new(&STACK, read));
    let found: Vec<_> = frames
        .by_ref()
        .map(|frame| (frame.pc, frame.kind))
        .collect();
    assert_eq!(found, [(0x3100, ReturnAddress), (0x1005, ReturnAddress)]);
    assert_eq!(frames.end(), Some(End::Complete));
}

/// AArch64: entry; leaf with everything in registers; frame of 96 bytes, signed, RA c-88, FP c-96; RA saved, FP not.
fn arm() -> Vec<u8> {
    table(
        Abi::AArch64Little,
        &[
            (0x1000, 0x100, 0, 0, 1, OUTERMOST),
            (
                0x2000,
                0x100,
                0,
                0,
                2,
                &[0x00, 0x03, 0x00, 0x08, 0x87, 0x60, 0xa8, 0xa0],
            ),
            (0x3000, 0x100, 0, 0, 1, &[0x00, 0x03, 0x00]),
            (0x4000, 0x100, 0, 0, 1, &[0x00, 0x05, 0x10, 0xf0]),
        ],
    )
}

#[test]
fn an_arm_leaf_has_its_caller_in_the_link_register() {
    let signed = 0x002b_0000_0000_1008;
    let words = [(0x100a0, 0x100a0), (0x100a8, signed)];
    let registers =
        aarch64::Registers::new(0x3008, 0x100a0, 5, 0x2010).with_authentication_bits(0xff7f << 48);
    let (frames, end, _) = walk(&arm(), registers, &STACK, &words);
    assert_eq!(
        frames,
        [
            (0x3008, Exact, Given),
            (0x2010, ReturnAddress, SFrame),
            (0x1008, ReturnAddress, SFrame)
        ]
    );
    assert_eq!(end, End::Complete);
}

#[test]
fn a_leaf_that_was_interrupted_has_its_caller_in_the_trap_frame() {
    // A trap entry by GNU's rules for flexible functions: CFA = *(sp+248), RA = *(sp+256), FP = *(sp+232), 31 is sp.
    let table = table(
        Abi::AArch64Little,
        &[
            (0x1000, 0x100, 0, 0, 1, OUTERMOST),
            (0x3000, 0x100, 0, 0, 1, &[0x00, 0x03, 0x00]),
            (
                0x5000,
                0x10,
                0x80,
                1,
                1,
                &[0x00, 0x2c, 0xfb, 0, 248, 0, 0xfb, 0, 0, 1, 0xfb, 0, 232, 0],
            ),
        ],
    );
    let ranges = [STACK[0], Range::new(0x20000, 0x20130)];
    let words = Words::new(&[
        (0x20000 + 232, 0x77),
        (0x20000 + 240, 0x1008),
        (0x20000 + 248, 0x10100),
        (0x20000 + 256, 0x3010),
    ]);
    let read = |address| words.0.get(&address).copied();
    let saved = [crate::SavedRegister::new(30, 240)];
    let registers = aarch64::Registers::new(0x3000, 0x20000, 0, 0x5008);
    let code = [Code::new(AARCH64, TEXT)];
    let stacks = Stacks::new(&ranges, read);
    let without = Unwinder::new(Tables::new(&table, 0)).code(&code);
    let unwinder = without.trap_registers(&saved);
    let mut frames = unwinder.frames(registers, stacks);
    let found: Vec<_> = frames
        .by_ref()
        .map(|frame| (frame.pc, frame.kind, frame.how, frame.trap_frame))
        .collect();
    assert_eq!(
        found,
        [
            (0x3000, Exact, Given, None),
            (0x5008, ReturnAddress, SFrame, None),
            (0x3010, Exact, TrapFrame, Some(0x20000)),
            (0x1008, ReturnAddress, SFrame, None),
        ]
    );
    assert_eq!(frames.end(), Some(End::Complete));

    let mut frames = without.frames(registers, stacks);
    assert_eq!(frames.by_ref().count(), 3);
    assert_eq!(frames.end(), Some(End::LinkRegisterLost));
}

#[test]
fn a_long_report_has_two_ends() {
    // Ten frames of 32 bytes, which a trap frame interrupts in the middle.
    let mut words = Vec::from([(0x10000 + 4 * 32 + 24, 0x5008)]);
    let trap = 0x10000 + 5 * 32;
    words.extend((0..4).map(|n| (0x10000 + n * 32 + 24, 0x3010)));
    words.extend([(trap, 0x3020), (trap + 24, trap + 40), (trap + 32, 0)]);
    let rest = trap + 40;
    words.extend((0..4).map(|n| (rest + n * 32 + 24, 0x3010)));
    words.push((rest + 4 * 32 + 24, 0x1005));
    let words = Words::new(&words);
    let read = |address| words.0.get(&address).copied();
    let table = amd64();
    let ranges = [Range::new(0x10000, rest + 5 * 32)];
    let registers = x86_64::Registers::new(0x3010, 0x10000, 0);
    let code = [Code::new(X86_64, TEXT)];
    let stacks = Stacks::new(&ranges, read);
    let unwinder = Unwinder::new(Tables::new(&table, 0)).code(&code);
    let frames = unwinder.frames(registers, stacks);
    let report = |first, last| {
        let mut text = std::string::String::new();
        let report = crate::report::Backtrace::new(frames.clone(), None)
            .trap_words(&|out, frame| write!(out, "trap frame {frame:x?}"))
            .trap_lines(&|out, frame| writeln!(out, "  saved at {frame:x?}"))
            .ends(first, last);
        assert_eq!(report.write(&mut text), Ok(End::Complete));
        text
    };
    assert_eq!(
        report(2, 1),
        "   0: 0x0000000000003010 p
   1: 0x0000000000003010 r
   ----- 4 frames left out -----
   ----- trap frame Some(100a0) -----
  saved at Some(100a0)
   6: 0x0000000000003020 p
   ----- 4 frames left out -----
  11: 0x0000000000001005 r
end of backtrace: complete, 12 frames
"
    );
    assert_eq!(report(6, 6), report(20, 0));
    assert_eq!(report(6, 6).lines().count(), 12 + 3);
    assert!(report(0, 0).contains("   ----- 5 frames left out"));

    // As markup it is the same but for the lines of frames.
    let text = crate::report::Text::new(None)
        .trap_words(&|out, frame| write!(out, "trap frame {frame:x?}"))
        .trap_lines(&|out, frame| writeln!(out, "  saved at {frame:x?}"));
    let mut markup = std::string::String::new();
    let mut trace = crate::Trace::new(frames.clone()).ends(2, 1);
    let end = trace.tell(&mut |event| crate::markup::write(&mut markup, &text, event));
    assert_eq!(end, Ok(End::Complete));
    assert_eq!(
        markup,
        "{{{bt:0:0x0000000000003010:pc}}}
{{{bt:1:0x0000000000003010:ra}}}
   ----- 4 frames left out -----
   ----- trap frame Some(100a0) -----
  saved at Some(100a0)
{{{bt:6:0x0000000000003020:pc}}}
   ----- 4 frames left out -----
{{{bt:11:0x0000000000001005:ra}}}
end of backtrace: complete, 12 frames
"
    );
}

#[test]
fn authentication_codes_are_stripped_in_both_halves() {
    let registers = aarch64::Registers::new(0, 0, 0, 0).with_authentication_bits(u64::MAX << 48);
    assert_eq!(
        registers.strip(0x1234_0000_4008_2a14),
        0x4008_2a14,
        "bit 55 clear: zeros"
    );
    assert_eq!(
        registers.strip(0x12b4_0000_4008_2a14),
        0xffff_0000_4008_2a14,
        "bit 55 set: ones"
    );
}

#[test]
fn the_link_register_counts_in_an_exact_frame_only() {
    // The leaf as caller of something: its return address cannot still be in the link register.
    let words = [(0x100e0, 0), (0x100f0 - 16, 0x3010)];
    let registers = aarch64::Registers::new(0x4008, 0x100e0, 5, 0x7777);
    let (frames, end, _) = walk(&arm(), registers, &STACK, &words);
    assert_eq!(frames[1], (0x3010, ReturnAddress, SFrame));
    assert_eq!(end, End::LinkRegisterLost);
}

#[test]
fn after_a_step_by_record_the_arm_stack_pointer_is_not_trusted() {
    // 0x5000 has no row; its frame record leads to 0x4010, whose row counts from sp.
    let words = [
        (0x100a0, 0x100c0),
        (0x100a8, 0x4010),
        (0x100c0, 0),
        (0x100c8, 0x1008),
    ];
    let registers = aarch64::Registers::new(0x5000, 0x100a0, 0x100a0, 0x8888);
    let (frames, end, doubt) = walk(&arm(), registers, &STACK, &words);
    assert_eq!(
        frames[1..],
        [
            (0x4010, ReturnAddress, FramePointer),
            (0x1008, ReturnAddress, FramePointer)
        ]
    );
    assert_eq!(end, End::Outermost);
    assert_eq!(doubt.map(|doubt| doubt.how), Some(FramePointer));
}

#[test]
fn s390x_scales_the_cfa_and_leaves_160_bytes() {
    // Version 3, big-endian: start 0x0a, SP, 3 words: CFA 0x16*8+160 = 336, RA c-48, FP c-72.
    let mut section = Vec::from([0xde, 0xe2, 3, 5, 4, 0, 0, 0]);
    let index: Vec<u8> = [(0x1000_i64, 0_u32), (0x2000, 7)]
        .iter()
        .zip([28_i64, 44])
        .flat_map(|((start, rows), field)| {
            let mut entry = Vec::from((start - field).to_be_bytes());
            entry.extend(0x100_u32.to_be_bytes());
            entry.extend(rows.to_be_bytes());
            entry
        })
        .collect();
    let rows = [
        0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x0a, 0x07, 0x16, 0xd0, 0xb8,
    ];
    for word in [2, 2, rows.len() as u32, 0, 32] {
        section.extend(word.to_be_bytes());
    }
    section.extend(index);
    section.extend(rows);
    let words = [(0x10050 - 48 + 160, 0x1008), (0x10050 - 72 + 160, 9)];
    let sp = 0x10050 - (336 - 160);
    let ranges = [Range::new(sp, 0x10050), Range::new(0x10050, 0x10100)];
    let registers = s390x::Registers::new(0x2020, sp, 1, 2);
    let memory = |address| {
        words
            .iter()
            .find(|(at, _)| *at == address)
            .map(|(_, word)| *word)
    };
    // basr %r14, %r1
    let code = [Code::new(&[0x0d, 0xe1], 0x1006)];
    let stacks = Stacks::new(&ranges, memory);
    let unwinder = Unwinder::new(Tables::new(&section, 0)).code(&code);
    let mut frames = unwinder.frames(registers, stacks);
    let all: Vec<_> = frames.by_ref().collect();
    let found: Vec<_> = all.iter().map(|frame| (frame.pc, frame.cfa)).collect();
    assert_eq!(found, [(0x2020, Some(sp + 336)), (0x1008, None)]);
    let last = all[1].registers.expect("a walk by rows knows them");
    assert_eq!((last.sp, last.fp), (0x10050, 9));
    assert_eq!(frames.end(), Some(End::Complete));
}
