//! Starts the runner as a user does, without `cargo run --`.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use qemu::output::CI_VARIABLES;

use super::log::{self, Kind};
pub use super::ran::Ran;

/// The runner's command, in no CI system: there it changes what would command that.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unwind-qemu"));
    for name in CI_VARIABLES {
        command.env_remove(name);
    }
    command
}

/// Copies the runner to a folder, as `cargo install` does. Another process copies it: a program cannot start while a process has it open for
/// writing, and a process that another test starts during the copy would inherit the open file.
pub fn installed(folder: &Path) -> PathBuf {
    let copy = folder.join("unwind-qemu");
    let status = Command::new("cp")
        .args([env!("CARGO_BIN_EXE_unwind-qemu").as_ref(), copy.as_path()])
        .status()
        .expect("cp starts");
    assert!(status.success(), "the runner can be copied");
    copy
}

/// Runs the runner.
pub fn run<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Ran {
    let mut command = command();
    command.args(arguments);
    let begun = Instant::now();
    let output = command.output().expect("the runner starts");
    ran(&command, begun, output)
}

/// Runs the runner with this as its standard input.
pub fn fed<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>, input: &str) -> Ran {
    let mut command = command();
    let begun = Instant::now();
    let mut runner = command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the runner starts");
    let mut pipe = runner.stdin.take().expect("a pipe");
    let input = input.as_bytes().to_vec();
    // More than a pipe holds is read only while what comes of it is read, too.
    let writer = std::thread::spawn(move || pipe.write_all(&input));
    let output = runner.wait_with_output().expect("the runner ends");
    writer.join().expect("no panic").expect("all of it is read");
    ran(&command, begun, output)
}

/// Calls `run` with a time limit in seconds, and again with twice the time until `is_there` finds what the machine does before it hangs. A
/// busy host then decides only how long the test takes.
///
/// # Panics
/// If a run does not end because its time ran out, or `is_there` finds nothing in the longest one.
#[track_caller]
pub fn until_time_runs_out(run: impl Fn(&str) -> Ran, is_there: impl Fn(&Ran) -> bool) -> Ran {
    for seconds in ["2", "4", "8", "16", "32"] {
        let ran = run(seconds).expect(124).expect_words("timed out after ");
        if is_there(&ran) {
            return ran;
        }
    }
    panic!("the machine does not come to where it hangs");
}

fn ran(command: &Command, begun: Instant, output: Output) -> Ran {
    let words: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
    log::add(Kind::Runner, begun, "", &words.join(" "), None);
    Ran {
        status: output.status.code().expect("the runner is not killed"),
        serial: output.stdout,
        words: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
