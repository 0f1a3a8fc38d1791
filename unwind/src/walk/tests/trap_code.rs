//! Walks that start in trap code, where what was interrupted is still or again in registers.

extern crate std;

use std::vec::Vec;

use super::{Found, OUTERMOST, STACK, Words, table};
use crate::sframe::{Abi, Tables};
use crate::verdict::How::{Given, SFrame, TrapFrame};
use crate::walk::FrameKind::{Exact, ReturnAddress};
use crate::{Code, End, Range, SavedRegister, Stacks, Unwinder, aarch64};

/// Trap code as a kernel has it, and what it interrupts: an entry function, a leaf, and
/// - 0x5000, a vector: CFA = SP_EL0, RA = ELR_EL1;
/// - 0x5100, one of those that interrupt trap code: CFA = sp, RA = ELR_EL1;
/// - 0x6000, what both go to: CFA = *(sp+248), RA = ELR_EL1; from 0x6010 on RA = *(sp+256); from 0x6030 on, when it has restored all
///   but these two, CFA = *(sp+0), RA = *(sp+8).
fn arm_trap_code() -> Vec<u8> {
    let [control, elr] = [aarch64::SP_EL0, aarch64::ELR].map(|number| number << 3 | 1);
    let words = [control, 0, elr, 0];
    let vector: Vec<u8> = [0x00, 0x48]
        .into_iter()
        .chain(words.iter().flat_map(|word| word.to_le_bytes()))
        .collect();
    table(
        Abi::AArch64Little,
        &[
            (0x1000, 0x100, 0, 0, 1, OUTERMOST),
            (0x3000, 0x100, 0, 0, 1, &[0x00, 0x03, 0x00]),
            (0x5000, 0x10, 0x80, 1, 1, &vector),
            (
                0x5100,
                0x10,
                0x80,
                1,
                1,
                &[0x00, 0x28, 0xf9, 0, 0, 0, 0x09, 1, 0, 0],
            ),
            (
                0x6000,
                0x100,
                0x80,
                1,
                3,
                &[
                    0x00, 0x28, 0xfb, 0, 248, 0, 0x09, 1, 0, 0, //
                    0x10, 0x28, 0xfb, 0, 248, 0, 0xfb, 0, 0, 1, //
                    0x30, 0x28, 0xfb, 0, 0, 0, 0xfb, 0, 8, 0,
                ],
            ),
        ],
    )
}

const TRAP_STACK: Range = Range::new(0x20000, 0x20300);
const SAVED: [SavedRegister; 3] = [
    SavedRegister::new(9, 72),
    SavedRegister::new(30, 240),
    SavedRegister::new(31, 248),
];

/// The registers in trap code that has interrupted the leaf, called from 0x1008.
fn in_trap_code(pc: u64, sp: u64) -> aarch64::Registers {
    let mut registers = aarch64::Registers::new(pc, sp, 0, 0x1008);
    registers.elr = Some(0x3010);
    registers.sp_el0 = Some(0x10100);
    registers
}

fn walk_from_trap_code(
    registers: aarch64::Registers,
    saved: &[SavedRegister],
    words: &[(u64, u64)],
) -> (Vec<Found>, End) {
    let table = arm_trap_code();
    let ranges = [STACK[0], TRAP_STACK];
    let words = Words::new(words);
    let read = |address| words.0.get(&address).copied();
    let tables = Tables::new(&table, 0);
    // bl 0x3000
    let call = 0x9400_07ff_u32.to_le_bytes();
    let code = [Code::new(&call, 0x1004)];
    let unwinder = Unwinder::new(tables).code(&code).trap_registers(saved);
    let mut frames = unwinder.frames(registers, Stacks::new(&ranges, read));
    let mut found = Vec::new();
    for frame in frames.by_ref() {
        assert_eq!(frame.trap_frame, None, "it is not complete");
        found.push((frame.pc, frame.kind, frame.how));
    }
    (found, frames.end().expect("an ended walk has a reason"))
}

