//! The Raspberry Pi 4, which QEMU has from version 9.0 on, and not every distribution has that.

mod support;
#[path = "../../linker/tests/common/tools.rs"]
mod tools;

use std::process::{Command, ExitCode};

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
        tools::test(&test_name, has_board, || panic_on_raspi4b(kernel(name)))
    };
    tools::run(vec![test("aarch64_debug"), test("aarch64_release")])
}

fn has_board() -> Result<(), String> {
    let mut command = Command::new(emulator(Arch::Aarch64));
    let help = command.args(["-machine", "help"]).output();
    let help = help.expect("QEMU starts").stdout;
    match String::from_utf8_lossy(&help).contains("raspi4b") {
        true => Ok(()),
        false => Err("no raspi4b: QEMU has it from version 9.0 on".to_owned()),
    }
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
