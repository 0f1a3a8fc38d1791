//! What a CI system gets of boots: JUnit, JSON, the serial line in a file, and the end of what failed in a fold.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::built::{self, target};
use crate::support::runner::{Ran, command, run};
use crate::support::session::Session;
use crate::support::tiny::{self, Act};
use qemu::build::{Kernel, Profile};
use qemu::machine::Arch;
use qemu::output::CI_VARIABLES;
use qemu::setup;
use serde_json::Value;

/// What xmllint says of a file, by the schema.
fn validate(file: &Path) {
    let xmllint =
        setup::program("xmllint", "libxml2-utils", &target()).expect("xmllint is to be had");
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/results/junit.xsd");
    let output = Command::new(xmllint)
        .args(["--noout", "--schema", schema])
        .arg(file)
        .output()
        .expect("xmllint starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{said}\n{}",
        fs::read_to_string(file).unwrap()
    );
}

/// The second run begins and ends while the first one goes on: each keeps the serial line of its own machine.
#[test]
fn two_runs_at_once_keep_their_own() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let image = built::image(built::kernel("x86_64_release"));
    let files = ["first.json", "second.json"].map(|name| folder.path().join(name));
    let arguments = |json: &Path, scenario: &str| -> [OsString; 7] {
        let words = ["--timeout", "60", "--json"].map(OsString::from);
        let [timeout, seconds, option] = words;
        let image = image.clone().into();
        [
            timeout,
            seconds,
            option,
            json.into(),
            "--image".into(),
            image,
            scenario.into(),
        ]
    };
    let mut first = Session::of(command().args(arguments(&files[0], "hang-masked")));
    first.wait_for("the scenario prints nothing after this line");
    let second = run(arguments(&files[1], "panic")).expect(101);
    first.interrupt();
    let first = first.end().expect(130);
    let [of_first, of_second] = files.map(|file| {
        let text = fs::read_to_string(file).expect("there is a file");
        let line: Value = serde_json::from_str(&text).expect("a line of JSON");
        line["log"].as_str().expect("a path").to_owned()
    });
    assert_ne!(of_first, of_second);
    let read = |log: &str| fs::read(log).expect("a log");
    assert_eq!(read(&of_first), first.serial);
    assert_eq!(read(&of_second), second.serial);
}

#[test]
fn scenarios_become_test_cases() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [json, junit] = ["boots.json", "new/boots.xml"].map(|name| folder.path().join(name));
    let ran = run([
        "--json".as_ref(),
        json.as_os_str(),
        "--junit".as_ref(),
        junit.as_os_str(),
        "ok".as_ref(),
        "panic".as_ref(),
    ])
    .expect(0);

    let lines = fs::read_to_string(&json).expect("there is a file");
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let told: Vec<_> = lines
        .iter()
        .map(|line| (line["scenario"].as_str(), line["status"].as_u64()))
        .collect();
    assert_eq!(told, [(Some("ok"), Some(0)), (Some("panic"), Some(0))]);
    let logs = lines
        .iter()
        .map(|line| fs::read(line["log"].as_str().expect("a path")).expect("a log"));
    assert_eq!(
        logs.flatten().collect::<Vec<u8>>(),
        ran.serial,
        "the serial lines are kept"
    );

    validate(&junit);
    let text = fs::read_to_string(&junit).expect("there is a file");
    assert!(
        text.contains("<testsuite name=\"x86_64-debug\" tests=\"2\""),
        "{text}"
    );
    assert!(
        text.contains("kernel::scenario::panic::second"),
        "the serial line is in it: {text}"
    );
}

/// A serial line with what XML has no characters for, of an image that fails.
#[test]
fn a_failure_is_told_everywhere() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let acts = [
        Act::Print(b"one\n\x1b[31mtwo\x00\xff & <three>\n"),
        // U+FFFE, U+FFFF, U+0085; a string of the terminal's that does not end
        Act::Print(b"\xef\xbf\xbe\xef\xbf\xbf\xc2\x85\x08\x0b\x0c\x7f]]>\x1b]0;four\n"),
        Act::Exit(101),
    ];
    let image = tiny::image(folder.path(), Arch::X86_64, &acts);
    let [json, junit] = ["boots.json", "boots.xml"].map(|name| folder.path().join(name));
    let output = command()
        .args([
            "--json".as_ref(),
            json.as_os_str(),
            "--junit".as_ref(),
            junit.as_os_str(),
        ])
        .args(["--image".as_ref(), image.as_os_str()])
        .env("GITHUB_ACTIONS", "true")
        .output()
        .expect("the runner starts");
    assert_eq!(output.status.code(), Some(101));
    let words = String::from_utf8_lossy(&output.stderr);
    let (_, fold) = words
        .split_once("::group::tiny-x86_64: the last lines of ")
        .expect("a fold begins");
    let (fold, _) = fold.split_once("::endgroup::").expect("a fold ends");
    assert!(fold.contains("\none\n"), "{fold}");
    assert!(fold.contains("& <three>\n"), "{fold}");

    let line: Value =
        serde_json::from_slice(&fs::read(&json).expect("there is a file")).expect("JSON");
    assert_eq!(
        (&line["status"], &line["words"]),
        (&101.into(), &"panicked".into())
    );
    validate(&junit);
    let text = fs::read_to_string(&junit).expect("there is a file");
    assert!(text.contains("failures=\"1\""), "{text}");
    assert!(text.contains("<failure message=\"panicked\""), "{text}");
}

