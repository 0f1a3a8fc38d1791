//! The Raspberry Pi 4, which QEMU has from version 9.0 on.
//!
//! An older QEMU, such as Debian 12's, comes from a distribution that has no package of a newer one, so the set-up cannot
//! install it. There the result says that these tests are ignored, and why, in CI as well; a plain `#[test]` would have to
//! fail or to pass. That is why they run by libtest-mimic.

mod support;

use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Completion, Trial};
use qemu::build::{Kernel, Profile};
use qemu::machine::Arch;
use support::built::{emulator, kernel};
use support::expected;
use support::report::Report;
use support::runner::run;
use support::trace;

fn main() -> ExitCode {
    let test = |name: &'static str| {
        let test_name = format!("a_panic_is_the_same_report_on_raspi4b::{name}");
        Trial::ignorable_test(test_name, move || {
            if !has_board() {
                let why = "no raspi4b: QEMU has it from version 9.0 on";
                return Ok(Completion::ignored_with(why));
            }
            panic_on_raspi4b(kernel(name));
            Ok(Completion::Completed)
        })
    };
    let tests = vec![test("aarch64_debug"), test("aarch64_release")];
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

fn has_board() -> bool {
    let mut command = Command::new(emulator(Arch::Aarch64));
    let help = command.args(["-machine", "help"]).output();
    let help = help.expect("QEMU starts").stdout;
    String::from_utf8_lossy(&help).contains("raspi4b")
}

fn panic_on_raspi4b(kernel: Kernel) {
    let mut arguments = vec!["--board", "raspi4b"];
    if kernel.profile == Profile::Release {
        arguments.push("--release");
    }
    arguments.push("panic");
    let report = Report::find(&run(arguments).expect(0).serial);
    report.expect_complete();
    trace::expect(kernel, &report, &expected::panic(), "complete, ");
    let board = "kernel on raspi4, ";
    assert!(report.text.contains(board), "{}", report.text);
}
