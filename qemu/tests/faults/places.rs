//! An instruction in each place of a function where its frame looks different.

use super::{UNDEFINED, boot, complete};
use crate::support::each::kernel_tests;
use crate::support::report::Report;
use qemu::build::{Kernel, Profile};

kernel_tests! { every_and_both_plain:
    at_the_first_instruction,
    before_the_prologue,
    in_a_prologue,
    in_an_epilogue,
    after_a_tail_call,
    called_by_a_last_instruction,
    a_frame_of_variable_size,
    a_realigned_frame,
}

fn at_the_first_instruction(kernel: Kernel) {
    complete(
        kernel,
        "first-instruction",
        UNDEFINED,
        "p bad_first
         r kernel::scenario::places::first_instruction",
    );
}

fn before_the_prologue(kernel: Kernel) {
    complete(
        kernel,
        "leaf",
        UNDEFINED,
        "p bad_leaf
         r kernel::scenario::places::leaf",
    );
}

fn in_a_prologue(kernel: Kernel) {
    complete(
        kernel,
        "prologue",
        UNDEFINED,
        "p bad_prologue
         r kernel::scenario::places::prologue",
    );
}

fn in_an_epilogue(kernel: Kernel) {
    complete(
        kernel,
        "epilogue",
        UNDEFINED,
        "p bad_epilogue
         r kernel::scenario::places::epilogue",
    );
}

/// The function that ended with a jump has no frame any more, and is named all the same: by the call.
fn after_a_tail_call(kernel: Kernel) {
    complete(
        kernel,
        "tail-call",
        UNDEFINED,
        "p bad_first
         r kernel::scenario::places::tail_call",
    );
    if kernel.profile != Profile::Plain {
        let ran = boot(kernel, "tail-call").expect(101);
        let report = Report::find(&ran.serial);
        let said: Vec<_> = report
            .frames
            .iter()
            .map(|frame| frame.tail_called_by.as_deref())
            .collect();
        assert_eq!(
            said[0],
            Some("bad_tail_call"),
            "{kernel:?}: {}",
            report.text
        );
        // A compiler may have made others, of functions that it did not make part of their callers.
        if kernel.profile == Profile::Debug {
            assert!(said[1..].iter().all(Option::is_none), "{}", report.text);
        }
    }
}

fn called_by_a_last_instruction(kernel: Kernel) {
    complete(
        kernel,
        "last-call",
        UNDEFINED,
        "p bad_first
         r bad_last_call
         r kernel::scenario::places::last_call",
    );
}

fn a_frame_of_variable_size(kernel: Kernel) {
    complete(
        kernel,
        "variable-frame",
        UNDEFINED,
        "p bad_first
         r bad_variable_frame
         r kernel::scenario::places::variable_frame",
    );
}

fn a_realigned_frame(kernel: Kernel) {
    complete(
        kernel,
        "realigned-frame",
        UNDEFINED,
        "p kernel::scenario::places::realigned_frame",
    );
}
