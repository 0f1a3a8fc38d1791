//! Several CPUs: all are started, and one that reports stops and traces the others, on both architectures, in debug and
//! release.

mod ended;
mod started;

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::at_entry;
use crate::support::boots::{Request, boot_machine};
use crate::support::built::{emulator, image};
use crate::support::each::kernel_tests;
use crate::support::monitor;
use crate::support::report::Report;
use crate::support::runner::Ran;
use crate::support::trace;
use qemu::build::{Kernel, Profile};
use qemu::machine::{Arch, Boot, Verdict};
use qemu::workspace;

kernel_tests! { every_and_plain:
    an_nmi_in_a_tight_loop_is_reported_for_all_and_returns,
    a_panic_is_reported_while_another_cpu_holds_the_console,
    two_panics_at_once_are_two_whole_reports,
    two_breakpoints_at_once_are_two_whole_reports,
    a_cpu_that_does_not_answer_is_named,
    a_hang_with_interrupts_masked_is_found_by_another_cpu,
}

fn boot(kernel: Kernel, cpus: u32, scenario: &str) -> Ran {
    Request::of(&image(kernel), scenario).cpus(cpus).run()
}

/// The reports of so many CPUs, each whole: complete, and from its CPU's entry function on.
#[track_caller]
fn reports(kernel: Kernel, ran: &Ran, count: usize) -> Vec<Report> {
    let reports = Report::find_all(&ran.serial);
    assert_eq!(
        reports.len(),
        count,
        "{kernel:?}: reports in:\n{}",
        ran.text()
    );
    for report in &reports {
        report.expect_complete();
        let entry = report.names().last().copied();
        let entries = ["kernel_entry", "start_entry", "start_high"];
        assert!(
            entry.is_some_and(|name| entries.contains(&name)),
            "{entry:?} in:\n{}",
            ran.text()
        );
    }
    reports
}

/// Fails unless the report is exactly this trace: of CPU 0, from the kernel's entry on; of another one, of what it was
/// given to do by the closure, or else the function, that has this name.
#[track_caller]
fn expect_trace(kernel: Kernel, report: &Report, trace: &str, job: Option<&str>) {
    let Some(job) = job else {
        trace::expect(kernel, report, trace, "complete, ");
        return;
    };
    let letters = match job.contains("{closure") {
        true => "r~",
        false => "r",
    };
    let whole = format!("{trace}\n{letters} {job}\n= cpu");
    trace::expect_whole(kernel, report, &whole, "complete, ");
}

const PANIC: &str = "= panic";

const LOOP: &str = "
    p bad_loop
    r kernel::scenario::others::tight_loop
";

#[track_caller]
fn expect_name(report: &Report, name: &str) {
    assert!(
        report.names().contains(&name),
        "no {name} in {:?}",
        report.names()
    );
}

fn an_nmi_in_a_tight_loop_is_reported_for_all_and_returns(kernel: Kernel) {
    let ran = boot(kernel, 2, "nmi").expect(0);
    let reports = reports(kernel, &ran, 2);
    assert!(
        reports[0].panicked.starts_with("interrupted on cpu 1 at "),
        "{}",
        ran.text()
    );
    assert!(
        reports[1]
            .panicked
            .starts_with("cpu 0, task main, stopped at "),
        "{}",
        ran.text()
    );
    let job = "kernel::scenario::others::nmi::{closure#0}";
    expect_trace(kernel, &reports[0], LOOP, Some(job));
    expect_name(&reports[1], "kernel::scenario::others::nmi");
    assert!(
        ran.text().ends_with("continued after the NMI\n"),
        "{}",
        ran.text()
    );
}

fn a_panic_is_reported_while_another_cpu_holds_the_console(kernel: Kernel) {
    let ran = boot(kernel, 2, "console-held").expect(101);
    let reports = reports(kernel, &ran, 2);
    let text = ran.text();
    // The line that was begun is ended, and no other is broken.
    assert!(
        text.contains("\nanother CPU panics in the middle of this line\npanicked at "),
        "{text}"
    );
    assert!(!text.contains("its second part"), "{text}");
    assert!(text.contains("\ncpu 1, task main1, "), "{text}");
    assert!(
        reports[1]
            .panicked
            .starts_with("cpu 0, task main, stopped at "),
        "{text}"
    );
    let job = "<kernel::scenario::others::Endless as core::fmt::Display>::fmt::{closure#0}";
    expect_trace(kernel, &reports[0], PANIC, Some(job));
    expect_name(&reports[1], "kernel::scenario::others::console_held");
}

