//! The text of the guide: its parts, and the reports that they show.

use std::fs;
use std::path::PathBuf;

use qemu::workspace;

/// The page to choose a kernel by.
pub const CHOICE: &str = "README.md";

/// Reads a page of the guide, such as `limine.md`, or a section of it, such as `other-cpus.md#AArch64`.
#[track_caller]
pub fn part(place: &str) -> String {
    match place.split_once('#') {
        Some((name, heading)) => section(&page(name), heading),
        None => page(place),
    }
}

/// The section of a text with this heading.
#[track_caller]
pub fn section(text: &str, heading: &str) -> String {
    let section = qemu::template::section(text, heading);
    section.expect("a section with the heading").to_owned()
}

fn page(name: &str) -> String {
    fs::read_to_string(file(name)).expect("a page of the guide")
}

/// The path of a page.
pub fn file(name: &str) -> PathBuf {
    pages().join(name)
}

/// The folder of all pages.
pub fn pages() -> PathBuf {
    workspace::root().join("docs/guide")
}

/// The lines that a part of the guide shows after the word `text`, with numbers left out: they are the compiler's affair.
pub fn shown(part: &str) -> String {
    let (_, rest) = part
        .split_once("```text\n")
        .expect("the guide shows a report");
    let (report, _) = rest.split_once("```").expect("the block has an end");
    without_numbers(report)
}

/// A text without the digits of its hexadecimal numbers, and without the bytes of code.
pub fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    let is_code = |line: &&str| line.starts_with("  code: ");
    let text = text.lines().map(|line| match is_code(&line) {
        true => "  code: ...\n".to_owned(),
        false => format!("{line}\n"),
    });
    let text: String = text.collect();
    let mut rest = &*text;
    while let Some((before, number)) = rest.split_once("0x") {
        out += before;
        out += "0x";
        rest = number.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    out + rest
}
