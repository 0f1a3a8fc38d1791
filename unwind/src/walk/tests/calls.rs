//! Return addresses and the calls before them: by stacks of a few words and code of a few instructions.

extern crate std;

use std::string::String;
use std::vec::Vec;
use std::{format, vec};

use super::{STACK, Words, table};
use crate::sframe::{Abi, Tables};
use crate::verdict::How::{FramePointer, LinkRegister, SFrame, Scan};
use crate::{
    Code, Doubt, End, How, Range, RegisterSet, Stacks, Unbounded, Unwinder, aarch64, x86_64,
};

/// Entry at 0x1000; functions of 24 bytes of locals at 0x2000, 0x2100, and so on to 0x2b00. x86-64.
fn amd64() -> Vec<u8> {
    let mut functions = vec![(0x1000, 0x100, 0, 0, 1, super::OUTERMOST)];
    let starts = (0x2000..0x2c00).step_by(0x100);
    functions.extend(starts.map(|start| (start, 0x40, 0, 0, 1, &[0x00, 0x03, 0x20][..])));
    table(Abi::Amd64, &functions)
}

/// Entry at 0x1000; leaves at 0x2000, 0x2100, and so on. AArch64.
fn arm() -> Vec<u8> {
    let mut functions = vec![(0x1000, 0x100, 0, 0, 1, super::OUTERMOST)];
    let starts = (0x2000..0x2c00).step_by(0x100);
    functions.extend(starts.map(|start| (start, 0x40, 0, 0, 1, &[0x00, 0x03, 0x00][..])));
    table(Abi::AArch64Little, &functions)
}

/// Code from 0x1000 to 0x3000: nothing, but these instructions.
fn text(instructions: &[(u64, &[u8])]) -> [u8; 0x2000] {
    let mut text = [0; 0x2000];
    for (at, bytes) in instructions {
        let at = (*at - 0x1000) as usize;
        text[at..at + bytes.len()].copy_from_slice(bytes);
    }
    text
}

/// `call`, `jmp` or, with 0x84, `je`, from one address to another.
fn x86_branch(opcode: u8, from: u64, to: u64) -> Vec<u8> {
    let mut bytes = vec![opcode];
    if opcode == 0x84 {
        bytes.insert(0, 0x0f);
    }
    let distance = to as i32 - (from as i32 + bytes.len() as i32 + 4);
    bytes.extend(distance.to_le_bytes());
    bytes
}

fn a64_branch(opcode: u32, from: u64, to: u64) -> [u8; 4] {
    let distance = (to as i32 - from as i32) / 4;
    (opcode | distance as u32 & 0x03ff_ffff).to_le_bytes()
}

/// A frame, whatever its registers.
struct Frame {
    pc: u64,
    how: How,
    tail_call: Option<u64>,
}

struct Walked {
    frames: Vec<Frame>,
    end: End,
    doubt: Option<Doubt>,
    report: String,
}

impl Walked {
    fn pcs(&self) -> Vec<u64> {
        self.frames.iter().map(|frame| frame.pc).collect()
    }
}