/// Where its CPUs were is in both files, and in a fold of its own.
#[test]
fn a_hang_is_told_everywhere() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let image = tiny::image(folder.path(), Arch::Aarch64, &[Act::Spin]);
    let [json, junit] = ["boots.json", "boots.xml"].map(|name| folder.path().join(name));
    let output = command()
        .args(["--guest-timeout", "1", "--json"])
        .arg(&json)
        .arg("--junit")
        .arg(&junit)
        .arg("--image")
        .arg(&image)
        .env("GITHUB_ACTIONS", "true")
        .output()
        .expect("the runner starts");
    assert_eq!(output.status.code(), Some(124));
    let words = String::from_utf8_lossy(&output.stderr);
    let (_, fold) = words
        .split_once("::group::backtraces of all CPUs\n")
        .expect("a fold begins");
    let (fold, _) = fold.split_once("::endgroup::").expect("a fold ends");
    assert!(
        fold.contains("\ncpu 0, stopped at 0x00000000402000"),
        "{fold}"
    );
    assert!(fold.contains("\nend of backtrace: incomplete: "), "{fold}");

    let line: Value =
        serde_json::from_slice(&fs::read(&json).expect("there is a file")).expect("JSON");
    assert_eq!(line["status"], 124);
    assert_eq!(line["asked"], Value::from(vec![fold]));
    validate(&junit);
    let text = fs::read_to_string(&junit).expect("there is a file");
    let (_, error) = text.split_once("<system-err>").expect("it is there");
    assert!(
        error.contains("cpu 0, stopped at 0x00000000402000"),
        "{text}"
    );
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let image = tiny::image(folder.path(), Arch::X86_64, &[Act::Exit(33)]);
    run([
        "--json".as_ref(),
        folder.path().as_os_str(),
        "--image".as_ref(),
        image.as_os_str(),
    ])
    .expect(1)
    .expect_words("cannot write ");
}

/// Boots an image that prints `text` and panics, as `shell` does with the runner's command line.
fn run_in(shell: &str, arguments: &[&OsStr], text: &[u8]) -> Ran {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let image = tiny::image(
        folder.path(),
        Arch::X86_64,
        &[Act::Print(text), Act::Exit(101)],
    );
    let unset = format!("unset {}", CI_VARIABLES.join(" "));
    let output = Command::new("sh")
        .args(["-c", &format!("{unset}; {shell}; exec \"$@\""), "sh"])
        .arg(env!("CARGO_BIN_EXE_unwind-qemu"))
        .args(arguments)
        .args(["--image".as_ref(), image.as_os_str()])
        .output()
        .expect("a shell starts");
    Ran {
        status: output.status.code().expect("the runner is not killed"),
        serial: output.stdout,
        words: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// As on a disk that is full: files of more than 4,096 bytes cannot be written.
#[test]
fn a_file_is_replaced_whole_or_not_at_all() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let junit = folder.path().join("boots.xml");
    fs::write(&junit, "of an earlier run").expect("it can be written");
    let arguments = ["--junit".as_ref(), junit.as_os_str()];
    let text = [b'x'; 3900];
    run_in("trap '' XFSZ; ulimit -f 8", &arguments, &text)
        .expect(1)
        .expect_words("cannot write ");
    let kept = fs::read_to_string(&junit).expect("there is a file");
    assert_eq!(kept, "of an earlier run");
    let files = fs::read_dir(folder.path()).expect("it is a folder");
    assert_eq!(files.count(), 1, "no other file is left");
    run_in(":", &arguments, &text).expect(101);
    validate(&junit);
}

/// The copy of the serial line in the target folder is written unasked.
#[test]
fn what_came_of_a_boot_needs_no_copy_of_the_serial_line() {
    let ran = run_in("trap '' XFSZ; ulimit -f 8", &[], &[b'x'; 5000]);
    let ran = ran.expect(101).expect_words("warning: cannot write ");
    assert_eq!(ran.serial.len(), 5000);
}

/// The fold has what the report itself does not say, and no list that standard output has decoded already.
#[test]
fn a_failed_boot_is_shown_decoded() {
    let image = built::image(Kernel {
        arch: Arch::X86_64,
        profile: Profile::Debug,
    });
    let image = image.to_str().expect("a path in UTF-8");
    let output = command()
        .args(["--image", image, "panic"])
        .env("GITHUB_ACTIONS", "true")
        .output()
        .expect("the runner starts");
    assert_eq!(output.status.code(), Some(101));
    let words = String::from_utf8_lossy(&output.stderr);
    let (_, fold) = words.split_once("::group::").expect("a fold begins");
    let column = "kernel::scenario::panic::second::<[u8; 3]>+0x";
    assert!(fold.contains(column), "{fold}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains(column));

    let ran = run(["--decode", "--image", image, "panic"]).expect(101);
    let text = ran.text();
    assert!(text.contains(column), "{text}");
    let (_, again) = ran
        .words
        .split_once("the last lines of ")
        .expect("it is shown");
    let end = "\n   (the backtrace is on standard output)\nend of backtrace: complete, ";
    assert!(again.contains(end), "{again}");
    assert!(again.contains("\npanicked at "), "{again}");
    assert!(!again.contains(": 0x"), "{again}");
}
