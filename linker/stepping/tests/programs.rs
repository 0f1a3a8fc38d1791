//! Programs of `programs/programs.txt`, followed instruction by instruction: no proven row may be wrong, and no list by proven rows may be
//! wrongly called complete.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use stepping::follow::Plan;
use stepping::module::RowsFrom;
use stepping::modules::Library;
use stepping::report;
use stepping::run::{Programs, Total};

/// A program that the list needs, and the package of Debian that has the program.
type Needed = (&'static str, &'static str);

const GCC: &[Needed] = &[("gcc", "gcc")];
const CLANG: &[Needed] = &[("clang", "clang"), ("ld.lld", "lld")];
const EMULATED: &[Needed] = &[
    ("qemu-arm", "qemu-user"),
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("clang", "clang"),
    ("ld.lld", "lld"),
];

/// Follows the programs with these names for at least `least` boundaries. A failed test prints the seed, which changes from run to run in the
/// long part.
fn check(test: &str, needed: &[Needed], least: u64, seed: u64, is_wanted: impl Fn(&str) -> bool) {
    let total = follow(test, needed, seed, None, is_wanted);
    let boundaries = total.sums.boundaries();
    assert!(
        boundaries >= least,
        "{test}: {boundaries} boundaries, at least {least} were expected"
    );
}

/// Makes a part of the rows of programs wrong: the checker must refuse all of these that are met.
fn check_spoiled(
    test: &str,
    needed: &[Needed],
    least: u64,
    seed: u64,
    is_wanted: impl Fn(&str) -> bool,
) {
    let total = follow(test, needed, seed, Some(seed), is_wanted);
    let wrong = total.sums.wrong_unproven;
    assert!(
        wrong >= least,
        "{test}: wrong rows at {wrong} boundaries, at least {least} were expected"
    );
}

fn follow(
    test: &str,
    needed: &[Needed],
    seed: u64,
    spoiled: Option<u64>,
    is_wanted: impl Fn(&str) -> bool,
) -> Total {
    let target = setup::workspace::target_folder().unwrap();
    for (program, package) in needed {
        if let Err(error) = setup::program(program, package, &target) {
            panic!("{error:#}");
        }
    }
    let list = concat!(env!("CARGO_MANIFEST_DIR"), "/programs/programs.txt");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let programs = Programs::read(Path::new(list), &out, is_wanted).unwrap();
    let library = Library::new(RowsFrom::Made, spoiled);
    let plan = Plan {
        most: 1_000_000,
        every: 50,
        seed,
        visits: u32::MAX,
        from_loader: false,
    };
    let mut text = format!("seed {seed}\n{}\n", report::HEAD);
    let total = programs.run(&library, plan, &mut |name, tally| {
        text += &format!(
            "{}\n{}",
            report::line(name, tally),
            report::places(tally, false)
        );
    });
    text += &report::sums("all", &total.sums, total.lists);
    std::fs::write(out.join("report.txt"), &text).unwrap();
    assert!(
        total.failed.is_empty(),
        "{test}: {}",
        total.failed.join("\n")
    );
    assert!(
        total.wrong.is_empty(),
        "{test}, seed {seed}: wrong in {}:\n{text}",
        total.wrong.join(", ")
    );
    total
}

/// A number that differs from run to run.
fn seed() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

fn has_any(name: &str, words: &[&str]) -> bool {
    words.contains(&name)
}

#[gate]
fn gcc_has_no_wrong_proven_row() {
    let names = [
        "gcc-O0-mixed-tables",
        "gcc-O2-mixed-tables",
        "gcc-O2-mixed-bare",
        "gcc-thunk-ret-mixed-tables",
        "gcc-realign-O0-mixed-bare",
    ];
    check("gate_gcc", GCC, 70_000, 1, |name| has_any(name, &names));
}

#[gate]
fn clang_has_no_wrong_proven_row() {
    let names = [
        "clang-O0-mixed-tables",
        "clang-O2-mixed-tables",
        "clang-O2-mixed-bare",
        "clang-lvi-cfi-mixed-tables",
        "clang-Oz-mixed-bare",
    ];
    check("gate_clang", CLANG, 70_000, 1, |name| has_any(name, &names));
}

#[gate]
fn assembly_has_no_wrong_proven_row() {
    let needed = &[("gcc", "gcc"), ("nasm", "nasm")];
    check("gate_assembly", needed, 15_000, 1, |name| {
        name.starts_with("as-style") || name == "nasm-labels"
    });
}

#[gate]
fn arm_has_no_wrong_proven_row() {
    let names = [
        "a64-gcc-O2-mixed-tables",
        "a64-clang-Oz-mixed-bare",
        "arm-clang-O2-mixed-tables",
        "thumb-clang-long-mixed-tables",
        "thumb-clang-Oz-mixed-bare",
    ];
    check("gate_arm", EMULATED, 43_000, 1, |name| {
        has_any(name, &names)
    });
}

#[gate]
fn rows_that_are_made_wrong_are_refused() {
    let names = [
        "gcc-O2-mixed-bare",
        "clang-lvi-cfi-mixed-tables",
        "gcc-boundary5-mixed-tables",
    ];
    check_spoiled("gate_spoiled", GCC, 5_000, 7, |name| has_any(name, &names));
}

#[long]
fn rows_that_are_made_wrong_are_refused_with_all_sets_of_flags() {
    check_spoiled("spoiled", CLANG, 500_000, seed(), |name| {
        name.starts_with("gcc-") || name.starts_with("clang-")
    });
}

#[long]
fn gcc_with_all_sets_of_flags() {
    check("gcc", GCC, 1_500_000, seed(), |name| {
        name.starts_with("gcc-") && name.contains("-mixed-")
    });
}

#[long]
fn clang_with_all_sets_of_flags() {
    check("clang", CLANG, 1_500_000, seed(), |name| {
        name.starts_with("clang-") && name.contains("-mixed-")
    });
}

#[long]
fn rust_at_all_levels() {
    check("rust", &[], 1_500_000, seed(), |name| {
        name.starts_with("rust-")
    });
}

#[long]
fn aarch64_with_all_sets_of_flags() {
    check("aarch64", EMULATED, 1_000_000, seed(), |name| {
        name.starts_with("a64-")
    });
}

#[long]
fn arm_and_thumb_with_all_sets_of_flags() {
    check("arm", EMULATED, 1_000_000, seed(), |name| {
        name.starts_with("arm-") || name.starts_with("thumb-")
    });
}

#[long]
fn programs_with_a_c_library() {
    let needed = &[("gcc", "gcc"), ("g++", "g++"), ("clang", "clang")];
    check("hosted", needed, 1_000_000, seed(), |name| {
        ["-hosted", "-exceptions", "-coroutines"]
            .iter()
            .any(|word| name.contains(word))
    });
}

#[long]
fn programs_of_debian() {
    let needed = &[
        ("sqlite3", "sqlite3"),
        ("vim", "vim"),
        ("gdb", "gdb"),
        ("m4", "m4"),
        ("xz", "xz-utils"),
        ("awk", "mawk"),
        ("git", "git"),
    ];
    let is_built = |name: &str| name.contains('-');
    check("debian", needed, 10_000_000, seed(), |name| !is_built(name));
}
