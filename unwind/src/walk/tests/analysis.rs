//! Walks through functions without rows, whose code is there: by what it does to their frames. The code is that of real functions, and
//! a walk starts before each instruction of the innermost one.

extern crate std;

use std::vec::Vec;

use super::{OUTERMOST, PUSHES_FP, STACK, Words, table};
use crate::sframe::{Abi, Tables};
use crate::verdict::How::{Analysis, Given, SFrame, Scan};
use crate::{
    Code, CodeReader, Doubt, End, Fallbacks, How, Range, RegisterSet, Stacks, Unwinder, aarch64,
    x86_64,
};

/// Frames with how they were found, why there is no other, and what is in doubt.
type Walked = (Vec<(u64, How)>, End, Option<Doubt>);

/// A program: its table, code from 0x1000 on, functions without rows, and the stack.
struct Program {
    table: Vec<u8>,
    text: Vec<u8>,
    without_rows: Vec<Range>,
    words: Words,
}

impl Program {
    fn walk<R: RegisterSet>(&self, registers: R, fallbacks: Fallbacks) -> Walked {
        let code = [Code::new(&self.text, 0x1000)];
        let function_at = |pc| {
            let mut functions = self.without_rows.iter();
            functions.find(|function| function.contains(pc)).copied()
        };
        let tables = Tables::new(&self.table, 0);
        let source = CodeReader::<R, _>::new(tables, &function_at);
        let unwinder = Unwinder::new(source).code(&code).fallbacks(fallbacks);
        let read = |address| Some(self.words.0.get(&address).copied().unwrap_or(0));
        let mut frames = unwinder.frames(registers, Stacks::new(&STACK, read));
        let found = frames.by_ref().map(|frame| (frame.pc, frame.how)).collect();
        (found, frames.end().expect("a reason"), frames.doubt())
    }
}

/// Puts code at an address of a text that begins at 0x1000.
fn put(text: &mut [u8], address: usize, code: &[u8]) {
    text[address - 0x1000..][..code.len()].copy_from_slice(code);
}

/// `entry`, with a row, calls `bare`, which has none and calls `framed`, which has rows and calls the innermost function, without.
fn amd64() -> Program {
    let mut text = Vec::from([0xcc; 0x3200]);
    put(&mut text, 0x1000, &[0xe8, 0xfb, 0x2f, 0, 0]); // call 0x4000
    put(&mut text, 0x2000, &[0x55, 0x48, 0x89, 0xe5]); // push rbp; mov rbp, rsp
    put(&mut text, 0x2004, &[0xe8, 0xf7, 0x20, 0, 0]); // call 0x4100
    put(&mut text, 0x4000, &[0x53, 0x48, 0x83, 0xec, 0x10]); // push rbx; sub rsp, 16
    put(&mut text, 0x4005, &[0xe8, 0xf6, 0xdf, 0xff, 0xff]); // call 0x2000
    put(&mut text, 0x400a, &[0x48, 0x83, 0xc4, 0x10, 0x5b, 0xc3]); // add rsp, 16; pop rbx; ret
    put(&mut text, 0x4100, INNERMOST);
    let words = [
        (0x100f8, 0x1005),
        (0x100d8, 0x400a),
        (0x100c8, 0x2009),
        // What the innermost function has pushed.
        (0x100c0, 0x100d0),
    ];
    Program {
        table: table(
            Abi::Amd64,
            &[
                (0x1000, 0x100, 0, 0, 1, OUTERMOST),
                (0x2000, 0x100, 0, 0, 2, PUSHES_FP),
            ],
        ),
        text,
        without_rows: Vec::from([Range::new(0x4000, 0x4010), Range::new(0x4100, 0x4118)]),
        words: Words::new(&words),
    }
}

/// push rbp; push r14; sub rsp, 16; test edi, edi; je over the return; add rsp, 16; pop r14; pop rbp; ret; mov ebp, edi; jmp back to
/// the addition.
const INNERMOST: &[u8] = &[
    0x55, 0x41, 0x56, 0x48, 0x83, 0xec, 0x10, 0x85, 0xff, 0x74, 0x08, //
    0x48, 0x83, 0xc4, 0x10, 0x41, 0x5e, 0x5d, 0xc3, 0x89, 0xfd, 0xeb, 0xf4,
];

/// Where the instructions of [`INNERMOST`] are, the bytes that it has on the stack before each, and whether `rbp` is its own.
const PLACES: [(u64, u64, bool); 11] = [
    (0, 0, true),
    (1, 8, true),
    (3, 16, true),
    (7, 32, true),
    (9, 32, true),
    (11, 32, true),
    (15, 16, true),
    (17, 8, true),
    (18, 0, true),
    (19, 32, true),
    (21, 32, false),
];

/// The registers before the instruction at a place.
fn at((offset, pushed, own): (u64, u64, bool)) -> x86_64::Registers {
    let fp = if own { 0x100d0 } else { 3 };
    x86_64::Registers::new(0x4100 + offset, 0x100c8 - pushed, fp)
}

