//! Traces that reach user code: they list all that the kernel did, end there, and say where user code was.

use crate::support::boots;
use crate::support::each::kernel_tests;
use crate::support::report::Report;
use crate::support::trace;
use qemu::build::Kernel;
use qemu::machine::Arch;

kernel_tests! { every:
    a_panic_in_a_system_call,
    a_fault_of_a_user_program,
    a_panic_in_a_handler_that_interrupted_a_user_program,
}

/// The page with the program, `user.s` of the architecture.
const PROGRAM: u64 = 0x40_0000;

/// Boots the scenario, and returns its report and the address of the user code that it has reached, from the program's begin on.
fn boot(kernel: Kernel, scenario: &str) -> (Report, u64) {
    let report = Report::find(&boots::boot(kernel, scenario).expect(101).serial);
    let last = report.frames.last().expect("a frame of user code").clone();
    assert_eq!((last.letter, last.name), ('p', None), "{}", report.text);
    let offset = last.address.checked_sub(PROGRAM);
    let offset = offset.unwrap_or_else(|| panic!("{}", report.text));
    (report, offset)
}

#[track_caller]
fn expect(kernel: Kernel, report: &Report, trace: &str) {
    let pc = report.frames.last().map_or(0, |frame| frame.address);
    let end = format!("user code reached at {pc:#018x}, complete for the kernel, ");
    trace::expect_whole(kernel, report, &format!("{trace}p -"), &end);
}

fn a_panic_in_a_system_call(kernel: Kernel) {
    let (report, pc) = boot(kernel, "user-call");
    let (words, behind) = match kernel.arch {
        Arch::X86_64 => ("system call", 2),
        Arch::Aarch64 => ("SVC, syndrome 0x56000000", 4),
    };
    let trace = format!(
        "= panic
        r kernel::scenario::user::index
        r~ kernel::scenario::user::call::{{closure#0}}
        r kernel::user::called
        = trap
        -- {words}, user code\n"
    );
    expect(kernel, &report, &trace);
    assert_eq!(pc, behind, "{}", report.text);
}

fn a_fault_of_a_user_program(kernel: Kernel) {
    let (report, pc) = boot(kernel, "user-read");
    expect(kernel, &report, "");
    let (reads, words) = match kernel.arch {
        Arch::X86_64 => (9, "page fault: read of 0x0000000000000000"),
        Arch::Aarch64 => (12, "data abort from EL0: read of 0x0000000000000000"),
    };
    assert_eq!(pc, reads, "{}", report.text);
    let first = format!("fault on cpu 0 at {:#018x}: {words}", PROGRAM + reads);
    assert!(report.panicked.starts_with(&first), "{}", report.panicked);
    assert!(!report.text.contains("code:"), "{}", report.text);
}

fn a_panic_in_a_handler_that_interrupted_a_user_program(kernel: Kernel) {
    let (report, pc) = boot(kernel, "user-interrupted");
    let trace = "= panic
        r kernel::scenario::user::index
        r~ kernel::scenario::user::interrupted::{closure#0}
        = trap
        -- timer interrupt, user code\n";
    expect(kernel, &report, trace);
    let looped = match kernel.arch {
        Arch::X86_64 => [14, 16],
        Arch::Aarch64 => [20, 24],
    };
    assert!(looped.contains(&pc), "{}", report.text);
}
