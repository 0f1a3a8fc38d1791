//! The Raspberry Pi 4, which QEMU has from version 9.0 on.
//!
//! An older QEMU, such as Debian 12's, comes from a distribution that has no package of a newer one, so the set-up cannot
//! install it. There the result says that these tests are ignored, and why, in CI as well; a plain `#[test]` would have to
//! fail or to pass. That is why they run by libtest-mimic.

#[allow(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "a part of them is used"
)]
mod support;

use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Completion, Trial};
use qemu::build::{Kernel, Profile};
use qemu::machine::Arch;
use support::built::{emulator, kernel};
use support::expected;
use support::report::Report;
use support::runner::{Ran, run};
use support::trace;

fn main() -> ExitCode {
    let test = |test: &str, name: &'static str, run: fn(Kernel)| {
        Trial::ignorable_test(format!("{test}::{name}"), move || {
            if !has_board() {
                let why = "no raspi4b: QEMU has it from version 9.0 on";
                return Ok(Completion::ignored_with(why));
            }
            run(kernel(name));
            Ok(Completion::Completed)
        })
    };
    let kernels = ["aarch64_debug", "aarch64_release"];
    let tests = kernels.into_iter().flat_map(|name| {
        let panic = "a_panic_is_the_same_report_on_raspi4b";
        let several = "all_processors_are_there_and_stop_for_a_report";
        [
            test(panic, name, panic_on_raspi4b),
            test(several, name, several_cpus),
        ]
    });
    let tests = tests.collect();
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

fn has_board() -> bool {
    let mut command = Command::new(emulator(Arch::Aarch64));
    let help = command.args(["-machine", "help"]).output();
    let help = help.expect("QEMU starts").stdout;
    String::from_utf8_lossy(&help).contains("raspi4b")
}

/// `cargo run -- --board raspi4b [--release] SCENARIO…`, which judges each.
fn judged(kernel: Kernel, scenarios: &[&str]) -> Ran {
    let mut arguments = vec!["--board", "raspi4b"];
    if kernel.profile == Profile::Release {
        arguments.push("--release");
    }
    arguments.extend(scenarios);
    run(arguments).expect(0)
}

/// Its timers and NMIs, too.
fn several_cpus(kernel: Kernel) {
    let scenarios = ["cpus", "nmi", "silent-cpu", "hang", "tasks"];
    let ran = judged(kernel, &scenarios);
    let cpu = "cpu 3 runs and has hardware ID 0x3\n";
    assert!(ran.text().contains(cpu), "{}", ran.text());
}

fn panic_on_raspi4b(kernel: Kernel) {
    let report = Report::find(&judged(kernel, &["panic"]).serial);
    report.expect_complete();
    trace::expect(kernel, &report, &expected::panic(), "complete, ");
    let board = "kernel on raspi4, ";
    assert!(report.text.contains(board), "{}", report.text);
}
