//! Standard output as somebody has it who reads: slowly or not at all, at a terminal, as a CI system.

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};

use crate::support::built::{emulator, target};
use crate::support::event;
use crate::support::runner::{Ran, command, until_time_runs_out};
use crate::support::session::Session;
use crate::support::terminal;
use crate::support::tiny::{self, Act};
use qemu::machine::Arch;
use tempfile::TempDir;

/// An image that prints this and exits, and the folder that it is in. Its name is that of its log.
fn printing(name: &str, text: &[u8], status: u8) -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let acts = [Act::Print(text), Act::Exit(status)];
    let image = tiny::image(folder.path(), Arch::X86_64, &acts);
    let named = folder.path().join(format!("{name}.elf"));
    fs::rename(image, &named).expect("it can be renamed");
    (folder, named)
}

/// Waits for the end. Returns the exit status.
fn wait(mut runner: Child) -> Option<i32> {
    let end = move || runner.wait().expect("it can be waited for").code();
    event::wait("the runner does not end", end)
}

/// A pipe that takes no byte more until its reader takes some.
fn full_pipe() -> (PipeReader, PipeWriter) {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

    let (reader, mut writer) = std::io::pipe().expect("a pipe can be made");
    let flags = fcntl_getfl(&writer).expect("it has flags");
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).expect("it has flags");
    let full = loop {
        if let Err(error) = writer.write(&[b'.'; 4096]) {
            break error.kind();
        }
    };
    assert_eq!(full, ErrorKind::WouldBlock);
    fcntl_setfl(&writer, flags).expect("it has flags");
    (reader, writer)
}

#[test]
fn time_runs_out_although_nobody_reads() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let image = tiny::image(folder.path(), Arch::X86_64, &[Act::Flood]);
    let said = folder.path().join("said");
    let run = |seconds: &str| {
        let (_reader, full) = full_pipe();
        let runner = command()
            .args(["--timeout", seconds, "--image"])
            .arg(&image)
            .stdout(full)
            .stderr(File::create(&said).expect("a file can be made"))
            .spawn()
            .expect("the runner starts");
        Ran {
            status: wait(runner).expect("the runner is not killed"),
            serial: Vec::new(),
            words: fs::read_to_string(&said).expect("it is text"),
        }
    };
    until_time_runs_out(run, |ran| {
        ran.words.contains("standard output was not read in time")
    });
}

