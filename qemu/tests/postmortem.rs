//! A kernel that has nothing gets everything from `postmortem` by the changes that its guide shows: reports of panics,
//! exceptions, stack overflows and failures in the report, and last words after a reset.

#[path = "guide/steps.rs"]
mod steps;
mod support;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{fs, io};

use qemu::build::Profile;
use qemu::machine::{Arch, Boot, Verdict};
use qemu::workspace;
use support::built;
use support::outside::Outside;
use support::report::Report;

/// Most lines that the changes may add.
const LINES: usize = 40;

/// The kernel after all changes, whose shop goes wrong in this way.
fn kernel(shop: &str) -> Outside {
    let guide = workspace::root().join("kernel/postmortem/GUIDE.md");
    let guide = fs::read_to_string(guide).expect("the guide is there");
    let kernel = Outside::copy("qemu/tests/guide/kernel");
    let mut lines = 0;
    for step in steps::steps(&guide) {
        step.apply(kernel.folder());
        lines += step.added();
    }
    println!("{lines} lines added");
    assert!((1..=LINES).contains(&lines), "{lines} lines");
    kernel.name_repository("Cargo.toml");
    if !shop.is_empty() {
        fs::write(kernel.folder().join("src/shop.rs"), shop).expect("the file can be written");
    }
    kernel
}

/// What it says until it resets the machine for the first time, and what it says after that.
fn boot(shop: &str) -> (String, String) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let image = folder.path().join("corner-shop");
    {
        /// All are built in one folder, so that `core` is built once.
        static BUILD: Mutex<()> = Mutex::new(());
        let _alone = BUILD.lock().unwrap_or_else(PoisonError::into_inner);
        let built = kernel(shop).build("postmortem", Profile::Debug, "corner-shop");
        fs::copy(built, &image).expect("the image can be copied");
    }
    let boot = Boot {
        reboots: true,
        limit: Some(Duration::from_secs(300)),
        ..Boot::new(Arch::X86_64, &image, "")
    };
    let emulator = built::emulator(boot.board.arch());
    let booted = boot.run(&emulator, &mut io::sink()).expect("QEMU starts");
    let text = String::from_utf8_lossy(&booted.serial).replace('\r', "");
    assert_eq!(booted.verdict, Verdict::Panicked, "{text}");
    let (before, after) = text
        .split_once("epitaph: what was printed last before the reset:\n")
        .unwrap_or_else(|| panic!("no last words in:\n{text}"));
    (before.to_owned(), after.to_owned())
}

#[track_caller]
fn expect_names(report: &Report, names: &[&str]) {
    // Of a recursion the middle is left out, but counted.
    let end = "end of backtrace: complete, ";
    assert!(report.end.starts_with(end), "{}", report.text);
    let found = report.names();
    let mut rest = found.iter();
    for name in names {
        assert!(
            rest.any(|it| it == name),
            "no {name} in its place in:\n{}",
            report.text
        );
    }
}

#[test]
fn an_exception_is_reported_and_told_of_after_the_reset() {
    let (before, after) = boot("");
    let report = Report::find(before.as_bytes());
    let words = ": page fault: read of 0x0000007000000000, not mapped";
    assert!(
        report.panicked.starts_with("fault on cpu 0 at 0x"),
        "{before}"
    );
    assert!(report.panicked.ends_with(words), "{before}");
    expect_names(&report, &["main", "long_mode"]);
    let first = format!("\nfirst failure: {}\n", report.panicked);
    assert!(before.ends_with(&first), "{before}");

    let quoted: Vec<_> = after
        .lines()
        .map_while(|line| line.strip_prefix("| "))
        .collect();
    let report: Vec<_> = before
        .lines()
        .skip_while(|line| !line.starts_with("fault on "))
        .collect();
    assert_eq!(quoted, report);
}

#[test]
fn a_panic_is_reported_from_the_handler_on() {
    let shop = "
        pub fn serve(customers: u64) { assert!(customers == 0, \"sold out\"); }
    ";
    let (before, _) = boot(shop);
    let report = Report::find(before.as_bytes());
    assert!(report.panicked.ends_with(": sold out"), "{before}");
    let names = [
        "__rustc::rust_begin_unwind",
        "core::panicking::panic_fmt",
        "main",
        "long_mode",
    ];
    expect_names(&report, &names);
}

#[test]
fn a_stack_overflow_is_reported_from_a_stack_of_its_own() {
    let shop = "
        use core::hint::black_box;
        pub fn serve(customers: u64) { black_box(queue(black_box(customers))); }
        #[inline(never)]
        #[allow(unconditional_recursion)]
        fn queue(customers: u64) -> u64 { black_box(queue(black_box(customers + 1))) + customers }
    ";
    let (before, _) = boot(shop);
    let report = Report::find(before.as_bytes());
    let words = ": double fault, last page fault at 0x00000000005ffff8, guard page of stack boot";
    assert!(report.panicked.ends_with(words), "{before}");
    assert!(before.contains(" frames left out -----\n"), "{before}");
    expect_names(&report, &["corner_shop::shop::queue", "main", "long_mode"]);
}

#[test]
fn a_failure_in_the_report_is_one_line() {
    let shop = "
        use core::fmt::{Display, Formatter, Result};
        struct Broken;
        impl Display for Broken {
            fn fmt(&self, _: &mut Formatter<'_>) -> Result { panic!(\"cannot be shown\") }
        }
        pub fn serve(_: u64) { panic!(\"before and {}\", Broken) }
    ";
    let (before, _) = boot(shop);
    let lines: Vec<_> = before.lines().collect();
    let [.., first, second, last] = &lines[..] else {
        panic!("{before}");
    };
    assert!(first.starts_with("panicked at "), "{before}");
    assert!(first.ends_with(": before and "), "{before}");
    assert!(
        second.starts_with("during the report: panicked at "),
        "{before}"
    );
    assert!(second.ends_with(": cannot be shown"), "{before}");
    assert_eq!(*last, format!("first failure: {first}"));
}
