//! Walks where there is no usable row: by link register, by frame record, by scanning.

extern crate std;

use std::vec::Vec;

use super::{STACK, TEXT, Words, X86_64, amd64, arm, walk};
use crate::sframe::{LookupError, Tables};
use crate::verdict::How::{FramePointer, Given, LinkRegister, SFrame, Scan};
use crate::walk::FrameKind::{Exact, ReturnAddress};
use crate::{Code, End, Fallbacks, Stacks, Unwinder, aarch64, x86_64};

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
    // 0x4000 is code without a row, called by code with one. It called somebody itself, so what is on top of its stack is not its
    // return address, whatever it looks like.
    let words = [
        (0x100c0, 0x4010),
        (0x100c8, 0x3010),
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
    // 0x5000 has no row; its frame record leads to 0x4010, whose row counts from sp: that would lead to a return address, too.
    let words = [
        (0x100a0, 0x100c0),
        (0x100a8, 0x4010),
        (0x100b0, 0x2010),
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
fn the_link_register_of_a_function_without_rows_leads_to_one_with_rows() {
    // 0x5000 has no row. That it has called somebody shows in a link register that leads to code without rows: itself.
    let words = [
        (0x100a0, 0x100c0),
        (0x100a8, 0x1008),
        (0x100c0, 0),
        (0x100c8, 0),
    ];
    for (link, expected) in [
        (0x5008, (0x1008, ReturnAddress, FramePointer)),
        (0x1008, (0x1008, ReturnAddress, FramePointer)),
        (0x2010, (0x2010, ReturnAddress, LinkRegister)),
    ] {
        let registers = aarch64::Registers::new(0x5000, 0x100a0, 0x100a0, link);
        let (frames, ..) = walk(&arm(), registers, &STACK, &words);
        assert_eq!(frames[1], expected, "link register {link:#x}");
    }
}

/// The function without rows has saved the link register, so that the stack pointer is not its caller's: the word that the caller's row names
/// is the return address of this function.
#[test]
fn a_saved_link_register_leads_to_the_caller_once() {
    let words = [
        (0x100a0, 0x100e0),
        (0x100a8, 0x3010),
        (0x100e0, 0),
        (0x100e8, 0x1008),
    ];
    let registers = aarch64::Registers::new(0x5000, 0x10098, 0x100a0, 0x3010);
    let (frames, ..) = walk(&arm(), registers, &STACK, &words);
    assert_eq!(
        frames[1..],
        [
            (0x3010, ReturnAddress, FramePointer),
            (0x1008, ReturnAddress, FramePointer)
        ]
    );
}

#[test]
fn an_arm_stack_has_no_return_address_on_top() {
    // A call through a bad pointer, with a link register that is not known: only the scan finds something.
    let mut registers = aarch64::Registers::new(0, 0x100a0, 3, 0);
    registers.lr = None;
    let (frames, end, _) = walk(&arm(), registers, &STACK, &[(0x100a0, 0x1008)]);
    assert_eq!(frames[1..], [(0x1008, ReturnAddress, Scan)]);
    assert_eq!(end, End::BadPc(0));
}

#[test]
fn who_does_not_want_a_scan_gets_none() {
    let words = Words::new(&[(0x100c0, 0x4010), (0x100d8, 0x2050), (0x100f8, 0x1005)]);
    let table = amd64();
    let code = [Code::new(X86_64, TEXT)];
    let read = |address| Some(words.0.get(&address).copied().unwrap_or(0x11));
    for (wanted, expected) in [(Fallbacks::all(), 4), (!Fallbacks::SCAN, 2)] {
        let unwinder = Unwinder::new(Tables::new(&table, 0)).code(&code);
        let unwinder = unwinder.fallbacks(wanted);
        let registers = x86_64::Registers::new(0x3000, 0x100c0, 3);
        let frames = unwinder.frames(registers, Stacks::new(&STACK, read));
        assert_eq!(frames.count(), expected, "{wanted:?}");
    }
    // After a call through a bad pointer, the word that it pushed is a candidate like others.
    let words = Words::new(&[(0x100c0, 0x2050)]);
    let read = |address| words.0.get(&address).copied();
    for (wanted, how) in [
        (Fallbacks::all(), LinkRegister),
        (!Fallbacks::LINK_REGISTER, Scan),
    ] {
        let unwinder = Unwinder::new(Tables::new(&table, 0)).code(&code);
        let unwinder = unwinder.fallbacks(wanted);
        let registers = x86_64::Registers::new(0, 0x100c0, 3);
        let mut frames = unwinder.frames(registers, Stacks::new(&STACK, read));
        assert_eq!(frames.nth(1).map(|frame| frame.how), Some(how));
    }
}