fn walk<R: RegisterSet>(
    table: &[u8],
    code: &[Code<'_>],
    registers: R,
    words: &[(u64, u64)],
) -> Walked {
    let words = Words::new(words);
    let read = |address| words.0.get(&address).copied();
    let stacks = Stacks::new(&STACK, read);
    let unwinder = Unwinder::new(Tables::new(table, 0)).code(code);
    let mut frames = unwinder.frames(registers, stacks);
    let report = format!("{}", crate::report::Backtrace::new(frames.clone(), None));
    Walked {
        frames: frames
            .by_ref()
            .map(|frame| Frame {
                pc: frame.pc,
                how: frame.how,
                tail_call: frame.tail_call,
            })
            .collect(),
        end: frames.end().expect("an ended walk has a reason"),
        doubt: frames.doubt(),
        report,
    }
}

/// The function at 0x2000 + `offset`, whose caller's return address is `return_address`, in the outermost function.
fn one_call(code: &[Code<'_>], pc: u64, return_address: u64) -> Walked {
    let registers = x86_64::Registers::new(pc, 0x100e0, 0);
    walk(&amd64(), code, registers, &[(0x100f8, return_address)])
}

#[track_caller]
fn is_complete(walked: &Walked, pcs: &[u64], tail_call: Option<u64>) {
    assert_eq!(walked.pcs(), pcs);
    assert_eq!((walked.end, walked.doubt), (End::Complete, None));
    let last = walked.frames.last().expect("a frame");
    assert_eq!((last.how, last.tail_call), (SFrame, tail_call));
}

#[track_caller]
fn is_in_doubt(walked: &Walked, pcs: &[u64], reason: End) {
    assert_eq!(walked.pcs(), pcs);
    assert_eq!(walked.end, End::Outermost);
    let doubt = walked.doubt.expect("a doubt");
    assert_eq!((doubt.frame, doubt.how, doubt.reason), (1, SFrame, reason));
    let last = walked.frames.last().expect("a frame");
    assert_eq!(last.tail_call, None);
}

#[test]
fn a_call_of_the_function_or_through_a_pointer_is_complete() {
    let call = x86_branch(0xe8, 0x1000, 0x2100);
    let calls = text(&[(0x1000, &call), (0x1010, &[0xff, 0x53, 0x18])]);
    let code = [Code::new(&calls, 0x1000)];
    // At its first instruction, in the middle, at its end.
    for pc in [0x2100, 0x2110, 0x213f] {
        is_complete(&one_call(&code, pc, 0x1005), &[pc, 0x1005], None);
        is_complete(&one_call(&code, pc, 0x1013), &[pc, 0x1013], None);
    }
    // `call rax`, before it what may as well be the opcode of a direct call, which leads nowhere.
    let text = text(&[(0x1010, &[0xe8, 0, 0, 0xff, 0xd0])]);
    let code = [Code::new(&text, 0x1000)];
    is_complete(&one_call(&code, 0x2110, 0x1015), &[0x2110, 0x1015], None);
}

#[test]
fn a_word_that_no_call_left_is_not_followed() {
    let call = x86_branch(0xe8, 0x2010, 0x2100);
    let text = text(&[(0x2010, &call), (0x2030, &call)]);
    let code = [Code::new(&text, 0x1000)];
    // The scan finds the word that a call left, and not the address of a function or of anything else in code.
    let words: Vec<_> = (0x10080..0x10100)
        .step_by(8)
        .map(|at| match at {
            0x10098 => (at, 0x2200),
            0x100a0 => (at, 0x2320),
            0x100b0 => (at, 0x2015),
            0x100b8 => (at, 0x2034),
            0x100c8 => (at, 0x2035),
            _ => (at, 0),
        })
        .collect();
    let registers = x86_64::Registers::new(0x2100, 0x10080, 3);
    let walked = walk(&amd64(), &code, registers, &words);
    assert_eq!(walked.pcs(), [0x2100, 0x2015, 0x2035]);
    assert!(walked.frames[1..].iter().all(|frame| frame.how == Scan));
    assert_eq!(walked.end, End::NoCall(0x2200));
    assert!(
        walked.report.ends_with(
            "end of backtrace: incomplete: no call before the return address 0x0000000000002200, from frame 1 on by \
             scanning, 3 frames\n"
        ),
        "{}",
        walked.report
    );

    // Nor is one inside of a function that has a caller.
    let walked = one_call(&code, 0x2100, 0x2220);
    assert_eq!(walked.pcs(), [0x2100]);
    assert_eq!(walked.end, End::NoCall(0x2220));

    // A frame record that a call left is believed, and no other.
    let registers = x86_64::Registers::new(0x2100, 0x10080, 0x100a8);
    let mut words = words;
    let walked = walk(&amd64(), &code, registers, &words);
    assert_eq!(walked.frames[1].how, FramePointer);
    assert_eq!(walked.frames[1].pc, 0x2015);
    words[6].1 = 0x2200;
    assert_eq!(words[6].0, 0x100b0);
    let walked = walk(&amd64(), &code, registers, &words);
    assert_eq!(walked.frames[1].how, Scan);
}

/// As kernels make the first frame of a task.
#[test]
fn a_made_up_return_address_to_the_outermost_function_is_listed_in_doubt() {
    let text = text(&[]);
    let code = [Code::new(&text, 0x1000)];
    let walked = one_call(&code, 0x2100, 0x1001);
    is_in_doubt(&walked, &[0x2100, 0x1001], End::NoCall(0x1001));
}

#[test]
fn a_call_of_another_function_is_a_doubt() {
    let call = x86_branch(0xe8, 0x1000, 0x2200);
    // That function calls, and jumps to and fro in itself, and to a third.
    let inside = x86_branch(0xe9, 0x2205, 0x2230);
    let other = x86_branch(0xe8, 0x2210, 0x2100);
    let third = x86_branch(0x84, 0x2220, 0x2300);
    let text = text(&[
        (0x1000, &call),
        (0x2205, &inside),
        (0x2210, &other),
        (0x2220, &third),
        (0x223f, &[0xc3]),
        (0x233f, &[0xc3]),
    ]);
    let code = [Code::new(&text, 0x1000)];
    let walked = one_call(&code, 0x2110, 0x1005);
    is_in_doubt(
        &walked,
        &[0x2110, 0x1005],
        End::CalledElsewhere(0x1005, 0x2200),
    );
    assert!(
        walked.report.ends_with(
            "   1: 0x0000000000001005 r\nend of backtrace: outermost function reached, from frame 1 on in doubt (the \
             call before 0x0000000000001005 leads to 0x0000000000002200, not to the function of the frame), 2 frames\n"
        ),
        "{}",
        walked.report
    );
    // What lies right behind the function is another one.
    let call = x86_branch(0xe8, 0x1000, 0x2140);
    let behind = self::text(&[(0x1000, &call)]);
    let walked = one_call(&[Code::new(&behind, 0x1000)], 0x2110, 0x1005);
    let reason = End::CalledElsewhere(0x1005, 0x2140);
    is_in_doubt(&walked, &[0x2110, 0x1005], reason);
    // Nor is code that lies nowhere.
    let code = [Code::new(&text[..0x1000], 0x1000)];
    let walked = one_call(&code, 0x2110, 0x1005);
    assert_eq!(walked.end, End::Outermost);
}

#[test]
fn tail_calls_lead_on() {
    let call = x86_branch(0xe8, 0x1000, 0x2200);
    let to = |opcode, from, to| (from, x86_branch(opcode, from, to));
    // One, by a jump that is taken at times; two; one through a pointer; one by running on; and one from where no table is.
    let cases: [&[(u64, Vec<u8>)]; 7] = [
        &[to(0x84, 0x2210, 0x2100)],
        &[to(0xe9, 0x2210, 0x2320), to(0xe9, 0x2301, 0x2100)],
        &[(0x2230, vec![0xff, 0xe0])],
        // Behind `add rsp, 0x78`.
        &[
            to(0xe9, 0x2210, 0x2100),
            (0x220c, vec![0x48, 0x83, 0xc4, 0x78]),
        ],
        &[to(0xe9, 0x2210, 0x2140), (0x20c0, vec![0xc3])],
        // Behind `mov al, 0xe9`, whose last byte looks like a jump out of all code.
        &[to(0xe9, 0x2210, 0x2100), (0x220e, vec![0xb0, 0xe9])],
        &[to(0xe9, 0x2210, 0x20f8), (0x20f8, vec![0x90; 8])],
    ];
    for (number, jumps) in cases.into_iter().enumerate() {
        let mut all: Vec<(u64, &[u8])> = vec![(0x1000, &call), (0x223f, &[0xc3])];
        all.extend(jumps.iter().map(|(at, bytes)| (*at, &bytes[..])));
        let text = text(&all);
        let code = [Code::new(&text, 0x1000)];
        let walked = one_call(&code, 0x2110, 0x1005);
        if number == 4 {
            // What lies behind the function's end is none of it.
            is_in_doubt(
                &walked,
                &[0x2110, 0x1005],
                End::CalledElsewhere(0x1005, 0x2200),
            );
            continue;
        }
        is_complete(&walked, &[0x2110, 0x1005], Some(0x2200));
        assert_eq!(
            walked.report,
            "   0: 0x0000000000002110 p
        reached by a tail call from 0x0000000000002200
   1: 0x0000000000001005 r
end of backtrace: complete, 2 frames
"
        );
    }
}

/// A chain of more functions than are searched: not shown, not claimed.
#[test]
fn the_search_has_bounds() {
    for (length, found) in [(7, true), (8, true), (9, false)] {
        let starts: Vec<u64> = (0..length).map(|n| 0x2200 + 0x100 * n).collect();
        let mut all = vec![(0x1000, x86_branch(0xe8, 0x1000, 0x2200))];
        for (n, start) in starts.iter().enumerate() {
            let next = starts.get(n + 1).copied().unwrap_or(0x2100);
            all.push((*start, x86_branch(0xe9, *start, next)));
            all.push((start + 0x3f, vec![0xc3]));
        }
        let all: Vec<(u64, &[u8])> = all.iter().map(|(at, b)| (*at, &b[..])).collect();
        let text = text(&all);
        let walked = one_call(&[Code::new(&text, 0x1000)], 0x2110, 0x1005);
        assert_eq!(walked.end.is_complete(), found, "{length}");
    }
}

#[test]
fn an_arm_leaf_is_reached_by_tail_calls_too() {
    let bl = a64_branch(0x9400_0000, 0x1004, 0x2200);
    let b = a64_branch(0x1400_0000, 0x2208, 0x2300);
    let conditional =
        (0x5400_0000_u32 | (((0x2100_i32 - 0x2310) / 4) << 5) as u32 & 0x00ff_ffe0).to_le_bytes();
    let ret = 0xd65f_03c0_u32.to_le_bytes();
    let whole: [(u64, &[u8]); 5] = [
        (0x1004, &bl),
        (0x2208, &b),
        (0x223c, &ret),
        (0x2310, &conditional),
        (0x233c, &ret),
    ];
    let leaf = |instructions: &[(u64, &[u8])]| {
        let text = text(instructions);
        let registers = aarch64::Registers::new(0x2104, 0x10100, 0, 0x1008);
        walk(&arm(), &[Code::new(&text, 0x1000)], registers, &[])
    };
    is_complete(&leaf(&whole), &[0x2104, 0x1008], Some(0x2200));
    let without_last = leaf(&whole[..3]);
    is_in_doubt(
        &without_last,
        &[0x2104, 0x1008],
        End::CalledElsewhere(0x1008, 0x2200),
    );
    let through_register = 0xd61f_0200_u32.to_le_bytes();
    let indirect = leaf(&[(0x1004, &bl), (0x2208, &through_register)]);
    is_complete(&indirect, &[0x2104, 0x1008], Some(0x2200));
}

/// What was interrupted there is no instruction, so the row says nothing of its frame.
#[test]
fn an_arm_program_counter_is_that_of_an_instruction() {
    let bl = a64_branch(0x9400_0000, 0x1004, 0x2100);
    let text = text(&[(0x1004, &bl)]);
    let code = [Code::new(&text, 0x1000)];
    let from = |pc| {
        let registers = aarch64::Registers::new(pc, 0x10100, 0, 0x1008);
        walk(&arm(), &code, registers, &[])
    };
    is_complete(&from(0x2104), &[0x2104, 0x1008], None);
    for pc in [0x2105, 0x2106, 0x2107] {
        let doubt = from(pc).doubt.expect("a doubt");
        assert_eq!((doubt.how, doubt.reason), (LinkRegister, End::BadPc(pc)));
    }
}

#[test]
fn without_bytes_of_code_nothing_is_complete() {
    let range = Range::new(0x1000, 0x3000);
    let ranges = [Code::without_bytes(range)];
    for code in [&[][..], &ranges] {
        let walked = one_call(code, 0x2110, 0x1005);
        is_in_doubt(&walked, &[0x2110, 0x1005], End::CallsUnchecked);
        assert!(
            walked.report.ends_with(
                "outermost function reached, from frame 1 on in doubt (calls were not checked, as the code is not \
                 known), 2 frames\n"
            ),
            "{}",
            walked.report
        );
    }
    let walked = one_call(&ranges, 0x2110, 0x4005);
    assert_eq!(walked.pcs(), [0x2110]);
    assert_eq!(walked.end, End::BadReturnAddress(0x4005));
    // Where code is what the table covers, the look-up of that frame tells; but nothing returns to 0.
    let walked = one_call(&[], 0x2110, 0x4005);
    assert_eq!(walked.pcs(), [0x2110, 0x4005]);
    assert_eq!(walked.end, End::BadReturnAddress(0x4005));
    let walked = one_call(&[], 0x2110, 0);
    assert_eq!(walked.pcs(), [0x2110]);
    assert_eq!(walked.end, End::BadReturnAddress(0));
    // Of ranges that overlap, the first one counts.
    let call = x86_branch(0xe8, 0x1000, 0x2100);
    let text = text(&[(0x1000, &call)]);
    let [known, unknown] = [Code::new(&text, 0x1000), Code::without_bytes(range)];
    let walked = one_call(&[unknown, known], 0x2110, 0x1005);
    is_in_doubt(&walked, &[0x2110, 0x1005], End::CallsUnchecked);
    let walked = one_call(&[known, unknown], 0x2110, 0x1005);
    is_complete(&walked, &[0x2110, 0x1005], None);
    // The outermost function alone: there is no call to check.
    let registers = x86_64::Registers::new(0x1010, 0x10100, 0);
    let walked = walk(&amd64(), &[], registers, &[]);
    assert_eq!((walked.end, walked.doubt), (End::Complete, None));
    // Another doubt says more.
    let registers = x86_64::Registers::new(0, 0x100d0, 0x100d8);
    let words = [(0x100d0, 0x2015), (0x100d8, 0), (0x100f0, 0x1005)];
    let walked = walk(&amd64(), &ranges, registers, &words);
    assert_eq!(walked.doubt.map(|doubt| doubt.how), Some(LinkRegister));
}

/// Nobody has said where its stacks begin.
#[test]
fn a_walk_over_unbounded_memory_is_not_complete() {
    let call = x86_branch(0xe8, 0x1000, 0x2100);
    let text = text(&[(0x1000, &call)]);
    let code = [Code::new(&text, 0x1000)];
    let table = amd64();
    let registers = x86_64::Registers::new(0x2100, 0x100e0, 0);
    let read = |address| (address == 0x100f8).then_some(0x1005);
    let unwinder = Unwinder::new(Tables::new(&table, 0)).code(&code);
    let mut frames = unwinder.frames(registers, Unbounded(read));
    assert_eq!(frames.by_ref().count(), 2);
    assert_eq!(frames.end(), Some(End::NotAtBase(0x10100)));
}
