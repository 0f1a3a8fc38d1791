//! Stacks with no room left.

use super::boot;
use crate::support::each::kernel_tests;
use crate::support::report::Report;
use crate::support::{recursion, trace};
use qemu::build::Kernel;
use qemu::machine::Arch;

kernel_tests! { every_and_both_plain:
    a_recursion_that_fills_the_stack,
    a_frame_that_is_bigger_than_the_stack,
    an_exception_with_no_room_for_it,
}

fn a_recursion_that_fills_the_stack(kernel: Kernel) {
    let ran = boot(kernel, "stack-overflow").expect(101);
    let report = Report::find(&ran.serial);
    assert!(
        report.panicked.ends_with(", guard page of stack boot"),
        "{kernel:?}: {}",
        report.panicked
    );
    recursion::expect_ends(&report);
    let (report, recursion) = recursion::from_recursion(report);
    let trace = format!("{recursion}\nr kernel::scenario::overflow::recursion");
    trace::expect(kernel, &report, &trace, "complete, ");
}

fn a_frame_that_is_bigger_than_the_stack(kernel: Kernel) {
    let ran = boot(kernel, "huge-frame").expect(101);
    let report = Report::find(&ran.serial);
    assert!(
        report.panicked.ends_with(", guard page of stack boot"),
        "{kernel:?}: {}",
        report.panicked
    );
    let trace = "p kernel::scenario::overflow::huge
                 r kernel::scenario::overflow::huge_frame";
    trace::expect(kernel, &report, trace, "complete, ");
}

/// The handler of a breakpoint fills the stack it runs on; the report comes from a third.
fn an_exception_with_no_room_for_it(kernel: Kernel) {
    let ran = boot(kernel, "double-fault").expect(101);
    let report = Report::find(&ran.serial);
    let (words, stack, boundary) = match kernel.arch {
        Arch::X86_64 => (
            "double fault, last page-fault address ",
            "boot",
            "breakpoint",
        ),
        Arch::Aarch64 => (
            "no space left on the stack: data abort: write to ",
            "exception",
            "breakpoint 0x0",
        ),
    };
    assert!(report.panicked.contains(words), "{}", report.panicked);
    let guard = format!(", guard page of stack {stack}");
    assert!(report.panicked.ends_with(&guard), "{}", report.panicked);
    recursion::expect_ends(&report);
    let (report, recursion) = recursion::from_recursion(report);
    let handler = "kernel::scenario::nested::no_stack_for_handler";
    let trace = format!(
        "{recursion}
         r~ {handler}::{{closure#0}}
         = trap
         -- {boundary}, stack boot
         p {handler}"
    );
    trace::expect(kernel, &report, &trace, "complete, ");
}
