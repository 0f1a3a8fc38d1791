//! A kernel that has nothing gets everything from `postmortem` by the changes that its guide shows: reports of panics,
//! exceptions, breakpoints, stack overflows and failures in the report, and last words after a reset.

mod assembly;
mod cpus;
mod kernel;

use std::fs;

use crate::support::report::Report;
use kernel::{boot, boot_with, replace};
use qemu::machine::Arch;

/// The function that calls `main`.
const fn first_function(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "long_mode",
        Arch::Aarch64 => "with_mmu",
    }
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

fn an_exception_is_reported_and_told_of_after_the_reset(arch: Arch) {
    let (before, after) = boot(arch, |_| ());
    let report = Report::find(before.as_bytes());
    let words = match arch {
        Arch::X86_64 => ": page fault: read of 0x0000007000000000, not mapped",
        Arch::Aarch64 => ": data abort: read of 0x0000007000000000, translation fault level 1",
    };
    assert!(
        report.panicked.starts_with("fault on cpu 0 at 0x"),
        "{before}"
    );
    assert!(report.panicked.ends_with(words), "{before}");
    expect_names(&report, &["main", first_function(arch)]);
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

fn a_panic_is_reported_from_the_handler_on(arch: Arch) {
    let shop = "
        pub fn serve(customers: u64) { assert!(customers == 0, \"sold out\"); }
    ";
    let (before, _) = boot_with(arch, shop);
    let report = Report::find(before.as_bytes());
    assert!(report.panicked.ends_with(": sold out"), "{before}");
    let names = [
        "__rustc::rust_begin_unwind",
        "core::panicking::panic_fmt",
        "main",
        first_function(arch),
    ];
    expect_names(&report, &names);
}

fn a_stack_overflow_is_reported_from_a_stack_of_its_own(arch: Arch) {
    let shop = "
        use core::hint::black_box;
        pub fn serve(customers: u64) { black_box(queue(black_box(customers))); }
        #[inline(never)]
        #[allow(unconditional_recursion)]
        fn queue(customers: u64) -> u64 { black_box(queue(black_box(customers + 1))) + customers }
    ";
    let (before, _) = boot_with(arch, shop);
    let report = Report::find(before.as_bytes());
    let words = match arch {
        Arch::X86_64 => ": double fault, last page-fault address 0x00000000005ff",
        Arch::Aarch64 => ": no space left on the stack: data abort: write to 0x00000000405ff",
    };
    assert!(report.panicked.contains(words), "{before}");
    let guard = ", guard page of stack boot";
    assert!(report.panicked.ends_with(guard), "{before}");
    assert!(before.contains(" frames left out -----\n"), "{before}");
    let names = ["corner_shop::shop::queue", "main", first_function(arch)];
    expect_names(&report, &names);
}

fn a_failure_in_the_report_is_one_line(arch: Arch) {
    let shop = "
        use core::fmt::{Display, Formatter, Result};
        struct Broken;
        impl Display for Broken {
            fn fmt(&self, _: &mut Formatter<'_>) -> Result { panic!(\"cannot be shown\") }
        }
        pub fn serve(_: u64) { panic!(\"before and {}\", Broken) }
    ";
    let (before, _) = boot_with(arch, shop);
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

fn a_breakpoint_is_reported_and_returns(arch: Arch) {
    let stop = match arch {
        Arch::X86_64 => "int3",
        Arch::Aarch64 => "brk #7",
    };
    let shop = format!(
        "
        pub fn serve(_: u64) {{
            stop();
            panic!(\"closed\")
        }}
        #[inline(never)]
        fn stop() {{
            // SAFETY: its handler returns.
            unsafe {{ core::arch::asm!(\"{stop}\") }};
            crate::println!(\"went on\");
        }}
        "
    );
    let (before, _) = boot_with(arch, &shop);
    let (breakpoint, panic) = before
        .split_once("\nwent on\n")
        .unwrap_or_else(|| panic!("{before}"));
    let report = Report::find(breakpoint.as_bytes());
    assert!(
        report.panicked.starts_with("breakpoint on cpu 0 at 0x"),
        "{before}"
    );
    let names = ["corner_shop::shop::stop", "main", first_function(arch)];
    expect_names(&report, &names);
    assert!(panic.starts_with("panicked at "), "{before}");
}

/// The stack pointer is where the stack is said to go on, but nothing is mapped: so the walk's first read faults.
fn a_read_of_the_report_that_fails_ends_the_trace(arch: Arch) {
    let (lose, end, gone) = match arch {
        Arch::X86_64 => ("mov rsp, 0x40000100", "0x70_0000", "0x4000_1000"),
        Arch::Aarch64 => ("mov sp, {x}", "0x4070_0000", "0x8000_1000"),
    };
    let operand = match arch {
        Arch::X86_64 => "",
        Arch::Aarch64 => ", x = in(reg) 0x8000_0100_u64",
    };
    let push = match arch {
        Arch::X86_64 => "push rax",
        Arch::Aarch64 => "str x0, [sp]",
    };
    let shop = format!(
        "
        #[inline(never)]
        pub fn serve(_: u64) {{
            // SAFETY: nobody returns from this.
            unsafe {{ core::arch::asm!(\"{lose}\", \"{push}\"{operand}) }};
            crate::println!(\"nobody comes here\");
        }}
        "
    );
    let (before, _) = boot(arch, |folder| {
        fs::write(folder.join("src/shop.rs"), &shop).expect("the file can be written");
        let [end, gone] = [end, gone].map(|end| format!(", {end})).with_guard("));
        replace(folder, "src/death.rs", &[(&*end, &*gone)]);
    });
    let report = Report::find(before.as_bytes());
    assert!(
        report.panicked.starts_with("fault on cpu 0 at 0x"),
        "{before}"
    );
    assert!(
        report.end.starts_with("end of backtrace: incomplete: "),
        "{before}"
    );
    assert!(!before.contains("during the report"), "{before}");
    let first = format!("\nfirst failure: {}\n", report.panicked);
    assert!(before.ends_with(&first), "{before}");
}

/// A test of each for each architecture, those of AArch64 only in `.ci/long`.
macro_rules! on_both {
    ($($name:ident,)*) => {
        mod x86_64 {
            $(#[gate] fn $name() { super::$name(super::Arch::X86_64) })*
        }
        mod aarch64 {
            $(
                #[long]
                fn $name() { super::$name(super::Arch::Aarch64) }
            )*
        }
    };
}

on_both! {
    an_exception_is_reported_and_told_of_after_the_reset,
    a_panic_is_reported_from_the_handler_on,
    a_stack_overflow_is_reported_from_a_stack_of_its_own,
    a_failure_in_the_report_is_one_line,
    a_breakpoint_is_reported_and_returns,
    a_read_of_the_report_that_fails_ends_the_trace,
}
