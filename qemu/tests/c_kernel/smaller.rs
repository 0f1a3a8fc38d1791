//! The smallest report of a kernel in C.

use std::fs;

use super::build::{Tools, replace};
use super::size::code_size;
use crate::support::runner::run;

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
