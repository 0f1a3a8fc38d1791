//! Every scenario, on both architectures, in debug and release, by the runner and as a user types it.

use crate::support::boots::{NONDETERMINISTIC, boot, judge};
use crate::support::built::plain;
use crate::support::each::kernel_tests;
use crate::support::expected;
use crate::support::report::Report;
use crate::support::runner::run;
use crate::support::trace;
use qemu::build::{Kernel, Profile};
use qemu::machine::Arch;
use qemu::scenario;

kernel_tests! { every:
    panic_names_every_caller,
}

kernel_tests! { every_and_plain:
    an_exhausted_heap_is_reported,
    two_hundred_frames_are_all_listed,
    success_is_no_report,
    a_panicking_image_is_101,
}

#[gate]
fn without_arguments_it_panics_on_x86_64_and_names_its_callers() {
    let kernel = Kernel {
        arch: Arch::X86_64,
        profile: Profile::Debug,
    };
    let ran = run::<&str>([]).expect(0);
    let report = Report::find(&ran.serial);
    report.expect_complete();
    trace::expect(kernel, &report, &expected::panic(), "complete, ");
}

fn panic_names_every_caller(kernel: Kernel) {
    let ran = judge(kernel, "panic").expect(0);
    let report = Report::find(&ran.serial);
    let message = "index out of bounds: the len is 3 but the index is 7";
    let begin = "panicked at kernel/src/scenario/panic.rs:";
    assert!(report.panicked.starts_with(begin), "{}", report.panicked);
    assert!(report.panicked.ends_with(message), "{}", report.panicked);
    report.expect_complete();
    trace::expect(kernel, &report, &expected::panic(), "complete, ");
    expect_places(&report);
}

#[long]
fn panic_names_every_caller_without_unwind_tables_of_the_compiler() {
    let kernel = plain(Arch::X86_64);
    let report = Report::find(&boot(kernel, "panic").expect(101).serial);
    report.expect_complete();
    trace::expect(kernel, &report, &expected::panic(), "complete, ");
}

/// The functions of the scenario are called from their own file, the innermost one where the first line says, and those
/// of `core` are in its files.
#[track_caller]
fn expect_places(report: &Report) {
    let place = |name: &str| {
        let sources = || report.frames.iter().flat_map(|frame| &frame.sources);
        let source = sources().find(|source| source.name == name);
        let source = source.unwrap_or_else(|| panic!("no {name} in:\n{}", report.text));
        let place = source.place.clone();
        place.unwrap_or_else(|| panic!("{name} has no line in:\n{}", report.text))
    };
    let mut lines = Vec::new();
    for function in expected::PANIC_SCENARIO {
        let (file, line) = place(function);
        assert_eq!(file, "kernel/src/scenario/panic.rs", "{function}");
        lines.push(line);
    }
    lines.dedup();
    assert_eq!(lines.len(), expected::PANIC_SCENARIO.len(), "{lines:?}");
    let first = format!("panicked at kernel/src/scenario/panic.rs:{}:", lines[0]);
    assert!(report.panicked.starts_with(&first), "{}", report.panicked);
    let (file, _) = place("core::panicking::panic_fmt");
    assert_eq!(file, "core/src/panicking.rs");
}

fn an_exhausted_heap_is_reported(kernel: Kernel) {
    let report = Report::find(&boot(kernel, "heap-panic").expect(101).serial);
    assert!(
        report.panicked.contains("memory allocation of"),
        "{}",
        report.panicked
    );
    report.expect_complete();
    trace::expect(kernel, &report, expected::HEAP_PANIC, "complete, ");
}

fn two_hundred_frames_are_all_listed(kernel: Kernel) {
    let report = Report::find(&boot(kernel, "deep").expect(101).serial);
    report.expect_complete();
    trace::expect(kernel, &report, &expected::deep(), "complete, ");
}

fn success_is_no_report(kernel: Kernel) {
    let ran = boot(kernel, "ok").expect(0);
    assert!(
        ran.text().contains("the sum of ten squares is 385"),
        "{}",
        ran.text()
    );
    assert!(!ran.text().contains("panicked"), "{}", ran.text());
}

#[gate]
fn several_scenarios_run_one_after_the_other() {
    let ran = run(["--arch", "x86_64", "ok", "panic", "ok"]).expect(0);
    assert_eq!(
        ran.text().matches("the sum of ten squares is 385").count(),
        2,
        "{}",
        ran.text()
    );
    assert_eq!(
        ran.text().matches("\npanicked at ").count(),
        1,
        "{}",
        ran.text()
    );
}

/// The panic of an image is its verdict, and not what somebody expected of it.
fn a_panicking_image_is_101(kernel: Kernel) {
    boot(kernel, "panic").expect(101).expect_words("panicked");
}

#[gate]
fn nondeterministic_scenarios_exist() {
    for name in NONDETERMINISTIC {
        assert!(scenario::find(name).is_some(), "{name}");
    }
}
