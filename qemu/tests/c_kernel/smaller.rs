//! What a kernel in C does whose stacks are small, and one that cannot carry a report.

use std::fs;

use super::build::{Tools, replace};
use super::reports::expect_both;
use super::size::{MEASURED, code_size, stack_taken};
use crate::guide::steps;
use crate::guide::text::part;
use crate::support::runner::run;

pub fn a_report_on_a_stack_of_its_own_takes_little_of_others(tools: Tools) {
    let said = tools.with(|folder| {
        let lines = steps::apply(&part("c.md#Small stacks"), folder);
        assert_eq!(lines, 2);
    });
    expect_both(tools, &said);
    let said = tools.with(|folder| {
        steps::apply(&part("c.md#Small stacks"), folder);
        replace(folder, "main.c", "unwind_print(put_char, why);", MEASURED);
    });
    let taken = stack_taken(&said);
    println!("{tools:?}: {taken} bytes of stack");
    assert!(taken < 1 << 10, "{taken} of stack");
}

/// The kernel says registers and words, and the runner who called.
pub fn the_host_names_the_smallest_report(tools: Tools) {
    let said = tools.with(|folder| {
        let print = "unwind_print(put_char, why);";
        replace(
            folder,
            "main.c",
            print,
            "unwind_print_stack(put_char, why);",
        );
        let machine = format!("{}/machine.c", tools.arch);
        replace(folder, &machine, "unwind_fault(", "unwind_fault_stack(");
        let flags = "LDFLAGS += -T";
        replace(
            folder,
            "Makefile",
            flags,
            "LDFLAGS += --gc-sections --symbols=none -T",
        );
    });
    assert!(!said.text.contains("backtrace"), "{}", said.text);
    let log = said.folder().join("log");
    fs::write(&log, &said.text).expect("the file can be written");
    let words = ["autopsy".as_ref(), log.as_os_str(), "--image".as_ref()];
    let text = run(words.into_iter().chain([said.image.as_os_str()]))
        .expect(0)
        .text();
    let (stop, panic) = text.split_once("no apples left").expect("two stacks");
    for (text, names) in [
        (stop, &["serve", "kernel_main"][..]),
        (panic, &["panic", "sell", "serve", "kernel_main"]),
    ] {
        let mut lines = text.lines();
        for name in names {
            let is_there = lines.any(|line| line.contains(name));
            assert!(is_there, "no {name} in its place in:\n{text}");
        }
    }
    let added = code_size(&said.image) - code_size(&tools.without().image);
    println!("{tools:?}: {added} bytes of code");
    assert!((5_000..=11_100).contains(&added), "{added} of code");
}
