//! Reports that leave out the middle.

extern crate std;

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
