//! What only AArch64 or s390x has.

extern crate std;

use std::vec::Vec;

use super::{OUTERMOST, STACK, Words, arm, table, walk};
use crate::sframe::{Abi, Tables, format};
use crate::verdict::How::{Given, SFrame, Scan, TrapFrame};
use crate::walk::FrameKind::{Exact, ReturnAddress};
use crate::{Code, End, Range, RegisterSet, SavedRegister, Stacks, Unwinder, aarch64, s390x};

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

const BITS: u64 = 0xff7f << 48;

#[test]
fn a_signature_where_the_row_has_no_signed_return_address_ends_the_walk() {
    let damaged = 0x002b_0000_0000_1008;
    let words = [(0x100f0, damaged)];
    // At once, and from a return address, by the fast path.
    for (pc, lr) in [(0x4010, 0), (0x3008, 0x4010)] {
        let registers = aarch64::Registers::new(pc, 0x100f0, 0, lr).with_authentication_bits(BITS);
        let (frames, end, _) = walk(&arm(), registers, &STACK, &words);
        // The word is still one that a scan may list.
        let by_row = frames.iter().rfind(|(_, _, how)| *how != Scan);
        assert_eq!(by_row.map(|(pc, ..)| *pc), Some(0x4010));
        assert_eq!(end, End::BadReturnAddress(damaged), "{pc:#x}");
    }
}

