//! Walks through functions that overwrite the frame pointer and keep the caller's nowhere, as functions may that never
//! return.

extern crate std;

use std::vec::Vec;

use super::{Found, OUTERMOST, PUSHES_FP, STACK, table, walk};
use crate::sframe::Abi;
use crate::verdict::How::{FramePointer, Given, LinkRegister, SFrame, Scan, TrapFrame};
use crate::walk::FrameKind::{Exact, ReturnAddress};
use crate::{End, aarch64, x86_64};

/// An entry function, one that pushes its frame pointer and counts from it, one that counts from the stack pointer, and one whose
/// rows take the frame pointer from a register that no walk knows: 16, the return address's column.
fn tables() -> Vec<u8> {
    table(
        Abi::Amd64,
        &[
            (0x1000, 0x100, 0, 0, 1, OUTERMOST),
            (0x2000, 0x100, 0, 0, 2, PUSHES_FP),
            (0x3000, 0x100, 0, 0, 1, &[0x00, 0x03, 0x10]),
            // sp+8; nothing said of the return address; r16+0.
            (
                0x4000,
                0x100,
                0,
                1,
                1,
                &[0x00, 0x0a, 0x39, 0x08, 0x00, 0x81, 0x00],
            ),
            // The same, from what r16 points to.
            (
                0x4100,
                0x100,
                0,
                1,
                1,
                &[0x00, 0x0a, 0x39, 0x08, 0x00, 0x83, 0x00],
            ),
            // From r11, which is known where the walk starts: r11+16.
            (
                0x4200,
                0x100,
                0,
                1,
                1,
                &[0x00, 0x0a, 0x39, 0x08, 0x00, 0x59, 0x10],
            ),
            // A trap entry that has lost it: CFA = *(sp+24), RA = *(sp+0), FP = r16+0.
            (
                0x5000,
                0x10,
                0x80,
                1,
                1,
                &[0x00, 0x0c, 0x3b, 24, 0x3b, 0, 0x81, 0],
            ),
        ],
    )
}

fn from(pc: u64, words: &[(u64, u64)]) -> (Vec<Found>, End) {
    let mut registers = x86_64::Registers::new(pc, 0x10000, 0x10080);
    registers.r11 = Some(0x100e0);
    let (found, end, _) = walk(&tables(), registers, &STACK, words);
    (found, end)
}

#[test]
fn callers_that_do_not_need_it_are_found() {
    // Called from 0x3010, whose frame is 16 bytes; that from 0x1005.
    let words = [(0x10000, 0x3010), (0x10010, 0x1005), (0x100f8, 0)];
    for pc in [0x4001, 0x4101] {
        let (found, end) = from(pc, &words);
        let expected = [
            (pc, Exact, Given),
            (0x3010, ReturnAddress, SFrame),
            (0x1005, ReturnAddress, SFrame),
        ];
        assert_eq!(found, expected);
        // The entry function's frame is not at the base here.
        assert_eq!(end, End::NotAtBase(0x10018));
    }
}

#[test]
fn a_caller_that_counts_from_it_ends_the_walk() {
    // The register leads to what looks like a frame record, but it is not the caller's.
    let words = [
        (0x10000, 0x2050),
        (0x10080, 0x100a0),
        (0x10088, 0x1005),
        (0x100a0, 0),
    ];
    let (found, end) = from(0x4001, &words);
    let expected = [(0x4001, Exact, Given), (0x2050, ReturnAddress, SFrame)];
    assert_eq!(found[..2], expected);
    assert_eq!(end, End::FramePointerLost);
}

#[test]
fn it_may_be_a_sum() {
    // 0x2050 counts from r11+16, the frame record at the base.
    let words = [(0x10000, 0x2050), (0x100f0, 0), (0x100f8, 0x1005)];
    let (found, end) = from(0x4201, &words);
    assert_eq!(
        found[1..],
        [
            (0x2050, ReturnAddress, SFrame),
            (0x1005, ReturnAddress, SFrame)
        ]
    );
    assert_eq!(end, End::Complete);
}

#[test]
fn what_was_interrupted_does_not_get_it_back() {
    // Called from trap code; that has interrupted the function that counts from it, or a call by it through a bad pointer. Who
    // has called it is not known.
    for (pc, how) in [(0x2050, Scan), (0, LinkRegister)] {
        let words = [
            (0x10000, 0x3010),
            (0x10010, 0x5008),
            (0x10018, pc),
            (0x10030, 0x10040),
            (0x10040, 0x2050),
            (0x10080, 0x100f0),
            (0x10088, 0x1005),
        ];
        let registers = x86_64::Registers::new(0x3010, 0x10008, 0x10080);
        let (found, end, _) = walk(&tables(), registers, &STACK, &words);
        assert_eq!(
            found[2..],
            [(pc, Exact, TrapFrame), (0x2050, ReturnAddress, how)]
        );
        assert_eq!(end, End::FramePointerLost);
    }
}

/// A frame record tells no stack pointer on AArch64, and the caller has saved the frame pointer where that leads.
#[test]
fn a_stack_pointer_that_is_lost_loses_the_frame_pointer_only() {
    let table = table(
        Abi::AArch64Little,
        &[
            (0x1000, 0x100, 0, 0, 1, OUTERMOST),
            // fp+16 with RA at c-8.
            (0x2000, 0x100, 0, 0, 1, &[0x00, 0x04, 0x10, 0xf8]),
            // sp+48 with RA at c-8.
            (0x3000, 0x100, 0, 0, 1, &[0x00, 0x05, 0x30, 0xf8]),
            // CFA = fp+16, RA = *(CFA-8), FP = *(sp+0); 29 is the frame pointer, 31 is sp.
            (
                0x4000,
                0x100,
                0,
                1,
                1,
                &[0x00, 0x0c, 0xe9, 0x10, 0x02, 0xf8, 0xfb, 0x00],
            ),
        ],
    );
    // No row at first; the record there leads to 0x4010, whose own record has its caller.
    let from = |caller| {
        let words = [
            (0x10080, 0x100c0),
            (0x10088, 0x4010),
            (0x100c8, caller),
            (0x100f8, 0x1008),
        ];
        let registers = aarch64::Registers::new(0x5000, 0x10040, 0x10080, 0);
        walk(&table, registers, &STACK, &words)
    };
    let (found, end, doubt) = from(0x3010);
    let expected = [
        (0x5000, Exact, Given),
        (0x4010, ReturnAddress, FramePointer),
        (0x3010, ReturnAddress, SFrame),
        (0x1008, ReturnAddress, SFrame),
    ];
    assert_eq!((&found[..], end), (&expected[..], End::Outermost));
    assert_eq!(doubt.map(|doubt| doubt.how), Some(FramePointer));
    // A caller that counts from the frame pointer needs it.
    let (found, end, _) = from(0x2010);
    assert_eq!(found[2], (0x2010, ReturnAddress, SFrame));
    assert_eq!(end, End::FramePointerLost);
}
