//! Memory that may not be accessed so, and code that is not there.

use super::{Expected, complete};
use crate::support::each::kernel_tests;
use qemu::build::Kernel;

kernel_tests! { every_and_both_plain:
    null_read,
    write_to_code,
    misaligned,
    not_canonical,
    null_call,
    wild_jump,
    call_data,
}

fn null_read(kernel: Kernel) {
    complete(
        kernel,
        "null-read",
        [
            "page fault: read of 0x0000000000000000, not mapped",
            "data abort: read of 0x0000000000000000, translation fault level 0",
        ],
        "p kernel::scenario::access::null_read",
    );
}

fn write_to_code(kernel: Kernel) {
    complete(
        kernel,
        "write-to-code",
        [
            "page fault: write to 0xffffffff80",
            "data abort: write to 0xffff00004",
        ],
        "p kernel::scenario::access::write_to_code",
    );
}

fn misaligned(kernel: Kernel) {
    complete(
        kernel,
        "misaligned",
        ["general protection", "data abort: read of 0xffff0000"],
        "p kernel::scenario::access::misaligned",
    );
}

fn not_canonical(kernel: Kernel) {
    complete(
        kernel,
        "not-canonical",
        [
            "general protection",
            "data abort: read of 0x123456789abcdef0, translation fault level 0",
        ],
        "p kernel::scenario::access::not_canonical",
    );
}

/// A call or a jump to an address without code: its frame has no name, and its caller is where the call left it.
#[track_caller]
fn no_code(
    kernel: Kernel,
    scenario: &'static str,
    words: [&'static str; 2],
    trace: &'static str,
    end: &'static str,
) {
    Expected {
        scenario,
        words,
        trace: [trace; 2],
        end: [end; 2],
    }
    .check(kernel);
}

fn null_call(kernel: Kernel) {
    no_code(
        kernel,
        "null-call",
        [
            "page fault: execution of 0x0000000000000000, not mapped",
            "instruction abort: execution of 0x0000000000000000, translation fault level 0",
        ],
        "p -
         l kernel::scenario::access::null_call",
        "outermost function reached, from frame 1 on by link register (the program counter is null), ",
    );
}

fn wild_jump(kernel: Kernel) {
    no_code(
        kernel,
        "wild-jump",
        [
            "page fault: execution of 0x00000000dead0000, not mapped",
            "instruction abort: execution of 0x00000000dead0000, translation fault level 0",
        ],
        "p -
         l kernel::scenario::access::wild_jump",
        "outermost function reached, from frame 1 on by link register (the program counter 0x00000000dead0000 is outside \
         all known code), ",
    );
}

fn call_data(kernel: Kernel) {
    no_code(
        kernel,
        "call-data",
        [
            "page fault: execution of 0xffffffff80",
            "instruction abort: execution of 0xffff00004",
        ],
        "p -
         l kernel::scenario::access::call_data",
        "outermost function reached, from frame 1 on by link register (the program counter 0xffff",
    );
}