#[test]
fn functions_without_rows_have_their_place_between_those_with() {
    for place in PLACES {
        let (found, end, doubt) = amd64().walk(at(place), Fallbacks::all());
        let expected = [
            (0x4100 + place.0, Given),
            (0x2009, Analysis),
            (0x400a, SFrame),
            (0x1005, Analysis),
        ];
        assert_eq!(found, expected, "{place:?}");
        assert_eq!(end, End::Outermost, "never complete");
        let doubt = doubt.expect("the first one that is not by a row");
        assert_eq!((doubt.frame, doubt.how), (1, Analysis));
    }
}

#[test]
fn no_mix_of_methods_skips_or_repeats_a_frame_in_silence() {
    let truth = [0x2009, 0x400a, 0x1005];
    let mut right = 0;
    for place in PLACES {
        for bits in 0..=Fallbacks::all().bits() {
            let fallbacks = Fallbacks::from_bits_retain(bits);
            let (found, end, doubt) = amd64().walk(at(place), fallbacks);
            assert!(!end.is_complete());
            let walked = found[1..].iter().filter(|(_, how)| *how != Scan);
            let walked: Vec<u64> = walked.map(|(pc, _)| *pc).collect();
            // In the order of the truth, so that none is there twice.
            let order = walked
                .iter()
                .map(|pc| truth.iter().position(|known| known == pc));
            let order: Vec<_> = order.collect();
            assert!(
                !order.contains(&None),
                "{place:?} {fallbacks:?}: {found:x?}"
            );
            assert!(order.is_sorted_by(|one, next| one < next), "{found:x?}");
            // What is left out comes after a frame that the walk says is in doubt.
            let wrong = (0..order.len()).find(|&index| order[index] != Some(index));
            if let Some(wrong) = wrong {
                let doubt = doubt.expect("somebody is told").frame as usize;
                assert!(doubt <= wrong + 1, "{place:?} {fallbacks:?}: {found:x?}");
            }
            right += usize::from(walked == truth);
            // Who may read the code never needs a weaker method.
            if fallbacks.contains(Fallbacks::ANALYSIS) {
                assert_eq!(walked, truth, "{place:?} {fallbacks:?}");
            }
        }
    }
    let all = PLACES.len() * usize::from(Fallbacks::all().bits() + 1);
    assert!(right >= all / 2 && right < all, "{right} of {all}");
}

#[test]
fn a_row_that_leads_nowhere_is_not_replaced_by_a_guess() {
    // The return address of `framed`, which has rows, is damaged. Nothing reads its code instead, though its range is known.
    let mut program = amd64();
    program.words.0.insert(0x100d8, 0x4141_4141);
    program.without_rows.push(Range::new(0x2000, 0x2009));
    let (found, end, _) = program.walk(at(PLACES[0]), Fallbacks::ANALYSIS);
    assert_eq!(found.len(), 2, "{found:x?}");
    assert_eq!(end, End::BadReturnAddress(0x4141_4141));
}

#[test]
fn without_the_start_of_a_function_its_code_says_nothing() {
    let mut program = amd64();
    program.without_rows.clear();
    let (found, end, _) = program.walk(at(PLACES[3]), Fallbacks::ANALYSIS);
    assert_eq!(found.len(), 1);
    assert!(matches!(end, End::NoRow(0x4107, _)));
    // And of an address outside of the range that it is told, neither.
    program.without_rows = Vec::from([Range::new(0x4100, 0x4200), Range::new(0x4200, 0x4100)]);
    let registers = x86_64::Registers::new(0x41ff, 0x100c8, 0);
    let (found, ..) = program.walk(registers, Fallbacks::ANALYSIS);
    assert_eq!(found.len(), 1, "nothing leads there: {found:x?}");
}

#[test]
fn on_arm_too_before_every_instruction() {
    // paciasp; stp x29, x30, [sp, -32]!; str x19, [sp, 16]; mov x29, sp; sub sp, sp, 0x1000; blr x0; mov sp, x29; ldr x19, [sp, 16];
    // ldp x29, x30, [sp], 32; autiasp; ret
    let code: [(u32, u64, bool); 11] = [
        (0xd503_233f, 0, true),
        (0xa9be_7bfd, 0, true),
        (0xf900_0bf3, 32, true),
        (0x9100_03fd, 32, true),
        (0xd140_07ff, 32, true),
        (0xd63f_0000, 0x50, false),
        (0x9100_03bf, 0x50, false),
        (0xf940_0bf3, 32, false),
        (0xa8c2_7bfd, 32, false),
        (0xd503_23bf, 0, true),
        (0xd65f_03c0, 0, true),
    ];
    let mut text = Vec::from([0; 0x3200]);
    put(&mut text, 0x1004, &0x9400_0bff_u32.to_le_bytes()); // bl 0x4000
    for (index, (word, ..)) in code.iter().enumerate() {
        put(&mut text, 0x4000 + 4 * index, &word.to_le_bytes());
    }
    let frame = 0x10100 - 32;
    let program = Program {
        table: table(Abi::AArch64Little, &[(0x1000, 0x100, 0, 0, 1, OUTERMOST)]),
        text,
        without_rows: Vec::from([Range::new(0x4000, 0x402c)]),
        words: Words::new(&[(frame, 0x7777), (frame + 8, 0x1008)]),
    };
    for (index, (_, pushed, own)) in code.into_iter().enumerate() {
        // While it has a frame of its own, the frame pointer says where, and the link register may have any value.
        let record = (4..9).contains(&index);
        let (fp, link) = (
            if record { frame } else { 0x7777 },
            if own { 0x1008 } else { 5 },
        );
        let pc = 0x4000 + 4 * index as u64;
        let registers = aarch64::Registers::new(pc, 0x10100 - pushed, fp, link);
        let (found, end, _) = program.walk(registers, Fallbacks::ANALYSIS);
        assert_eq!(found, [(pc, Given), (0x1008, Analysis)], "{index}");
        assert_eq!(end, End::Outermost);
    }
}