#[test]
fn a_walk_can_start_anywhere_in_trap_code() {
    let frame = 0x20100;
    let saved_sp = [(frame + 248, 0x10100)];
    let saved = [
        (frame + 240, 0x1008),
        (frame + 248, 0x10100),
        (frame + 256, 0x3010),
    ];
    let stray = 0x4_0000;
    let mut restored = in_trap_code(0x6020, frame);
    restored.elr = None;
    restored.lr = Some(0x6020);
    for (registers, words) in [
        (in_trap_code(0x5000, frame), &[][..]),
        // Nobody has looked at the stack pointer yet.
        (in_trap_code(0x5004, stray), &[]),
        (in_trap_code(0x6004, frame), &saved_sp),
        (in_trap_code(0x6010, frame), &saved),
        // The handler has returned: its return address is in the link register.
        (restored, &saved),
        // What lies below the stack pointer is not read any more.
        (in_trap_code(0x6034, frame + 248), &saved),
    ] {
        let (frames, end) = walk_from_trap_code(registers, &SAVED, words);
        assert_eq!(
            frames,
            [
                (registers.pc, Exact, Given),
                (0x3010, Exact, TrapFrame),
                (0x1008, ReturnAddress, SFrame),
            ]
        );
        assert_eq!(end, End::Complete, "{registers:x?}");
    }
}

#[test]
fn trap_code_reads_its_frame_on_a_stack_only() {
    let registers = in_trap_code(0x6010, 0x4_0000);
    let (frames, end) = walk_from_trap_code(registers, &SAVED, &[]);
    assert_eq!((frames.len(), end), (1, End::NoStack(0x4_0000)));
}

#[test]
fn trap_code_can_interrupt_trap_code_at_the_same_stack_pointer() {
    let frame = 0x20100;
    let mut registers = in_trap_code(0x5100, frame);
    registers.elr = Some(0x6010);
    let words = [
        (frame + 240, 0x1008),
        (frame + 248, 0x10100),
        (frame + 256, 0x3010),
    ];
    let (frames, end) = walk_from_trap_code(registers, &SAVED, &words);
    let pcs: Vec<u64> = frames.iter().map(|(pc, ..)| *pc).collect();
    assert_eq!(pcs, [0x5100, 0x6010, 0x3010, 0x1008]);
    assert_eq!(end, End::Complete);
}

#[test]
fn what_an_exception_in_trap_code_overwrites_is_lost() {
    // The vector at 0x5000 has failed, and the frame of that exception is at the stack's end.
    let words = [
        (0x20100 + 240, 0x1008),
        (0x20100 + 248, 0x20300),
        (0x20100 + 256, 0x5004),
    ];
    let start = in_trap_code(0x6010, 0x20100);
    let (frames, end) = walk_from_trap_code(start, &SAVED, &words);
    assert_eq!(
        frames,
        [(0x6010, Exact, Given), (0x5004, Exact, TrapFrame)],
        "neither ELR_EL1 nor SP_EL0 is that of the vector any more"
    );
    assert_eq!(end, End::RegisterLost(aarch64::SP_EL0));

    let mut start = in_trap_code(0x5100, 0x20100);
    start.elr = None;
    let (frames, end) = walk_from_trap_code(start, &SAVED, &words);
    assert_eq!(frames, [(0x5100, Exact, Given)]);
    assert_eq!(end, End::RegisterLost(aarch64::ELR));
}

#[test]
fn a_leaf_below_trap_code_needs_to_know_the_frame() {
    let frame = 0x20100;
    let words = [
        (frame + 240, 0x1008),
        (frame + 248, 0x10100),
        (frame + 256, 0x3010),
    ];
    let (frames, end) = walk_from_trap_code(in_trap_code(0x6010, frame), &SAVED[..2], &words);
    assert_eq!((frames.len(), end), (2, End::LinkRegisterLost));
}
