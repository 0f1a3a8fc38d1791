//! The options that documents name are those of the programs, and the pages that are their reference name all.

use std::collections::BTreeSet;
use std::process::Command;

use clap::CommandFactory;
use qemu::cli::Cli;
use regex::Regex;

use super::pages::{PAGES, page, part};

/// Options of other programs on these pages: LLVM's symbolizer, linkers.
const OTHERS: [&str; 3] = ["--filter-markup", "--icf", "--ld-path"];

/// The options in a text.
fn options(text: &str) -> BTreeSet<String> {
    let option = Regex::new(r"(?:^|[^\w-])(--[a-z][a-z-]*)").expect("it is a pattern");
    let found = option.captures_iter(text);
    found.map(|found| found[1].to_owned()).collect()
}

/// The options that a command has, but for `--help`, which each one has.
fn options_of(command: &mut clap::Command) -> BTreeSet<String> {
    command.build();
    let long = command.get_arguments().filter_map(clap::Arg::get_long);
    let long = long.filter(|name| *name != "help");
    long.map(|name| format!("--{name}")).collect()
}

/// What a program prints.
fn printed(program: &str, arguments: &[&str]) -> String {
    let file = env!("CARGO_BIN_EXE_unwind-qemu").replace("unwind-qemu", program);
    let output = Command::new(file).args(arguments).output();
    let output = output.expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("it is text")
}

/// The options that the help of a program begins lines with.
fn in_help(program: &str, arguments: &[&str]) -> BTreeSet<String> {
    let help = printed(program, arguments);
    let begin = Regex::new(r"^ +(?:-\w, )?--").expect("it is a pattern");
    let lines = help.lines().filter(|line| begin.is_match(line));
    let first = lines.flat_map(|line| options(line).into_iter().next());
    first.filter(|name| name != "--help").collect()
}

/// The lines of a page that begin with this.
fn lines<'t>(text: &'t str, begin: &str) -> Vec<&'t str> {
    text.lines()
        .filter(|line| line.starts_with(begin))
        .collect()
}

/// The options in the first column of the tables in a part.
fn in_tables(part: &str) -> BTreeSet<String> {
    let cells = lines(part, "| `").into_iter();
    let cells = cells.filter_map(|line| line.split(" | ").next());
    cells
        .flat_map(options)
        .filter(|name| name != "--help")
        .collect()
}

#[test]
fn the_page_of_the_runner_has_its_options() {
    let page = page("docs/runner.md");
    let mut cli = Cli::command();
    assert_eq!(in_tables(part(&page, "Options")), options_of(&mut cli));
    let rows = part(&page, "Commands");
    for command in cli.get_subcommands_mut() {
        let name = command.get_name().to_owned();
        let row = match name.as_str() {
            // It has a paragraph.
            "oracle" => rows
                .split("\n\n")
                .filter(|part| part.starts_with("`oracle`"))
                .collect(),
            _ => lines(rows, &format!("| `{name} ")).concat(),
        };
        assert_eq!(
            options(&row.replace("--help", "")),
            options_of(command),
            "{name}"
        );
    }
}

#[test]
fn the_page_of_the_linker_has_its_switches() {
    let page = page("docs/sframe-link.md");
    let switches = in_tables(part(&page, "Switches"));
    assert_eq!(switches, in_help("sframe-link", &["--sframe-help"]));
    let programs = part(&page, "The program `sframe`");
    for command in ["dump", "check", "lookup", "stats"] {
        let row = lines(programs, &format!("| `sframe {command} ")).concat();
        let mut named = options(&row);
        // What another program has is named, too.
        named.remove("--sframe");
        assert_eq!(named, in_help("sframe", &[command, "--help"]), "{command}");
    }
    let make: String = programs
        .split("\n\n")
        .filter(|part| part.starts_with("**`make`**"))
        .collect();
    assert_eq!(options(&make), in_help("sframe", &["make", "--help"]));
}

#[test]
fn each_option_on_the_pages_is_one() {
    let mut cli = Cli::command();
    let mut known = options_of(&mut cli);
    cli.get_subcommands_mut()
        .for_each(|command| known.extend(options_of(command)));
    known.extend(in_help("sframe-link", &["--sframe-help"]));
    for command in ["dump", "check", "lookup", "stats", "make"] {
        known.extend(in_help("sframe", &[command, "--help"]));
    }
    known.extend(["--help".to_owned(), "--sframe".to_owned()]);
    known.extend(OTHERS.map(str::to_owned));
    for name in PAGES.iter().chain(&["README.md", "docs/sframe-link.md"]) {
        let mut named = options(&page(name));
        named.retain(|option| !known.contains(option));
        assert!(named.is_empty(), "{name}: no program has {named:?}");
    }
}
