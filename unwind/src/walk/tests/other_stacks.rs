//! Steps by a row that lead to another stack.

use super::{TEXT, Words, X86_64, amd64};
use crate::sframe::Tables;
use crate::{Code, Doubt, End, How, Range, Stacks, Unwinder, x86_64};

/// The frame pointer of the first frame is in the stack at 0x200000.
const REGISTERS: x86_64::Registers = x86_64::Registers::new(0x2050, 0x10080, 0x20_0010);
const OTHER: Range = Range::new(0x20_0000, 0x20_0050);

fn words() -> Words {
    Words::new(&[
        (0x20_0010, 0x20_0040),
        (0x20_0018, 0x2050),
        (0x20_0040, 0),
        (0x20_0048, 0x1005),
    ])
}

const fn doubt(reason: End) -> Option<Doubt> {
    Some(Doubt {
        frame: 1,
        how: How::SFrame,
        reason,
    })
}

/// A function that has gone to another stack left the end of an empty one. A frame pointer of another task, found on a stack whose frames
/// follow above, leads to callers that did not call.
#[test]
fn a_stack_is_left_by_a_row_at_its_end_only() {
    let (table, words) = (amd64(), words());
    let read = |address| words.0.get(&address).copied();
    let code = [Code::new(X86_64, TEXT)];
    let unwinder = Unwinder::new(Tables::new(&table, 0)).code(&code);
    for (end, expected) in [
        (0x10080, None),
        (0x10088, doubt(End::LeftStack(0x10080))),
        (0x10100, doubt(End::LeftStack(0x10080))),
    ] {
        let ranges = [Range::new(0x10000, end), OTHER];
        let mut frames = unwinder.frames(REGISTERS, Stacks::new(&ranges, read));
        assert_eq!(frames.by_ref().count(), 3);
        assert_eq!(frames.doubt(), expected, "{end:#x}");
        let verdict = match expected {
            None => End::Complete,
            Some(_) => End::Outermost,
        };
        assert_eq!(frames.end(), Some(verdict), "{end:#x}");
    }
}