/// Without FEAT_FPAC a failed authentication leaves an address that no code is at, and the return to it is what faults.
#[test]
fn an_interrupted_program_counter_is_not_stripped() {
    let failed = 0x0020_0000_0000_3010;
    // CFA = *(sp+0), RA = *(sp+8), and the row is marked, in vain.
    let trap = [0x00, 0xa8, 0xfb, 0, 0, 0, 0xfb, 0, 8, 0];
    let table = table(
        Abi::AArch64Little,
        &[
            (0x1000, 0x100, 0, 0, 1, OUTERMOST),
            (0x3000, 0x100, 0, 0, 1, &[0x00, 0x03, 0x00]),
            (0x5000, 0x10, 0x80, 1, 1, &trap),
        ],
    );
    let words = [(0x10080, 0x10100), (0x10088, failed)];
    let registers = aarch64::Registers::new(0x3008, 0x10080, 0, 0x5008);
    let registers = registers.with_authentication_bits(BITS);
    let (frames, end, _) = walk(&table, registers, &STACK, &words);
    assert_eq!(frames.last(), Some(&(failed, Exact, TrapFrame)));
    assert_eq!(end, End::BadPc(failed));
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

/// A big-endian section of s390x that lies at address 0, of functions with 0x100 bytes and a row: start, info, info2, row.
fn s390x_table(functions: &[(u64, u8, u8, &[u8])]) -> Vec<u8> {
    let (mut index, mut rows) = (Vec::new(), Vec::new());
    for (start, info, info2, row) in functions {
        let field = format::HEADER_SIZE + index.len();
        index.extend(start.wrapping_sub(field as u64).to_be_bytes());
        index.extend(0x100_u32.to_be_bytes());
        index.extend((rows.len() as u32).to_be_bytes());
        rows.extend([0, 1, *info, *info2, 0]);
        rows.extend(*row);
    }
    let mut section = Vec::from([0xde, 0xe2, 3, 5, Abi::S390x as u8, 0, 0, 0]);
    let count = functions.len();
    for word in [count, count, rows.len(), 0, index.len()] {
        section.extend((word as u32).to_be_bytes());
    }
    section.extend(index);
    section.extend(rows);
    section
}

/// An entry function; CFA = sp + 0x16*8 + 160 = sp + 336, RA at c-48, FP at c-72; a leaf that keeps everything where it was; one
/// whose caller's frame pointer is in `f0`, and the return address in `r14` by a rule; a trap entry: CFA = *(sp+24), RA = *(sp+0),
/// FP = *(sp+16).
fn s390x() -> Vec<u8> {
    s390x_table(&[
        (0x1000, 0, 0, OUTERMOST),
        (0x2000, 0, 0, &[0x00, 0x07, 0x16, 0xd0, 0xb8]),
        (0x3000, 0, 0, &[0x00, 0x03, 0x00]),
        (0x4000, 0, 1, &[0x00, 0x0c, 0x79, 0, 0x71, 0, 0x81, 0]),
        (
            0x5000,
            0x80,
            1,
            &[0x00, 0x0c, 0x7b, 0xef, 0x7b, 0, 0x7b, 16],
        ),
    ])
}

/// A program counter, a canonical frame address, and a frame pointer.
type FrameOfS390x = (u64, Option<u64>, u64);

fn walk_s390x(registers: s390x::Registers, top: u64, words: &[(u64, u64)]) -> Vec<FrameOfS390x> {
    let table = s390x();
    let words = Words::new(words);
    let read = |address| words.0.get(&address).copied();
    // The first function leaves 160 bytes to its callee, too.
    let ranges = [Range::new(registers.sp, top + 160)];
    // basr %r14, %r1
    let call = [0x0d, 0xe1];
    let code = [0x1006, 0x201e, 0x5006].map(|address| Code::new(&call, address));
    let saved = [SavedRegister::new(s390x::R14, 8)];
    let unwinder = Unwinder::new(Tables::new(&table, 0));
    let unwinder = unwinder.code(&code).trap_registers(&saved);
    let mut frames = unwinder.frames(registers, Stacks::new(&ranges, read));
    let found = frames.by_ref().map(|frame| {
        let registers = frame.registers.expect("a walk by rows knows them");
        (frame.pc, frame.cfa, registers.fp)
    });
    let found = found.collect();
    // Big-endian tables contain no proof.
    let reason = frames.doubt().map(|doubt| doubt.reason);
    assert_eq!(
        (frames.end(), reason),
        (Some(End::Outermost), Some(End::UnprovenTables))
    );
    found
}

#[test]
fn s390x_scales_the_cfa_and_leaves_160_bytes() {
    let cfa = 0x10050 + 160;
    let registers = s390x::Registers::new(0x2020, cfa - 336, 1, 2);
    let words = [(cfa - 48, 0x1008), (cfa - 72, 9)];
    let found = walk_s390x(registers, 0x10050, &words);
    assert_eq!(found, [(0x2020, Some(cfa), 1), (0x1008, None, 9)]);
}

#[test]
fn an_s390x_leaf_keeps_what_its_caller_needs_in_registers() {
    let cfa = 0x10050 + 160;
    let sp = cfa - 336;
    let words = [(cfa - 48, 0x1008), (cfa - 72, 9)];
    let rest = [(0x2020, Some(cfa)), (0x1008, None)];
    for (pc, caller_fp) in [(0x3010, 7), (0x4010, 0x77)] {
        let mut registers = s390x::Registers::new(pc, sp, 7, 0x2020);
        let mut floating = [1; 16];
        floating[0] = 0x77;
        registers.floating = Some(floating);
        let found = walk_s390x(registers, 0x10050, &words);
        let frames: Vec<_> = found.iter().map(|(pc, cfa, _)| (*pc, *cfa)).collect();
        assert_eq!(frames[1..], rest, "{pc:#x}");
        assert_eq!(found[1].2, caller_fp);
    }
}

#[test]
fn an_interrupted_s390x_leaf_has_its_caller_in_the_trap_frame() {
    let trap = 0x10050;
    let cfa = trap + 160;
    let words = [
        (cfa - 48, 0x5008),
        (cfa - 72, 9),
        (trap, 0x3010),
        (trap + 8, 0x1008),
        (trap + 16, 5),
        (trap + 24, 0x10200),
    ];
    let registers = s390x::Registers::new(0x2020, cfa - 336, 1, 2);
    let found = walk_s390x(registers, 0x10200 - 160, &words);
    let pcs: Vec<_> = found.iter().map(|(pc, ..)| *pc).collect();
    assert_eq!(pcs, [0x2020, 0x5008, 0x3010, 0x1008]);
}
