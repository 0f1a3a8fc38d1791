//! Walks of which not all is known: what the code is, or where the stack begins.

extern crate std;

use super::{amd64, is_complete, is_in_doubt, one_call, text, walk, x86_branch};
use crate::sframe::Tables;
use crate::verdict::How::LinkRegister;
use crate::{Code, End, Range, Unbounded, Unwinder, x86_64};

#[test]
fn without_bytes_of_code_nothing_is_complete() {
    let range = Range::new(0x1000, 0x3000);
    let ranges = [Code::without_bytes(range)];
    for code in [&[][..], &ranges] {
        let walked = one_call(code, 0x2110, 0x1005);
        is_in_doubt(&walked, &[0x2110, 0x1005], End::CallsUnchecked);
        assert!(
            walked.report.ends_with(
                "outermost function reached, from frame 1 on in doubt (calls were not checked, because the bytes of the code are unavailable), 2 frames\n"
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