fn two_panics_at_once_are_two_whole_reports(kernel: Kernel) {
    let ran = boot(kernel, 2, "two-panics").expect(101);
    let reports = reports(kernel, &ran, 2);
    assert!(
        reports[0].panicked.ends_with(": one of two"),
        "{}",
        ran.text()
    );
    // It was stopped on its way to the panic, or had come to it.
    let other = &reports[1].panicked;
    assert!(
        other.contains(", stopped at ") || other.contains(", also failed: panicked at "),
        "{other}"
    );
    let job = "kernel::scenario::others::two_panics::meet_and_panic";
    if other.starts_with("cpu 1, ") {
        let trace = format!("{PANIC}\nr {job}\nr kernel::scenario::others::two_panics");
        expect_trace(kernel, &reports[0], &trace, None);
    } else {
        expect_trace(kernel, &reports[0], PANIC, Some(job));
    }
    expect_name(&reports[1], job);
    assert_eq!(
        ran.text().matches("first failure: panicked at ").count(),
        1,
        "{}",
        ran.text()
    );
}

fn two_breakpoints_at_once_are_two_whole_reports(kernel: Kernel) {
    let ran = boot(kernel, 2, "two-breakpoints").expect(0);
    let reports = reports(kernel, &ran, 2);
    let mut cpus: Vec<_> = reports
        .iter()
        .filter_map(|report| report.panicked.strip_prefix("breakpoint on cpu ")?.get(..1))
        .collect();
    cpus.sort_unstable();
    assert_eq!(cpus, ["0", "1"], "{}", ran.text());
    for report in &reports {
        let job = "p kernel::scenario::others::two_breakpoints::meet_and_stop";
        if report.panicked.starts_with("breakpoint on cpu 0 ") {
            let trace = format!("{job}\nr kernel::scenario::others::two_breakpoints");
            expect_trace(kernel, report, &trace, None);
        } else {
            let whole = format!("{job}\n= cpu");
            trace::expect_whole(kernel, report, &whole, "complete, ");
        }
    }
    assert!(ran.text().ends_with("\nboth went on\n"), "{}", ran.text());
}

fn a_cpu_that_does_not_answer_is_named(kernel: Kernel) {
    let ran = boot(kernel, 3, "silent-cpu").expect(101);
    let reports = reports(kernel, &ran, 2);
    let trace = format!("{PANIC}\nr kernel::scenario::others::silent_cpu");
    expect_trace(kernel, &reports[0], &trace, None);
    assert!(
        reports[1]
            .panicked
            .starts_with("cpu 2, task main2, stopped at "),
        "{}",
        ran.text()
    );
    assert!(
        ran.text().contains("\ncpu 1 does not answer\n"),
        "{}",
        ran.text()
    );
}

fn a_hang_with_interrupts_masked_is_found_by_another_cpu(kernel: Kernel) {
    let ran = boot(kernel, 3, "hang").expect(101);
    let reports = reports(kernel, &ran, 3);
    let text = ran.text();
    let [hanging, finder, idle] = &*reports else {
        panic!("{kernel:?}: three reports in:\n{text}");
    };
    assert!(hanging.panicked.starts_with("hang on cpu 1: "), "{text}");
    let job = "kernel::scenario::others::hang::{closure#0}";
    expect_trace(kernel, hanging, LOOP, Some(job));
    // CPU 0 watches CPU 1; and says what its own task waits for, and who has that.
    let words = "cpu 0, task main, stopped at a timer tick, waits for lock ledger, which task main1 holds since kernel/src/scenario/others.rs:";
    assert!(finder.panicked.starts_with(words), "{text}");
    expect_name(finder, "kernel::scenario::others::hang");
    assert!(
        idle.panicked.starts_with("cpu 2, task main2, stopped at "),
        "{text}"
    );
    let holder = "\ntask main1: runs on cpu 1\n";
    assert!(text.contains(holder), "{text}");
}
