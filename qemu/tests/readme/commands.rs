//! Each block of README.md is what a test runs, or what a page of the guide shows, which its tests run.

use clap::Parser;
use qemu::cli::Cli;
use qemu::scenario;

use super::pages::{Block, PAGES, blocks, page};
use crate::guide::text::without_numbers;
use crate::support::runner::command;

/// The page of the guide for the kernel of the quick start.
const KERNEL: &str = "docs/guide/bootloader-0.9.md";

/// The page of the guide with the kernel whose report README.md shows.
const SHOWN: &str = "docs/guide/multiboot.md";

/// The page of the guide that shows how to install.
const INSTALL: &str = "docs/guide/README.md";

#[test]
fn each_block_of_the_readme_is_tested() {
    let mut counts = [0; 3];
    for Block { words, text } in blocks(&page("README.md")) {
        let place = match words.split_once(' ') {
            Some(("diff", _)) => {
                let block = format!("```{words}\n{text}```");
                assert!(page(KERNEL).contains(&block), "not in {KERNEL}:\n{block}");
                0
            }
            None if words == "text" => {
                let report = without_numbers(&text);
                let shown = without_numbers(&page(SHOWN));
                assert!(shown.contains(&report), "not in {SHOWN}:\n{report}");
                1
            }
            None if words == "sh" => {
                commands(&text).for_each(|command| run(&command));
                2
            }
            _ => panic!("no test runs this block:\n```{words}\n{text}```"),
        };
        counts[place] += 1;
    }
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
}

/// Runs a command of the runner to its end, in an empty folder. Any other must be in the guide, or be what runs this test.
fn run(words: &str) {
    let Some(arguments) = words.strip_prefix("cargo run") else {
        let is_shown = |block: &Block| commands(&block.text).any(|shown| shown == words);
        let is_known = words == "cargo test" || blocks(&page(INSTALL)).iter().any(is_shown);
        assert!(is_known, "no test runs {words:?}");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder can be made");
    let arguments = arguments
        .split_whitespace()
        .skip_while(|word| *word == "--");
    let output = command()
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .expect("the runner starts");
    let status = if words.contains("--timeout") { 124 } else { 0 };
    assert_eq!(output.status.code(), Some(status), "{words}: {output:?}");
}

/// The commands of a block, without their comments.
fn commands(block: &str) -> impl Iterator<Item = String> {
    let lines = block
        .lines()
        .map(|line| line.split(" #").next().unwrap_or(line));
    lines.map(|line| line.trim().to_owned())
}

/// The runner takes the arguments, and has the scenarios.
#[test]
fn each_command_of_the_pages_is_one() {
    let mut count = 0;
    for name in PAGES {
        let blocks = blocks(&page(name));
        let shell = blocks.iter().filter(|block| block.words == "sh");
        for words in shell.flat_map(|block| commands(&block.text)) {
            let arguments = words
                .strip_prefix("cargo run -- ")
                .or_else(|| words.strip_prefix("unwind-qemu "));
            let arguments = arguments.unwrap_or_else(|| panic!("{name}: {words:?} runs what?"));
            let all = std::iter::once("unwind-qemu").chain(arguments.split_whitespace());
            let cli = Cli::try_parse_from(all).unwrap_or_else(|error| panic!("{name}: {error}"));
            if cli.command.is_none() && cli.image.is_none() {
                let known = scenario::wanted(&cli.scenarios, "x86_64");
                known.unwrap_or_else(|error| panic!("{name}: {words}: {error:#}"));
            }
            count += 1;
        }
    }
    assert!(count > 0);
}
