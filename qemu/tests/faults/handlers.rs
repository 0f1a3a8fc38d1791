//! Exceptions and panics in the handlers of others.

use super::{COMPLETE, Expected, boot};
use crate::support::each::kernel_tests;
use crate::support::report::Report;
use crate::support::trace;
use qemu::build::Kernel;
use qemu::machine::Arch;

kernel_tests! { every_and_both_plain:
    an_exception_in_a_handler,
    a_panic_in_a_handler,
}

/// Trap code, called by nobody, is between the handler and what it interrupted.
fn an_exception_in_a_handler(kernel: Kernel) {
    Expected {
        scenario: "exception-in-handler",
        words: [
            "page fault: read of 0x0000000000000000, not mapped",
            "data abort: read of 0x0000000000000000, translation fault level 0",
        ],
        trace: [
            "p kernel::scenario::nested::handler
             r~ kernel::scenario::nested::exception_in_handler::{closure#0}
             = trap
             -- breakpoint, stack boot
             p kernel::scenario::nested::exception_in_handler",
            "p kernel::scenario::nested::handler
             r~ kernel::scenario::nested::exception_in_handler::{closure#0}
             = trap
             -- breakpoint 0x0, stack boot
             p kernel::scenario::nested::exception_in_handler",
        ],
        end: COMPLETE,
    }
    .check(kernel);
}

fn a_panic_in_a_handler(kernel: Kernel) {
    let ran = boot(kernel, "panic-in-handler").expect(101);
    let report = Report::find(&ran.serial);
    let boundary = match kernel.arch {
        Arch::X86_64 => "breakpoint",
        Arch::Aarch64 => "breakpoint 0x0",
    };
    let handler = "kernel::scenario::nested::panic_in_handler";
    let trace = format!(
        "= panic
         r kernel::scenario::nested::index
         r~ {handler}::{{closure#0}}
         = trap
         -- {boundary}, stack boot
         p {handler}"
    );
    trace::expect(kernel, &report, &trace, "complete, ");
}
