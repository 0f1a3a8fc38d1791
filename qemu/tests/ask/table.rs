//! The table of hangs in `HANGS.md`, and the tests that it names.

use std::collections::BTreeSet;
use std::process::Command;

/// The modules whose tests are hangs.
const MODULES: [&str; 6] = [
    "hangs::",
    "stuck::",
    "locks::",
    "waits::",
    "lost::",
    "vectors::",
];

/// How many there are at least, kinds that differ in the number of CPUs only not counted.
const FEWEST: usize = 40;

/// The tests of machines that are asked, as this program lists them.
fn tests() -> BTreeSet<String> {
    let program = std::env::current_exe().expect("it runs");
    let output = Command::new(program).arg("--list").output();
    let output = output.expect("it can be run once more");
    let list = String::from_utf8(output.stdout).expect("names are UTF-8");
    let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
    let names = names.filter_map(|name| name.strip_prefix("ask::"));
    names.map(str::to_owned).collect()
}

/// The table's tests, and whether each is in bold: in the gate.
fn table() -> Vec<(String, bool)> {
    let text = include_str!("../../HANGS.md");
    let rows = text.lines().filter(|line| line.ends_with(" |"));
    let tests = rows.filter_map(|row| row.trim_end_matches(" |").rsplit(" | ").next());
    let tests = tests.filter(|test| test.contains("::"));
    let name = |test: &str| test.trim_matches(['*', '`']).to_owned();
    tests
        .map(|test| (name(test), test.starts_with("**")))
        .collect()
}

#[gate]
fn the_table_has_all_hangs() {
    expect_hangs(true);
}

#[long]
fn the_table_has_all_hangs_of_the_long_part() {
    expect_hangs(false);
}

/// Fails unless this program has the table's tests that are in bold, or those that are not, and no other hangs.
fn expect_hangs(bold: bool) {
    let (table, tests) = (table(), tests());
    let kernels = [
        "x86_64_debug",
        "x86_64_release",
        "aarch64_debug",
        "aarch64_release",
    ];
    let names: BTreeSet<_> = table.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), table.len(), "a test is there twice");
    for (name, is_bold) in &table {
        let expected: Vec<_> = match MODULES.iter().any(|module| name.starts_with(module)) {
            true => kernels.map(|kernel| format!("{name}::{kernel}")).into(),
            false => vec![name.clone()],
        };
        for test in expected {
            assert_eq!(tests.contains(&test), *is_bold == bold, "{test}");
        }
    }
    let is_hang = |test: &&String| {
        let mut modules = MODULES.iter();
        modules.any(|module| test.starts_with(module))
    };
    for test in tests.iter().filter(is_hang) {
        let (name, _) = test.rsplit_once("::").expect("a path");
        assert!(names.contains(name), "{name} is not in the table");
    }
    assert!(table.len() > FEWEST, "{}", table.len());
    assert_eq!(table.iter().filter(|(_, is_bold)| *is_bold).count(), 12);
}