/// More than a pipe holds. The reader begins when the machine has ended.
#[test]
fn who_reads_late_gets_all() {
    let text: Vec<u8> = (b' '..b'~').cycle().take(200_000).collect();
    let (folder, image) = printing("late", &text, 33);
    let machine = folder.path().join("machine");
    let script = format!(
        "#!/bin/sh\n{} \"$@\"\nstatus=$?\necho the machine has ended >&2\nexit $status\n",
        emulator(Arch::X86_64).display()
    );
    fs::write(&machine, script).expect("it can be written");
    fs::set_permissions(&machine, Permissions::from_mode(0o755)).expect("it is ours");
    let mut runner = command()
        .arg("--image")
        .arg(&image)
        .arg("--")
        .arg(machine)
        .args(["-nodefaults", "-machine", "q35,accel=tcg", "-m", "256M"])
        .args(["-device", "isa-debug-exit,iobase=0xf4,iosize=0x04"])
        .arg("-kernel")
        .arg(&image)
        .args(["-serial", "stdio"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the runner starts");
    let mut words = BufReader::new(runner.stderr.take().expect("a pipe")).lines();
    let ended = words.find(|line| {
        line.as_ref()
            .is_ok_and(|line| line == "the machine has ended")
    });
    assert!(ended.is_some(), "the runner has ended before");
    let others = std::thread::spawn(move || words.map_while(Result::ok).last());
    let mut read = Vec::new();
    let mut pipe = runner.stdout.take().expect("a pipe");
    pipe.read_to_end(&mut read).expect("it can be read");
    // The status is that of a script that outlives QEMU, which is no verdict.
    assert_eq!(wait(runner), Some(1));
    others.join().expect("no panic");
    assert!(read == text, "{} of {} bytes", read.len(), text.len());
}

/// A megabyte of a kernel that gives a byte up when its serial line does not become free, all of it while the runner is stopped: it is on a
/// host that has no time for it.
#[test]
fn a_stopped_runner_loses_nothing_of_a_line_that_gives_up() {
    const BYTES: u32 = 1_000_000;
    let folder = tempfile::tempdir().expect("a folder can be made");
    let acts = [
        Act::Print(b"ready\n"),
        Act::Await,
        Act::Hurry(BYTES),
        Act::Exit(33),
    ];
    let image = tiny::image(folder.path(), Arch::X86_64, &acts);
    let starts = folder.path().join("starts");
    for arguments in [&[][..], &["--interactive"]] {
        let mut command = command();
        command.args(arguments).arg("--image").arg(&image).arg("--");
        command
            .arg(emulator(Arch::X86_64))
            .args(["-nodefaults", "-machine", "q35,accel=tcg", "-m", "256M"])
            .args(["-device", "isa-debug-exit,iobase=0xf4,iosize=0x04"])
            .arg("-kernel")
            .arg(&image)
            .args(["-serial", "stdio", "-serial"])
            .arg(format!("unix:{},server=on,wait=off", starts.display()));
        let mut session = Session::of(&mut command);
        session.wait_for("ready\n");
        session.stop();
        let mut machine = UnixStream::connect(&starts).expect("QEMU listens");
        machine.write_all(b"!").expect("QEMU reads");
        // The machine writes nothing there: the connection ends with it.
        let end = move || machine.read(&mut [0]);
        assert_eq!(event::wait("QEMU does not end", end).ok(), Some(0));
        session.go_on();
        let ran = session.end().expect(0);
        let text = ran.serial.strip_prefix(b"ready\n").expect("its first line");
        let whole = tiny::HURRIED.cycle().take(BYTES as usize);
        assert!(
            whole.eq(text.iter().copied()),
            "{arguments:?}: {} of {BYTES} bytes",
            text.len()
        );
    }
}

const ACTS: &[u8] =
    b"kernel::main\n  ::error::a\r\n::stop-commands::b\n##[error]c\nd##vso[task.complete]\n\
                      \x1b[31mred\x1b[0m\x1b[2J\x1b]0;title\x07\r::error::e\n\xc2\x9b2J\n";

/// What is seen of it.
const SEEN: &str = "\x1b[31mred\x1b[0m^[[2J^[]0;title^G^M::error::e\n\\u{9b}2J\n";

#[test]
fn what_a_machine_prints_commands_no_ci_system() {
    for variable in ["GITHUB_ACTIONS", "TF_BUILD", "CI"] {
        let (_folder, image) = printing("commands", ACTS, 101);
        let output = command()
            .arg("--image")
            .arg(image)
            .env(variable, "true")
            .output()
            .expect("the runner starts");
        let expected = format!(
            "kernel::main\n  : :error::a\r\n: :stop-commands::b\n## [error]c\nd##vso [task.complete]\n{SEEN}"
        );
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(words.contains(&expected.replace('\r', "")), "{words}");
        // The other tests' runs have folders, too: only the runner knows which is its own.
        let (_, named) = words
            .split_once("the last lines of ")
            .expect("a log is named");
        let (log, _) = named.split_once(".log").expect("by its whole path");
        let log = target().join(format!("{log}.log"));
        assert_eq!(fs::read(log).expect("there is a log"), ACTS);
    }
}

#[test]
fn what_a_machine_prints_moves_no_terminal() {
    let (_folder, image) = printing("terminal", ACTS, 101);
    let (ours, terminal) = terminal::pair();
    let runner = command()
        .arg("--image")
        .arg(image)
        .stdin(Stdio::null())
        .stdout(terminal)
        .stderr(Stdio::null())
        .spawn()
        .expect("the runner starts");
    assert_eq!(wait(runner), Some(101));
    // The command that it was started by has closed its end of the terminal.
    let (mut shown, mut buffer, mut ours) = (Vec::new(), [0; 4096], File::from(ours));
    while let Ok(length @ 1..) = ours.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..length]);
    }
    let shown = String::from_utf8_lossy(&shown).replace('\r', "");
    assert!(shown.contains("\n  ::error::a\n"), "{shown:?}");
    assert!(shown.ends_with(SEEN), "{shown:?}");
}

/// A log of anything, decoded.
#[test]
fn what_is_decoded_acts_no_more_than_what_is_booted() {
    let (folder, image) = printing("decoded", b"", 33);
    let log = folder.path().join("log");
    fs::write(&log, ACTS).expect("it can be written");
    let decode = |ci: Option<&str>| {
        let mut command = command();
        if let Some(ci) = ci {
            command.env("CI", ci);
        }
        command.arg("decode").arg(&log).arg("--image").arg(&image);
        command.output().expect("the runner starts").stdout
    };
    assert_eq!(decode(None), ACTS);
    assert_eq!(decode(Some("false")), ACTS);
    let shown = decode(Some("1"));
    let shown = String::from_utf8_lossy(&shown);
    assert!(
        shown.starts_with("kernel::main\n  : :error::a\r\n"),
        "{shown}"
    );
    assert!(shown.ends_with(SEEN), "{shown}");
}

/// Who types at a machine has the escapes of its line editor, and the CI system no commands.
#[test]
fn a_session_keeps_its_escapes() {
    let (_folder, image) = printing("session", ACTS, 33);
    let mut command = command();
    command
        .args(["--interactive", "--timeout", "60", "--image"])
        .arg(image);
    let ran = Session::of(command.env("CI", "true")).end().expect(0);
    let text = ran.text();
    assert!(
        text.starts_with("kernel::main\n  : :error::a\r\n"),
        "{text:?}"
    );
    assert!(
        text.contains("\x1b[2J\x1b]0;title\x07\r: :error::e\n\u{9b}2J"),
        "{text:?}"
    );
}
