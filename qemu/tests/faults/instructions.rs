//! Instructions that raise exceptions wherever they are.

use super::{UNDEFINED, boot, complete};
use crate::support::each::kernel_tests;
use crate::support::report::Report;
use crate::support::trace;
use qemu::build::Kernel;
use qemu::machine::Arch;

kernel_tests! { every_and_both_plain:
    undefined,
    a_division_by_zero,
    a_breakpoint_returns,
    the_code_is_shown,
}

fn undefined(kernel: Kernel) {
    complete(
        kernel,
        "undefined",
        UNDEFINED,
        "p kernel::scenario::instructions::undefined",
    );
}

fn a_division_by_zero(kernel: Kernel) {
    let ran = boot(kernel, "divide").expect(101);
    let report = Report::find(&ran.serial);
    let (words, trace) = match kernel.arch {
        Arch::X86_64 => (": divide error", "p kernel::scenario::instructions::divide"),
        // No exception: a panic.
        Arch::Aarch64 => (
            ": attempt to divide by zero",
            "= panic
             r kernel::scenario::instructions::divide",
        ),
    };
    assert!(report.panicked.ends_with(words), "{}", report.panicked);
    trace::expect(kernel, &report, trace, "complete, ");
}

/// It is reported like the others, and then the program goes on as if nothing had been.
fn a_breakpoint_returns(kernel: Kernel) {
    let ran = boot(kernel, "breakpoint").expect(0);
    let report = Report::find(&ran.serial);
    assert!(
        report.panicked.starts_with("breakpoint on cpu 0 at 0xffff"),
        "{}",
        report.panicked
    );
    let trace = "p kernel::scenario::instructions::breakpoint";
    trace::expect(kernel, &report, trace, "complete, ");
    let last = report.text.lines().last();
    assert_eq!(
        last,
        Some("continued after the breakpoint with the value 0x5eed")
    );
}

/// The bytes around the program counter, with those of the failing instruction marked.
fn the_code_is_shown(kernel: Kernel) {
    let ran = boot(kernel, "undefined").expect(101);
    let marked = match kernel.arch {
        Arch::X86_64 => " <0f> 0b ",
        Arch::Aarch64 => " <00000000> ",
    };
    let text = ran.text();
    let code = text.lines().find(|line| line.starts_with("code: "));
    let code = code.unwrap_or_else(|| panic!("no code in:\n{text}"));
    assert!(code.contains(marked), "{kernel:?}: {code}");
}
