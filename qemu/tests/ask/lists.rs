//! What a CPU that hangs in a scenario is expected to do: lists of functions, written down from the sources.

use qemu::build::Kernel;

use super::asked::{Asked, interrupted};
use crate::support::built::image;
use crate::support::report::Report;
use crate::support::trace;
use crate::support::ways::is_scenario;

/// The path of the functions of scenarios that hang.
pub const SCENARIO: &str = "kernel::scenario::hangs::";

/// The trace of scenario functions, innermost first, below the kernel's own.
pub fn functions(names: &[&str]) -> String {
    let letters = std::iter::once('p').chain(std::iter::repeat('r'));
    let lines = letters.zip(names);
    lines
        .map(|(letter, name)| format!("{letter} {SCENARIO}{name}\n"))
        .collect()
}

/// The functions, perhaps called by libraries' and the kernel's, which the compiler may have made part of them.
pub fn below_others(report: &Report, names: &[&str]) -> String {
    below_others_at(report, 0, names)
}

/// The same from the frame with this number on.
pub fn below_others_at(report: &Report, number: usize, names: &[&str]) -> String {
    let first = report.frames.get(number);
    let first = first.and_then(|frame| frame.name.as_ref());
    match first.is_some_and(|name| is_scenario(name)) {
        true => functions(names),
        false => format!("= report\n{}", functions(names).replacen('p', "r", 1)),
    }
}

#[track_caller]
pub fn expect_count(asked: &Asked, cpus: usize) {
    assert_eq!(asked.reports.len(), cpus, "{}", asked.text);
}

#[track_caller]
pub fn expect_idle(kernel: Kernel, report: &Report) {
    trace::expect_whole(kernel, report, "= idle", "complete, ");
    let is_halted = report.panicked.ends_with(", halted");
    assert!(is_halted, "{}", report.panicked);
}

/// Fails unless these functions of two CPUs spin or have stopped.
#[track_caller]
pub fn expect_two(kernel: Kernel, scenario: &str, first: &[&str], second: &str) {
    let asked = interrupted(&image(kernel), scenario, 2);
    expect_count(&asked, 2);
    let expected = below_others(&asked.reports[0], first);
    trace::expect(kernel, &asked.reports[0], &expected, "complete, ");
    let other = format!("{}= cpu", below_others(&asked.reports[1], &[second]));
    trace::expect_whole(kernel, &asked.reports[1], &other, "complete, ");
}

/// Fails unless the trace is complete and leads through this function of the scenario to the start of its stack.
#[track_caller]
pub fn expect_through(asked: &Asked, report: &Report, function: &str, start: &str) -> usize {
    report.expect_complete();
    let names = report.names();
    assert_eq!(names.last(), Some(&start), "{}", asked.text);
    let sources = report.frames.iter().map(|frame| &frame.sources);
    let path = format!("{SCENARIO}{function}");
    let at = sources.enumerate().position(|(number, sources)| {
        names[number] == path || sources.iter().any(|source| source.name == path)
    });
    at.unwrap_or_else(|| panic!("{function} is not there: {}", asked.text))
}
