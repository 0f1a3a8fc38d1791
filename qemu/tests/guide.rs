//! The guide is true: its steps, taken out of its text and made to a kernel that knows nothing of unwinding, give the
//! report that it shows.

#[path = "guide/steps.rs"]
mod steps;
mod support;

use std::fs;

use qemu::build::Profile;
use qemu::machine::Arch;
use qemu::workspace;
use support::outside::Outside;
use support::runner::run;

/// The lines that the guide shows after the word `text`, with numbers left out: they are the compiler's affair.
fn shown(guide: &str) -> String {
    let (_, rest) = guide
        .split_once("```text\n")
        .expect("the guide shows a report");
    let (report, _) = rest.split_once("```").expect("the block has an end");
    without_numbers(report)
}

fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, number)) = rest.split_once("0x") {
        out += before;
        out += "0x";
        rest = number.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    out + rest
}

#[test]
fn the_guide_leads_to_the_report_it_shows() {
    let root = workspace::root();
    let guide = fs::read_to_string(root.join("linker/GUIDE.md")).expect("the guide is there");
    let kernel = Outside::copy("qemu/tests/guide/kernel");
    let folder = kernel.folder();
    let mut lines = 0;
    let steps = steps::steps(&guide);
    for step in &steps {
        step.apply(folder);
        lines += step.added();
    }
    kernel.name_repository("Cargo.toml");
    kernel.name_repository("src/backtrace.rs");
    println!("{} changes, {lines} lines added", steps.len());

    let image = kernel.build(Arch::X86_64, "guide", Profile::Debug, "corner-shop");
    let ran = run(["--image".as_ref(), image.as_os_str()]).expect(101);
    let text = ran.text().replace('\r', "");
    let report = &text[text.find("exception ").expect("an exception")..];
    assert_eq!(without_numbers(report).trim_end(), shown(&guide).trim_end());
}
