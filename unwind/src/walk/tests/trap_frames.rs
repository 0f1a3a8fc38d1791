//! Walks from handlers through trap code to what was interrupted.

extern crate std;

use std::vec::Vec;

use super::{AARCH64, OUTERMOST, STACK, TEXT, TRAP_ENTRY, Words, X86_64, amd64, table, walk};
use crate::sframe::{Abi, Tables};
use crate::verdict::How::{FramePointer, Given, LinkRegister, SFrame, TrapFrame};
use crate::walk::FrameKind::{Exact, ReturnAddress};
use crate::{Code, End, Range, SavedRegister, Stacks, Unbounded, Unwinder, aarch64, x86_64};

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
    // Nor is what looks like a frame record followed.
    let words = Words::new(&[(0x10040, 0x5108), (0x100f0, 0), (0x100f8, 0x1005)]);
    let read = |address| words.0.get(&address).copied();
    let table = amd64();
    let registers = x86_64::Registers::new(0x3000, 0x10040, 0x100f0);
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
    assert_eq!(frames.end(), Some(End::Outermost));
    let doubt = frames.doubt().map(|doubt| (doubt.frame, doubt.reason));
    assert_eq!(doubt, Some((2, End::TrapFrame(0x10048))));
    assert!(
        !frames.resume_at(registers),
        "only after an undescribed trap frame"
    );
}

/// A table in which a leaf at 0x3010 is interrupted, by trap code at 0x5000.
pub(super) fn interrupted_leaf() -> Vec<u8> {
    // A trap entry by GNU's rules for flexible functions: CFA = *(sp+248), RA = *(sp+256), FP = *(sp+232), 31 is sp.
    table(
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
            // A thunk that keeps its return address in x9: CFA = sp, RA = x9.
            (0x7000, 0x100, 0, 1, 1, &[0x00, 0x08, 0xf9, 0, 0x49, 0]),
        ],
    )
}

pub(super) const LEAF_STACKS: [Range; 2] = [STACK[0], Range::new(0x20000, 0x20130)];

#[test]
fn a_leaf_that_was_interrupted_has_its_caller_in_the_trap_frame() {
    let table = interrupted_leaf();
    let ranges = LEAF_STACKS;
    let saved = [SavedRegister::new(9, 72), SavedRegister::new(30, 240)];
    let code = [Code::new(AARCH64, TEXT)];
    let without = Unwinder::new(Tables::new(&table, 0)).code(&code);
    let unwinder = without.trap_registers(&saved);
    for (pc, x9, lr, lost) in [
        (0x3010, 0, 0x1008, End::LinkRegisterLost),
        (0x7010, 0x1008, 0, End::RegisterLost(aarch64::X9)),
    ] {
        let words = Words::new(&[
            (0x20000 + 72, x9),
            (0x20000 + 232, 0x77),
            (0x20000 + 240, lr),
            (0x20000 + 248, 0x10100),
            (0x20000 + 256, pc),
        ]);
        let read = |address| words.0.get(&address).copied();
        let registers = aarch64::Registers::new(0x3000, 0x20000, 0, 0x5008);
        let stacks = Stacks::new(&ranges, read);
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
                (pc, Exact, TrapFrame, Some(0x20000)),
                (0x1008, ReturnAddress, SFrame, None),
            ]
        );
        assert_eq!(frames.end(), Some(End::Complete));

        let mut frames = without.frames(registers, stacks);
        assert_eq!(frames.by_ref().count(), 3);
        assert_eq!(frames.end(), Some(lost));
    }
}

#[test]
fn an_interrupted_function_may_count_from_other_registers_in_the_trap_frame() {
    let table = table(
        Abi::Amd64,
        &[
            (0x1000, 0x100, 0, 0, 1, OUTERMOST),
            (0x3000, 0x100, 0, 0, 1, &[0x00, 0x03, 0x08]),
            (0x5000, 0x10, 0x80, 1, 1, TRAP_ENTRY),
            // CFA = r10; a thunk: CFA = rsp, RA = r11.
            (0x6000, 0x100, 0, 1, 1, &[0x00, 0x04, 0x51, 0x00]),
            (0x7000, 0x100, 0, 1, 1, &[0x00, 0x08, 0x39, 0, 0x59, 0]),
        ],
    );
    let saved = [
        SavedRegister::new(x86_64::R10, 40),
        SavedRegister::new(x86_64::R11, 48),
    ];
    let trap = 0x10020;
    for (pc, sp) in [(0x6008, 0x100f0), (0x7008, 0x10100)] {
        let words = Words::new(&[
            (0x10018, 0x5008),
            (trap, pc),
            (trap + 24, sp),
            (trap + 32, 0),
            (trap + 40, 0x10100),
            (trap + 48, 0x1005),
            (0x100f8, 0x1005),
        ]);
        let read = |address| words.0.get(&address).copied();
        let code = [Code::new(X86_64, TEXT)];
        let unwinder = Unwinder::new(Tables::new(&table, 0)).code(&code);
        let unwinder = unwinder.trap_registers(&saved);
        let registers = x86_64::Registers::new(0x3000, 0x10018, 0);
        let mut frames = unwinder.frames(registers, Stacks::new(&STACK, read));
        let pcs: Vec<_> = frames.by_ref().map(|frame| frame.pc).collect();
        assert_eq!(pcs, [0x3000, 0x5008, pc, 0x1005]);
        assert_eq!(frames.end(), Some(End::Complete), "{pc:#x}");
    }
}