/// Code without rows that sets the stack pointer to another stack, and never returns, has no caller: above its frame are words of other stacks.
#[test]
fn boot_code_has_no_caller() {
    // call 0x2000; then a loop around hlt
    const CALL: [u8; 5] = [0xe8, 0xf4, 0xdf, 0xff, 0xff];
    let stops = [0xf4, 0xeb, 0xfd];
    let begins = [0x48, 0x8d, 0x25, 0, 0, 0, 0]; // lea rsp, [rip]
    let moves = [0x48, 0xc7, 0xc4, 0, 0, 1, 0]; // mov rsp, 0x10000
    let reads = [0x90, 0x90, 0x90, 0x48, 0x8b, 0x27, 0x90]; // mov rsp, [rdi]
    let aligns = [0x90, 0x90, 0x90, 0x48, 0x83, 0xe4, 0xf0]; // and rsp, -16
    let traps = [0x0f, 0x0b, 0xc3]; // ud2, which no ret follows
    let returns = [0xf4, 0xc3, 0x90];
    let leaves = [0xeb, 0x40, 0x90]; // jmp to another function
    for (first, last, is_first) in [
        (begins, stops, true),
        (moves, stops, true),
        (reads, stops, true),
        (reads, traps, true),
        (aligns, stops, false),
        (begins, returns, false),
        (reads, leaves, false),
    ] {
        for is_listed in [false, true] {
            let mut program = amd64();
            let code = [&first[..], &CALL, &last].concat();
            put(&mut program.text, 0x4000, &[0x90; 16]);
            put(&mut program.text, 0x4000, &code);
            let framed = (0x2000, 0x100, 0, 0, 2, PUSHES_FP);
            let functions = [framed, (0x4000, 0x10, 0, 0, 0, &[][..])];
            program.table = table(Abi::Amd64, &functions[..1 + usize::from(is_listed)]);
            program.without_rows = Vec::from([Range::new(0x4000, 0x400f)]);
            let words = [(0x100c0, 3), (0x100c8, 0x400c), (0x100e0, 0x1005)];
            program.words = Words::new(&words);
            let registers = x86_64::Registers::new(0x2004, 0x100c0, 0x100c0);
            let (found, end, _) = program.walk(registers, Fallbacks::all());
            assert_eq!(found[..2], [(0x2004, Given), (0x400c, SFrame)]);
            let others: &[(u64, How)] = if is_first { &[] } else { &[(0x1005, Scan)] };
            assert_eq!(found[2..], *others, "{first:x?} {last:x?}");
            assert!(matches!(end, End::NoRow(0x400c, _)), "{end:?}");
        }
    }
}

#[test]
fn boot_code_on_arm_has_no_caller() {
    // mov sp, x9; sub sp, x9, x10; sub sp, sp, x10
    for (moves, is_first) in [
        (0x9100_013f, true),
        (0xcb2a_613f, true),
        (0xcb2a_63ff, false),
    ] {
        let mut text = Vec::from([0; 0x3200]);
        put(&mut text, 0x1004, &0x9400_0bff_u32.to_le_bytes()); // bl 0x4000
        // bl 0x1000; wfe; b to the one before
        let code: [u32; 4] = [moves, 0x97ff_f3ff, 0xd503_205f, 0x17ff_ffff];
        for (index, word) in code.iter().enumerate() {
            put(&mut text, 0x4000 + 4 * index, &word.to_le_bytes());
        }
        let program = Program {
            table: table(Abi::AArch64Little, &[(0x1000, 0x100, 0, 0, 1, OUTERMOST)]),
            text,
            without_rows: Vec::from([Range::new(0x4000, 0x4010)]),
            words: Words::new(&[(0x10080, 0x1008)]),
        };
        let registers = aarch64::Registers::new(0x4008, 0x10060, 3, 3);
        let (found, ..) = program.walk(registers, Fallbacks::all());
        assert_eq!(found.len(), if is_first { 1 } else { 2 }, "{moves:x}");
    }
}
