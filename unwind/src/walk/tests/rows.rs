//! Walks by rows alone, and the reasons for which they end.

extern crate std;

use std::vec::Vec;

use super::{OUTERMOST, PUSHES_FP, STACK, TEXT, Words, X86_64, amd64, table, walk};
use crate::sframe::{Abi, LookupError, ParseError, Tables};
use crate::verdict::How::{Given, SFrame};
use crate::walk::FrameKind::{Exact, ReturnAddress};
use crate::{Code, End, Fallbacks, Range, Stacks, Unbounded, Unwinder, x86_64};

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
fn a_frame_pointer_is_read_from_the_top_of_the_stack() {
    // After the push and the move, with nothing else on the stack: the slot is where the stack pointer is.
    let pushed = table(
        Abi::Amd64,
        &[
            (0x1000, 0x100, 0, 0, 1, OUTERMOST),
            (0x2000, 0x100, 0, 0, 2, PUSHES_FP),
            // sp+16 with FP at c-16.
            (0x3000, 0x10, 0, 0, 1, &[0x00, 0x05, 0x10, 0xf0]),
        ],
    );
    let words = [
        (0x100d8, 0x100f0),
        (0x100e0, 0x2050),
        (0x100f0, 0),
        (0x100f8, 0x1005),
    ];
    let registers = x86_64::Registers::new(0x3005, 0x100d8, 0x100d8);
    let (frames, end, _) = walk(&pushed, registers, &STACK, &words);
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
    let mut frames = unwinder.frames_from_call(registers, Stacks::new(&STACK, read));
    assert_eq!(frames.next().map(|frame| frame.lookup_pc()), Some(0x30ff));
    let mut frames = unwinder.frames(registers, Stacks::new(&STACK, read));
    assert_eq!(frames.next().map(|frame| frame.lookup_pc()), Some(0x3100));
}

#[test]
fn an_outermost_frame_that_is_not_at_the_base_ends_the_walk() {
    // The frame pointer leads to what looks like a frame record, but there is no caller.
    let words = [(0x100f0, 0), (0x100f8, 0x1005)];
    let registers = x86_64::Registers::new(0x1010, 0x100d0, 0x100f0);
    let (frames, end, _) = walk(&amd64(), registers, &STACK, &words);
    assert_eq!((frames.len(), end), (1, End::NotAtBase(0x100d0)));
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
    // Candidates of a scan count, too; then the reason for the scan says more.
    let code = [Code::new(X86_64, TEXT)];
    let registers = x86_64::Registers::new(0x4010, 0x10000, 3);
    let unwinder = Unwinder::new(Tables::new(&endless, 0)).code(&code);
    let unwinder = unwinder.fallbacks(Fallbacks::SCAN).limit(3);
    let mut frames = unwinder.frames(registers, Unbounded(|_| Some(0x3020)));
    assert_eq!(frames.by_ref().count(), 3);
    let reason = End::NoRow(0x4010, LookupError::NoFunction);
    assert_eq!(frames.end(), Some(reason));
}
