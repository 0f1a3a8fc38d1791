//! The text of the guide: its parts, and the reports that they show.

use std::fs;
use std::path::PathBuf;

use qemu::workspace;

/// The guide.
pub fn guide() -> String {
    fs::read_to_string(guide_file()).expect("the guide is there")
}

/// Where it is.
pub fn guide_file() -> PathBuf {
    workspace::root().join("linker/GUIDE.md")
}

/// A part of the guide.
pub fn part<'g>(guide: &'g str, heading: &str) -> &'g str {
    let (_, part) = guide.split_once(heading).expect("its heading");
    part.split("\n#").next().unwrap_or(part)
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
