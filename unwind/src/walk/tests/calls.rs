//! Return addresses and the calls before them: by stacks of a few words and code of a few instructions.

extern crate std;

use std::string::String;
use std::vec::Vec;
use std::{format, vec};

use super::{STACK, Words, table};
use crate::sframe::{Abi, Tables};
use crate::verdict::How::{FramePointer, LinkRegister, SFrame, Scan};
use crate::{Code, Doubt, End, How, RegisterSet, Stacks, Unwinder, aarch64, x86_64};

mod tail_calls;
mod unknown;

/// Entries at 0x1000 and 0x1800; functions of 24 bytes of locals at 0x2000, 0x2100, and so on to 0x2b00. x86-64.
fn amd64() -> Vec<u8> {
    let mut functions =
        Vec::from([0x1000, 0x1800].map(|start| (start, 0x100, 0, 0, 1, super::OUTERMOST)));
    let starts = (0x2000..0x2c00).step_by(0x100);
    functions.extend(starts.map(|start| (start, 0x40, 0, 0, 1, &[0x00, 0x03, 0x20][..])));
    // One without rows.
    functions.push((0x2c00, 0x10, 0, 0, 0, &[]));
    table(Abi::Amd64, &functions)
}

/// Entries at 0x1000 and 0x1800; leaves at 0x2000, 0x2100, and so on. AArch64.
fn arm() -> Vec<u8> {
    let mut functions =
        Vec::from([0x1000, 0x1800].map(|start| (start, 0x100, 0, 0, 1, super::OUTERMOST)));
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

/// `call 0x6504`, whose last four bytes are `call [rax + rax]`: the first, if a function begins there.
#[test]
fn a_call_of_another_function_is_no_indirect_one() {
    let call = x86_branch(0xe8, 0x1000, 0x6504);
    assert_eq!(call[1..], [0xff, 0x54, 0, 0]);
    let text = text(&[(0x1000, &call)]);
    for (start, reason) in [
        (0x6504, Some(End::CalledElsewhere(0x1005, 0x6504))),
        (0x6500, None),
    ] {
        let functions = [
            (0x1000, 0x100, 0, 0, 1, super::OUTERMOST),
            (0x2100, 0x40, 0, 0, 1, &[0x00, 0x03, 0x20][..]),
            (start, 0x40, 0, 0, 1, &[0x00, 0x03, 0x20]),
        ];
        let table = table(Abi::Amd64, &functions);
        let registers = x86_64::Registers::new(0x2110, 0x100e0, 0);
        let code = [Code::new(&text, 0x1000)];
        let walked = walk(&table, &code, registers, &[(0x100f8, 0x1005)]);
        match reason {
            Some(reason) => is_in_doubt(&walked, &[0x2110, 0x1005], reason),
            None => is_complete(&walked, &[0x2110, 0x1005], None),
        }
    }
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
            "end of backtrace: incomplete: no call instruction precedes the return address 0x0000000000002200, from frame 1 on by \
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
    // Its first instruction, also where another function ends right before, and one inside of it.
    for address in [0x1800, 0x1801] {
        let walked = one_call(&code, 0x2100, address);
        is_in_doubt(&walked, &[0x2100, address], End::NoCall(address));
        let frame = format!("   1: {address:#018x} p\n");
        assert!(walked.report.contains(&frame), "{}", walked.report);
    }
}

/// The byte before an address that no call precedes belongs to the function that is placed before, by chance.
#[test]
fn a_made_up_return_address_right_after_the_outermost_function_is_not_of_it() {
    let text = text(&[]);
    let code = [Code::new(&text, 0x1000)];
    let walked = one_call(&code, 0x2100, 0x1100);
    assert_eq!(walked.pcs(), [0x2100]);
    assert_eq!(walked.end, End::NoCall(0x1100));

    // The same in the link register.
    let registers = aarch64::Registers::new(0x2100, 0x10080, 0, 0x1100);
    let walked = walk(&arm(), &code, registers, &[]);
    assert_eq!(walked.pcs(), [0x2100]);
    assert_eq!(walked.end, End::NoCall(0x1100));
    let registers = aarch64::Registers::new(0x2100, 0x10100, 0, 0x1800);
    let walked = walk(&arm(), &code, registers, &[]);
    is_in_doubt(&walked, &[0x2100, 0x1800], End::NoCall(0x1800));
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
            "   1: 0x0000000000001005 r\nend of backtrace: outermost function reached, from frame 1 on in doubt \
             (return address 0x0000000000001005 does not follow a call to the function in the previous frame, but a call to 0x0000000000002200), 2 frames\n"
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
