//! What only AArch64 or s390x has.

extern crate std;

use std::vec::Vec;

use super::{STACK, arm, walk};
use crate::sframe::Tables;
use crate::verdict::How::{Given, SFrame};
use crate::walk::FrameKind::{Exact, ReturnAddress};
use crate::{Code, End, Range, RegisterSet, Stacks, Unwinder, aarch64, s390x};

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
    // The first function leaves 160 bytes to its callee, too.
    let ranges = [Range::new(sp, 0x10050 + 160)];
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
