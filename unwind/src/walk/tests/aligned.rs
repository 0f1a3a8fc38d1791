//! Stack pointers and rules that lead to words which are not aligned: none of them is read.

extern crate std;

use std::cell::RefCell;
use std::vec::Vec;

use super::{OUTERMOST, PUSHES_FP, STACK, TEXT, Words, X86_64, amd64, table};
use crate::sframe::{Abi, Tables};
use crate::verdict::How::{Given, LinkRegister, SFrame, Scan};
use crate::{Code, End, How, Memory, Stacks, Unbounded, Unwinder, x86_64};

/// Walks, and fails when a word is asked for that is not aligned.
fn walk(
    table: &[u8],
    registers: x86_64::Registers,
    memory: impl Memory,
) -> (Vec<(u64, How)>, Option<End>) {
    let code = [Code::new(X86_64, TEXT)];
    let unwinder = Unwinder::new(Tables::new(table, 0)).code(&code);
    let mut frames = unwinder.frames(registers, memory);
    let found = frames.by_ref().map(|frame| (frame.pc, frame.how)).collect();
    (found, frames.end())
}

/// The word at an address, as a machine has it that faults on one which is not aligned.
fn strict(words: &[(u64, u64)]) -> impl Fn(u64) -> Option<u64> + use<> {
    let words = Words::new(words);
    move |address| {
        assert!(address.is_multiple_of(8), "{address:#x} was read");
        words.0.get(&address).copied()
    }
}

#[test]
fn every_interrupted_stack_pointer_is_safe() {
    let words = [
        (0x100e0, 0x100f0),
        (0x100e8, 0x2050),
        (0x100f0, 0),
        (0x100f8, 0x1005),
    ];
    // A function that counts from its stack pointer, one that counts from its frame pointer, no code at all, no row.
    for pc in [0x3010, 0x2050, 0, 0x4000] {
        for fp in [0x100f0, 0x100f1, 3] {
            for sp in 0x100c0..0x10100 {
                let registers = x86_64::Registers::new(pc, sp, fp);
                walk(&amd64(), registers, Stacks::new(&STACK, strict(&words)));
                walk(&amd64(), registers, Unbounded(strict(&words)));
            }
        }
    }
}

#[test]
fn a_frame_that_counts_from_elsewhere_is_found_with_an_odd_stack_pointer() {
    let words = [(0x100f0, 0), (0x100f8, 0x1005)];
    let registers = x86_64::Registers::new(0x2050, 0x100e3, 0x100f0);
    let (found, end) = walk(&amd64(), registers, Stacks::new(&STACK, strict(&words)));
    assert_eq!(found, [(0x2050, Given), (0x1005, SFrame)]);
    assert_eq!(end, Some(End::Complete));
}

#[test]
fn the_reason_names_the_word() {
    // sp+8, with the return address at c-9 by the table's header.
    let mut odd = table(
        Abi::Amd64,
        &[
            (0x1000, 0x100, 0, 0, 1, OUTERMOST),
            (0x2000, 0x100, 0, 0, 2, PUSHES_FP),
        ],
    );
    odd[6] = (-9_i8).cast_unsigned();
    let registers = x86_64::Registers::new(0x2000, 0x100f8, 3);
    let (found, end) = walk(&odd, registers, Stacks::new(&STACK, strict(&[])));
    assert_eq!(found, [(0x2000, Given)]);
    let reason = End::UnalignedWord(0x100f7);
    assert_eq!(end, Some(reason));
    assert_eq!(
        std::format!("{reason}"),
        "the stack word at address 0x00000000000100f7 is not aligned"
    );
}

#[test]
fn a_scan_begins_at_the_next_word() {
    // A call through a bad pointer, after something made the stack pointer odd: what lies there is no word, those above are.
    let asked = RefCell::new(Vec::new());
    let words = strict(&[(0x100e8, 0x2050), (0x100f0, 0x11), (0x100f8, 0x1005)]);
    let read = |address| {
        asked.borrow_mut().push(address);
        words(address)
    };
    let registers = x86_64::Registers::new(0, 0x100e1, 3);
    let (found, end) = walk(&amd64(), registers, Stacks::new(&STACK, read));
    assert_eq!(found, [(0, Given), (0x2050, Scan), (0x1005, Scan)]);
    assert_eq!(end, Some(End::BadPc(0)));
    assert_eq!(*asked.borrow(), [0x100e8, 0x100f0, 0x100f8]);
    // Aligned, it is what the call has pushed.
    let registers = x86_64::Registers::new(0, 0x100e8, 0x100f0);
    let (found, _) = walk(&amd64(), registers, Stacks::new(&STACK, words));
    assert_eq!(found[1], (0x2050, LinkRegister));
}