/// The declared layout of trap frames: `r10` first, then what the processor pushes.
const LAYOUT: [SavedRegister; 5] = [
    SavedRegister::new(x86_64::R10, 0),
    SavedRegister::new(x86_64::RIP, 8),
    SavedRegister::new(x86_64::CS, 16),
    SavedRegister::new(x86_64::RSP, 32),
    SavedRegister::new(SavedRegister::END, 48),
];

/// A handler that the compiler has made saves as it likes: the words at the places of the declared layout are any words. Those here are of
/// user code, which would end the list.
#[test]
fn a_trap_frame_counts_only_where_it_has_what_the_row_has_found() {
    // Trap code that has nothing below what the processor pushes: CFA = *(sp+24), RA = *(sp+0), FP = *(sp+32).
    let own = table(
        Abi::Amd64,
        &[
            (0x1000, 0x100, 0, 0, 1, OUTERMOST),
            (0x3000, 0x100, 0, 0, 1, &[0x00, 0x03, 0x08]),
            (0x5000, 0x10, 0x80, 1, 1, TRAP_ENTRY),
        ],
    );
    // The declared layout.
    let declared = [0x00, 0x0d, 0x3b, 32, 0x3b, 8, 0x3b, 40];
    let declared = table(
        Abi::Amd64,
        &[
            (0x1000, 0x100, 0, 0, 1, OUTERMOST),
            (0x3000, 0x100, 0, 0, 1, &[0x00, 0x03, 0x08]),
            (0x5000, 0x10, 0x80, 1, 1, &declared),
        ],
    );
    let (frame, pc, sp) = (0x10020, 0x3010, 0x100f8);
    let words = [
        (0x10018, 0x5008),
        (0x100f8, 0x1005),
        // rip, cs, rflags, rsp, ss, as the first finds them; the second one finds a stack pointer there.
        (frame, pc),
        (frame + 8, 8),
        (frame + 16, 0x23),
        (frame + 24, sp),
        (frame + 32, 0x10),
    ];
    let of_declared = [
        (frame, 0x77),
        (frame + 8, pc),
        (frame + 16, 8),
        (frame + 24, 2),
        (frame + 32, sp),
        (frame + 40, 0x10),
    ];
    let of_declared = [&words[..2], &of_declared].concat();
    for (table, words, expected) in [
        (&own, &words[..], (None, None)),
        (&declared, &of_declared, (Some(frame), Some(0x77))),
    ] {
        let words = Words::new(words);
        let read = |address| words.0.get(&address).copied();
        let code = [Code::new(X86_64, TEXT)];
        let unwinder = Unwinder::new(Tables::new(table, 0)).code(&code);
        let unwinder = unwinder.trap_registers(&LAYOUT);
        let registers = x86_64::Registers::new(0x3000, 0x10018, 0);
        let mut frames = unwinder.frames(registers, Stacks::new(&STACK, read));
        let found: Vec<_> = frames.by_ref().collect();
        let interrupted = found[2].registers.expect("a row has led to it");
        assert_eq!((interrupted.pc, interrupted.user), (pc, false));
        assert_eq!((found[2].trap_frame, interrupted.r10), expected);
        assert_eq!(found[3].pc, 0x1005);
        assert_eq!(frames.end(), Some(End::Complete));
    }
}

/// Of a layout without the stack pointer and program counter there is nothing to compare with what the processor has pushed.
#[test]
fn what_the_processor_has_pushed_counts_more_than_a_trap_frame() {
    let words = Words::new(&[
        (0x10018, 0x5008),
        (0x10020, 0x3000),
        (0x10028, 8),
        (0x10030, 0x23),
        (0x10038, 0x100f8),
        (0x10040, 0),
        (0x100f8, 0x1005),
    ]);
    let read = |address| words.0.get(&address).copied();
    let saved = [LAYOUT[2], LAYOUT[4]];
    let table = amd64();
    let code = [Code::new(X86_64, TEXT)];
    let unwinder = Unwinder::new(Tables::new(&table, 0)).code(&code);
    let unwinder = unwinder.trap_registers(&saved);
    let registers = x86_64::Registers::new(0x3000, 0x10018, 0);
    let mut frames = unwinder.frames(registers, Stacks::new(&STACK, read));
    assert_eq!(frames.by_ref().count(), 4);
    assert_eq!(frames.end(), Some(End::Complete));
}
