//! Hangs of CPUs that have lost their way: how far the truth is known, and that no list claims to be more.

use qemu::build::Kernel;
use qemu::machine::Arch;

use super::asked::{Asked, ended, interrupted};
use super::lists::{SCENARIO, expect_count, functions};
use super::stuck::expect_without_stack;
use crate::support::built::image;
use crate::support::each::kernel_tests;
use crate::support::runner::run;
use crate::support::trace;

kernel_tests! { every:
    no_tables,
}
kernel_tests! { every_in_long:
    outside,
    stray_return,
    stray_stack_pointer,
    overwritten_stack,
    not_started,
}

/// A kernel that hangs before it can say so, after a second of the machine's own time.
fn early(kernel: Kernel, scenario: &str, cpus: &str) -> Asked {
    let image = image(kernel);
    let image = image.to_str().expect("a path in UTF-8");
    let limit = ["--guest-timeout", "1", "--cpus", cpus];
    Asked::of(run([&limit[..], &["--image", image, scenario]].concat()).expect(124))
}

/// Who has called is where a call leaves it, which no row vouches for.
fn outside(kernel: Kernel) {
    let asked = early(kernel, "hang-outside", "1");
    expect_count(&asked, 1);
    let expected = format!(
        "p -
        l {SCENARIO}lost::outside
        r~ kernel::scenario::early::run"
    );
    let pc = asked.reports[0].frames[0].address;
    let end = format!(
        "outermost function reached, from frame 1 on by link register (the program counter {pc:#018x} is outside all known code), "
    );
    trace::expect(kernel, &asked.reports[0], &expected, &end);
}

/// Nobody has called the function: its caller is wherever a return address would be.
fn stray_return(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-stray-return", 1);
    expect_count(&asked, 1);
    let expected = "p stay_first\n...";
    trace::expect_whole(kernel, &asked.reports[0], expected, "incomplete: ");
}

/// As in reports: on x86-64 the frame pointer leads on; on AArch64 the caller has none.
fn stray_stack_pointer(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-stray-stack", 1);
    expect_count(&asked, 1);
    let report = &asked.reports[0];
    let says = ", in no stack, interrupts masked";
    assert!(report.panicked.ends_with(says), "{}", report.panicked);
    let known = format!("p stay_stack_pointer\nf {SCENARIO}lost::stray_stack_pointer\n");
    let doubt = "from frame 1 on by frame pointer (the stack pointer 0x0000000043434340 is outside all stacks that the backtrace may enter), ";
    let (expected, end) = match kernel.arch {
        Arch::X86_64 => (known, "outermost function reached"),
        Arch::Aarch64 => (
            format!("{known}..."),
            "incomplete: the unwind row needs the stack pointer, whose value is unknown",
        ),
    };
    trace::expect(kernel, report, &expected, &format!("{end}, {doubt}"));
}

fn overwritten_stack(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-overwritten-stack", 1);
    expect_count(&asked, 1);
    // On AArch64 the link has seen that the function overwrites what its row names, and has left it without.
    let end = match kernel.arch {
        Arch::X86_64 => "incomplete: the return address is null, from frame 1 on by scanning, ",
        Arch::Aarch64 => "incomplete: no unwind row for ",
    };
    trace::expect_whole(kernel, &asked.reports[0], "p lie_overwritten\n...", end);
}

/// No memory can be read. On AArch64 each exception overwrites where the one before it came from.
fn no_tables(kernel: Kernel) {
    let image = image(kernel);
    match kernel.arch {
        Arch::X86_64 => {
            let asked = ended(&image, "hang-no-tables");
            assert_eq!(asked.ran.status, 1, "{}", asked.ran.words);
            let reason = "inspected by the runner, because the machine reset itself: ";
            assert!(asked.text.starts_with(reason), "{}", asked.text);
            expect_count(&asked, 1);
            let report = &asked.reports[0];
            let sources = &report.frames[0].sources;
            // The instruction after the write to the register: without inlining, of the function that writes. In an optimized kernel, the
            // compiler may inline `forget_tables` into its caller.
            let functions: &[&str] = match kernel.profile.is_optimized() {
                true => &[
                    "kernel::bad::x86_64::forget_tables",
                    "kernel::scenario::hangs::lost::no_tables",
                ],
                false => &["<x86_64::registers::control::Cr3>::write_raw_impl"],
            };
            let is_there = sources
                .iter()
                .any(|source| functions.contains(&&*source.name));
            assert!(is_there, "{}", asked.text);
            assert_eq!(report.frames.len(), 1, "{}", asked.text);
            let end = "end of backtrace: incomplete: the stack word at ";
            assert!(report.end.starts_with(end), "{}", report.end);
        }
        Arch::Aarch64 => {
            let asked = interrupted(&image, "hang-no-tables", 1);
            expect_count(&asked, 1);
            let expected = "p exception_4\n-- interrupted, stack exception\np exception_4";
            trace::expect_whole(kernel, &asked.reports[0], expected, "incomplete: ");
        }
    }
}

/// The other CPUs are where firmware, or the machine, keeps them.
fn not_started(kernel: Kernel) {
    let asked = early(kernel, "hang-early", "4");
    let looks = "r~ kernel::scenario::early::run";
    let expected = format!("{}{looks}", functions(&["spin", "early"]));
    trace::expect(kernel, &asked.reports[0], &expected, "complete, ");
    match kernel.arch {
        Arch::X86_64 => {
            expect_count(&asked, 1);
            for cpu in 1..4 {
                let begin = format!("cpu {cpu} is not in 64-bit mode, at ");
                let mut lines = asked.text.lines();
                let line = lines.find(|line| line.starts_with(&begin));
                let is_halted = line.is_some_and(|line| line.ends_with(", halted"));
                assert!(is_halted, "{}", asked.text);
            }
        }
        // They are switched off, with the registers that QEMU gives all CPUs.
        Arch::Aarch64 => {
            expect_count(&asked, 4);
            for report in &asked.reports[1..] {
                expect_without_stack(report, "boot_entry");
                let is_halted = report.panicked.ends_with(", halted");
                assert!(is_halted, "{}", report.panicked);
            }
        }
    }
}
