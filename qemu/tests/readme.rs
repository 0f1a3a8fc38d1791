//! The reports that README.md and `docs/` show are those that their commands print: all but addresses, offsets, sizes and the build.

mod commands;
mod options;
mod pages;
mod reasons;

use crate::support::runner::run;
use regex::Regex;

/// What is shown of a report: no line of registers or of code bytes, and no number that any change of the kernel changes.
fn shown(report: &str) -> Vec<String> {
    let number = Regex::new("0x[0-9a-f]+|build [0-9a-f]{40}").expect("it is a pattern");
    let is_register = |line: &str| {
        let name = line.strip_prefix("  ").and_then(|line| line.chars().next());
        name.is_some_and(char::is_alphabetic)
    };
    let lines = report.lines().map(str::trim_end);
    lines
        .filter(|line| !is_register(line) && !line.starts_with("code: ") && !line.starts_with('$'))
        .map(|line| number.replace_all(line, "#").into_owned())
        .collect()
}

/// The report with this line on a page.
fn example(page: &str, line: &str) -> Vec<String> {
    let text = pages::page(page);
    let is_it = |block: &&str| block.contains("end of backtrace: ") && block.contains(line);
    let block = text.split("```").find(is_it);
    let block = block.unwrap_or_else(|| panic!("no report with {line:?} in {page}"));
    let block = block.strip_prefix("text").unwrap_or(block);
    shown(block.trim_start_matches('\n'))
}

/// Compares from the example's first line on, for as long as it goes.
fn compare(line: &str, arguments: &[&str]) {
    compare_with("docs/reports.md", line, arguments, &run(arguments).text());
}

fn compare_with(page: &str, line: &str, arguments: &[&str], text: &str) {
    let (expected, found) = (example(page, line), shown(text));
    let is_there = found.windows(expected.len()).any(|part| part == expected);
    assert!(
        is_there,
        "{page} shows another report than `cargo run -- {}` does:\n{text}\nwithout numbers:\n{}\nthere it is:\n{}",
        arguments.join(" "),
        found.join("\n"),
        expected.join("\n")
    );
}

#[test]
fn the_panic() {
    compare("panicked at", &["panic"]);
}

#[test]
fn the_compact_panic() {
    compare("  0 p __rustc::", &["--compact", "72", "panic"]);
}

#[test]
fn the_exception_in_a_handler() {
    compare(
        "fault on cpu 0",
        &["--release", "--arch", "aarch64", "exception-in-handler"],
    );
}

/// Which is on standard error.
#[test]
fn the_walk_from_outside() {
    let arguments = "--release --cpus 2 --timeout 4 hang-in-interrupt";
    let arguments: Vec<_> = arguments.split(' ').collect();
    let ran = run(&arguments).expect(124);
    compare_with(
        "docs/hangs.md",
        "inspected by the runner",
        &arguments,
        &ran.words,
    );
}
