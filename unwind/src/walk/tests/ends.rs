//! Reports that leave out the middle.

extern crate std;

use std::borrow::ToOwned as _;
use std::format;
use std::string::String;
use std::vec::Vec;

use super::{TEXT, Words, X86_64, amd64};
use crate::sframe::Tables;
use crate::{Code, End, Range, Stacks, Unwinder, x86_64};

#[test]
fn a_long_report_has_two_ends() {
    // Ten frames of 32 bytes, which a trap frame interrupts in the middle.
    let mut words = Vec::from([(0x10000 + 4 * 32 + 24, 0x5008)]);
    let trap = 0x10000 + 5 * 32;
    words.extend((0..4).map(|n| (0x10000 + n * 32 + 24, 0x3010)));
    words.extend([(trap, 0x3020), (trap + 24, trap + 40), (trap + 32, 0)]);
    let rest = trap + 40;
    words.extend((0..4).map(|n| (rest + n * 32 + 24, 0x3010)));
    words.push((rest + 4 * 32 + 24, 0x1005));
    let words = Words::new(&words);
    let read = |address| words.0.get(&address).copied();
    let table = amd64();
    let ranges = [Range::new(0x10000, rest + 5 * 32)];
    let registers = x86_64::Registers::new(0x3010, 0x10000, 0);
    let code = [Code::new(X86_64, TEXT)];
    let stacks = Stacks::new(&ranges, read);
    let unwinder = Unwinder::new(Tables::new(&table, 0)).code(&code);
    let frames = unwinder.frames(registers, stacks);
    let report = |first, last| {
        let mut text = std::string::String::new();
        let report = crate::report::Backtrace::new(frames.clone(), None)
            .trap_words(&|out, frame| write!(out, "trap frame {frame:x?}"))
            .trap_lines(&|out, frame| writeln!(out, "  saved at {frame:x?}"))
            .ends(first, last);
        assert_eq!(report.write(&mut text), Ok(End::Complete));
        text
    };
    assert_eq!(
        report(2, 1),
        "   0: 0x0000000000003010 p
   1: 0x0000000000003010 r
   ----- 4 frames left out -----
   ----- trap frame Some(100a0) -----
  saved at Some(100a0)
   6: 0x0000000000003020 p
   ----- 4 frames left out -----
  11: 0x0000000000001005 r
end of backtrace: complete, 12 frames
"
    );
    assert_eq!(report(6, 6), report(20, 0));
    assert_eq!(report(6, 6).lines().count(), 12 + 3);
    assert!(report(0, 0).contains("   ----- 5 frames left out"));

    // As markup it is the same but for the lines of frames.
    let text = crate::report::Text::new(None)
        .trap_words(&|out, frame| write!(out, "trap frame {frame:x?}"))
        .trap_lines(&|out, frame| writeln!(out, "  saved at {frame:x?}"));
    let mut markup = std::string::String::new();
    let mut trace = crate::Trace::new(frames.clone()).ends(2, 1);
    let end = trace.tell(&mut |event| crate::markup::write(&mut markup, &text, event));
    assert_eq!(end, Ok(End::Complete));
    assert_eq!(
        markup,
        "{{{bt:0:0x0000000000003010:pc}}}
{{{bt:1:0x0000000000003010:ra}}}
   ----- 4 frames left out -----
   ----- trap frame Some(100a0) -----
  saved at Some(100a0)
{{{bt:6:0x0000000000003020:pc}}}
   ----- 4 frames left out -----
{{{bt:11:0x0000000000001005:ra}}}
end of backtrace: complete, 12 frames
"
    );
}

/// Frames of 32 bytes each, with these return addresses, below the outermost function's.
fn shown(returns: &[u64], ends: (u32, u32)) -> Vec<String> {
    let end = 0x10000 + (returns.len() as u64 + 1) * 32;
    let slots = (0x10018..).step_by(32);
    let words: Vec<_> = slots.zip(returns.iter().copied().chain([0x1005])).collect();
    let words = Words::new(&words);
    let read = |address| words.0.get(&address).copied();
    let table = amd64();
    let ranges = [Range::new(0x10000, end)];
    let unwinder = Unwinder::new(Tables::new(&table, 0));
    let registers = x86_64::Registers::new(0x3010, 0x10000, 0);
    let frames = unwinder.frames(registers, Stacks::new(&ranges, read));
    let mut text = String::new();
    let report = crate::report::Backtrace::new(frames, None).ends(ends.0, ends.1);
    report.write(&mut text).expect("a string takes everything");
    text.lines().map(str::to_owned).collect()
}

/// One line of a frame or of frames that are left out.
fn line(number: u64, pc: u64) -> String {
    let letter = if number == 0 { 'p' } else { 'r' };
    format!("{number:4}: {pc:#018x} {letter}")
}

#[test]
fn a_recursion_is_shown_by_its_first_and_last_frames() {
    // A function that calls itself: four frames, and the last one.
    let lines = shown(&[0x3010; 1000], (256, 32));
    let mut expected: Vec<_> = (0..5).map(|number| line(number, 0x3010)).collect();
    expected.pop();
    let first = expected.len();
    let left_out = lines.iter().position(|line| line.contains("left out"));
    assert_eq!(left_out, Some(first), "{lines:?}");
    assert_eq!(lines[..first], expected);
    let rest = [
        "   ----- 996 frames left out -----".to_owned(),
        line(1000, 0x3010),
        line(1001, 0x1005),
    ];
    assert_eq!(lines[first..first + 3], rest);
    assert!(lines[first + 3].ends_with("1002 frames"), "{lines:?}");

    // Functions that call each other, in circles of other sizes; the last ones of the circle are shown.
    for circle in [
        &[0x3010, 0x3011][..],
        &[0x3010, 0x3011, 0x3012],
        &[0x3010, 0x3011, 0x3012, 0x3013],
    ] {
        let returns: Vec<_> = circle.iter().copied().cycle().take(1200).collect();
        let lines = shown(&returns, (256, 32));
        assert!(lines.len() <= 5 * circle.len() + 4, "{lines:?}");
        let [.., last, _, _] = &lines[..] else {
            panic!("{lines:?}")
        };
        assert_eq!(*last, line(1200, circle[circle.len() - 1]));
    }
}

#[test]
fn after_a_recursion_other_frames_are_shown() {
    // Frames that differ, a recursion, frames that differ, and a short recursion.
    let others = |start: u64| (0..15).map(move |number| start + number);
    let mut returns: Vec<u64> = others(0x3021).collect();
    returns.extend([0x3010; 500]);
    returns.extend(others(0x3021));
    returns.extend([0x3010; 8]);
    let lines = shown(&returns, (256, 32));
    let left_out: Vec<_> = lines
        .iter()
        .filter(|line| line.contains("left out"))
        .collect();
    assert_eq!(left_out.len(), 1, "{lines:?}");
    assert_eq!(lines.len(), 1 + 15 + 4 + 15 + 8 + 3, "{lines:?}");
    // Both: what is left out by its number, behind a recursion.
    let lines = shown(&returns, (20, 2));
    let left_out = lines.iter().filter(|line| line.contains("left out"));
    assert_eq!(left_out.count(), 2, "{lines:?}");
}
