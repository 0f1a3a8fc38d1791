//! Rows of trap code that hold if the processor entered the function.

extern crate std;

use std::vec::Vec;

use super::{OUTERMOST, PUSHES_FP, TEXT, Words, X86_64, table_with};
use crate::sframe::{Abi, Tables, format};
use crate::{Code, Doubt, End, How, Range, RowSource as _, Stacks, Unwinder, x86_64};

/// CFA = *(sp+24), RA = *(sp+0), FP = *(sp+40); 7 is rsp.
const TRAP: &[u8] = &[0x00, 0x0d, 0x3b, 24, 0x3b, 0, 0x3b, 40];
const IF_ENTERED: u32 = (format::IF_ENTERED as u32) << 8;

/// Where the trap code's stack pointer is: at what the processor has pushed, which ends at a multiple of 16.
const SP: u64 = 0x10008;
const PC: u64 = SP;
const CS: u64 = SP + 8;
const FLAGS: u64 = SP + 16;
const SS: u64 = SP + 32;

/// Calls the function at an address.
fn call(from: u64, to: u64) -> Vec<u8> {
    let distance = to.wrapping_sub(from + 5) as u32;
    [&[0xe8][..], &distance.to_le_bytes()].concat()
}

/// Walks from trap code, whose rows hold if the processor entered it, with these words of the stack and bytes of code in place of others.
fn walk(words: &[(u64, u64)], bytes: &[(u64, Vec<u8>)]) -> (usize, End, Option<Doubt>) {
    let functions = [
        (0x1000, 0x100, 0, 0, 1, OUTERMOST),
        (0x2000, 0x100, 0, 0, 2, PUSHES_FP),
        (0x3000, 0x100, 0, 0, 2, PUSHES_FP),
        (0x5000, 0x10, 0x80, 1, 1, TRAP),
    ];
    let table = table_with(Abi::Amd64, &functions, Some(&[(0x5000, 0x10 | IF_ENTERED)]));
    let mut stack = Words::new(&[
        (PC, 0x2060),
        (CS, 8),
        (FLAGS, 0x202),
        (SP + 24, 0x10050),
        (SS, 0),
        (SP + 40, 0x10060),
        (0x10060, 0x10070),
        (0x10068, 0x2050),
        (0x10070, 0),
        (0x10078, 0x1005),
    ]);
    stack.0.extend(words.iter().copied());
    let mut text = X86_64.to_vec();
    for (at, bytes) in bytes {
        let offset = (at - TEXT) as usize;
        text[offset..offset + bytes.len()].copy_from_slice(bytes);
    }
    let read = |address| stack.0.get(&address).copied();
    let code = [Code::new(&text, TEXT)];
    let ranges = [Range::new(0x10000, 0x10080)];
    let unwinder = Unwinder::new(Tables::new(&table, 0)).code(&code);
    let registers = x86_64::Registers::new(0x5004, SP, 0);
    let mut frames = unwinder.frames(registers, Stacks::new(&ranges, read));
    let count = frames.by_ref().count();
    (count, frames.end().expect("it has ended"), frames.doubt())
}

#[track_caller]
fn expect(is_proven: bool, words: &[(u64, u64)], bytes: &[(u64, Vec<u8>)]) {
    let doubt = Doubt {
        frame: 1,
        how: How::SFrame,
        reason: End::UnprovenRow(0),
    };
    let expected = match is_proven {
        true => (4, End::Complete, None),
        false => (4, End::Outermost, Some(doubt)),
    };
    assert_eq!(walk(words, bytes), expected);
}

#[test]
fn row_is_proven_by_what_the_processor_pushes() {
    expect(true, &[], &[]);
    for word in [(CS, 0xfffc), (CS, 0x30), (SS, 0x10), (FLAGS, 0x3f_7fd7)] {
        expect(true, &[word], &[]);
    }
    for word in [
        (CS, 0),
        (CS, 1),
        (CS, 0x1_0008),
        (SS, 0x1_0000),
        (FLAGS, 0x200),
        (FLAGS, 0x20a),
        (FLAGS, 0x222),
        (FLAGS, 0x8202),
        (FLAGS, 0x40_0202),
        (FLAGS, 0x1_0000_0202),
    ] {
        expect(false, &[word], &[]);
    }
}

/// The word at which the program counter would be is the return address of a call that may lead to the trap code.
#[test]
fn row_is_not_proven_where_a_call_may_have_entered() {
    let before = 0x2060 - 5;
    // An indirect call.
    expect(false, &[], &[(0x2060 - 2, [0xff, 0xd0].to_vec())]);
    // A direct call of the trap code, and of a function that jumps there.
    expect(false, &[], &[(before, call(before, 0x5000))]);
    let mut jump = call(0x3008, 0x5000);
    jump[0] = 0xe9;
    let calls = (before, call(before, 0x3000));
    expect(false, &[], &[calls.clone(), (0x3008, jump)]);
    // A call of another function has returned before.
    expect(true, &[], &[calls]);
}

#[test]
fn frame_that_does_not_end_at_a_multiple_of_16_is_not_proven() {
    let x86 = |at: u64, words| {
        <x86_64::Registers as crate::registers::sealed::Sealed>::is_pushed(at, words)
    };
    let words = [0x2060, 8, 0x202, 0x10050, 0];
    assert!(x86(SP, words));
    assert!(!x86(SP + 8, words));
    // The interrupted stack pointer is not in what the processor pushes.
    assert!(!x86(SP, [0x2060, 8, 0x202, SP, 0]));
    assert!(!x86(SP, [0x2060, 8, 0x202, SP + 32, 0]));
    assert!(x86(SP, [0x2060, 8, 0x202, SP + 40, 0]));
}

/// A row that is no trap code's has no such proof.
#[test]
fn mark_at_other_code_is_a_doubt() {
    let functions = [
        (0x1000, 0x100, 0, 0, 1, OUTERMOST),
        (0x2000, 0x100, 0, 0, 2, PUSHES_FP),
    ];
    let table = table_with(
        Abi::Amd64,
        &functions,
        Some(&[(0x2000, 0x100 | IF_ENTERED)]),
    );
    let tables = Tables::new(&table, 0);
    let mut found = crate::Found::EMPTY;
    tables.look_up(0x2050, &mut found).expect("it has a row");
    assert_eq!(found.proof, crate::Proof::IfEntered);
    let words = Words::new(&[
        (0x10000, 0x10010),
        (0x10008, 0x2050),
        (0x10010, 0),
        (0x10018, 0x1005),
    ]);
    let read = |address| words.0.get(&address).copied();
    let code = [Code::new(X86_64, TEXT)];
    let ranges = [Range::new(0x10000, 0x10020)];
    let unwinder = Unwinder::new(tables).code(&code);
    let registers = x86_64::Registers::new(0x2060, 0x10000, 0x10000);
    let mut frames = unwinder.frames(registers, Stacks::new(&ranges, read));
    assert_eq!(frames.by_ref().count(), 3);
    let reason = frames.doubt().map(|doubt| doubt.reason);
    assert_eq!(
        (frames.end(), reason),
        (Some(End::Outermost), Some(End::UnprovenRow(0)))
    );
}
