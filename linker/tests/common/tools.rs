//! Tests that need what not every machine has. Where it is missing, the result says so: such a test is `ignored`, with the
//! reason; and it fails where `CI` is set, so that nobody takes a machine without the tool for one that has passed.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::process::{Command, ExitCode, Stdio};

use libtest_mimic::{Arguments, Completion, Trial};

/// A test, if what it needs is there; otherwise the error says what is missing, and how to get it.
pub fn test(
    name: &str,
    needs: impl FnOnce() -> Result<(), String> + Send + 'static,
    test: impl FnOnce() + Send + 'static,
) -> Trial {
    Trial::ignorable_test(name, || match needs() {
        Ok(()) => {
            test();
            Ok(Completion::Completed)
        }
        Err(missing) if std::env::var_os("CI").is_some() => Err(missing.into()),
        Err(missing) => Ok(Completion::ignored_with(missing)),
    })
}

/// Runs these tests as the whole of a test program.
pub fn run(tests: Vec<Trial>) -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

/// Fails unless these programs can be started, each with the Debian package that has it.
pub fn programs(programs: &[(&str, &str)]) -> Result<(), String> {
    let missing = programs.iter().find(|(program, _)| !starts(program));
    match missing {
        None => Ok(()),
        Some((program, package)) => Err(format!("no {program}: apt-get install {package}")),
    }
}

/// Whether a program can be started and asked for its version.
pub fn starts(program: &str) -> bool {
    let mut command = Command::new(program);
    command
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
