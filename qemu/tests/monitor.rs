//! The monitor, as somebody at the serial line uses it.

use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use crate::support::built::image;
use crate::support::each::kernel_tests;
use crate::support::report::Report;
use crate::support::runner::command;
use crate::support::session::Session;
use crate::support::{symbols, terminal, trace};
use qemu::build::{Kernel, Profile};
use qemu::machine::Arch;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, tcgetattr};

kernel_tests! { every:
    a_line_is_edited_as_elsewhere,
    commands_answer_until_a_panic_ends_it,
    registers_of_what_was_interrupted_are_shown_when_asked_for,
    a_fault_is_reported_with_the_command_that_caused_it,
}

kernel_tests! { debug:
    a_hang_is_found,
    an_overflow_is_reported,
}

/// A monitor that waits for its first command.
fn monitor(kernel: Kernel) -> Session {
    let mut session = Session::start(&image(kernel), "monitor", &[]);
    session.wait_for("\n> ");
    session
}

/// Keys, what a terminal then shows, and the column of its cursor. All of them make the command `heap`, and Tab after it
/// makes a space.
const EDITS: &[(&str, &str, u16)] = &[
    ("heap", "> heap ", 7),
    // Left, and Backspace of either kind.
    ("hexp\x1b[D\x7fa", "> heap", 5),
    ("hexp\x02\x08a\x06", "> heap ", 7),
    // Home and End, as they come from different terminals, and as Ctrl-A and Ctrl-E.
    ("ea\x1b[Hh\x1b[Fp", "> heap ", 7),
    ("ea\x1bOHh\x1bOFp", "> heap ", 7),
    ("ea\x1b[1~h\x1b[4~p", "> heap ", 7),
    ("ea\x01h\x05p", "> heap ", 7),
    // To the start, to the end, a word back and forth.
    ("rubbish\x15heap", "> heap ", 7),
    (
        "heaprubbish\x1b[1;5D\x1b[C\x1b[C\x1b[C\x1b[C\x0b",
        "> heap ",
        7,
    ),
    ("heap and  rubbish\x17\x17", "> heap ", 7),
    (
        "eap  words\x1bb\x1bb\x1b[1;5D\x1b[1;5Dh\x1bf\x0b",
        "> heap ",
        7,
    ),
    // The character at the cursor, by Delete and by Ctrl-D.
    ("hxxeap\x01\x1b[C\x1b[3~\x04", "> heap", 3),
    // Keys that mean nothing here, and bytes that no key sends.
    ("he\x1b[17~\x1b[1;2P\x1bOQ\u{e4}\x00ap", "> heap ", 7),
    // The only command that begins so.
    ("hea\t", "> heap ", 7),
    // The line before, and back to the one that was being typed.
    ("rubb\x1b[A", "> heap ", 7),
    ("he\x1b[A\x1b[B\x10\x0eap", "> heap ", 7),
    // A new screen.
    ("he\x0cap", "> heap ", 7),
];

fn a_line_is_edited_as_elsewhere(kernel: Kernel) {
    let mut session = monitor(kernel);
    let used = session.command("heap");
    assert!(
        used.ends_with(" of 1048576 bytes of the heap are used"),
        "{used}"
    );
    for (keys, line, cursor) in EDITS {
        // Tab has nothing to say but a bell, at the latest the second time: after all the keys before it.
        session.press(&format!("{keys}\t\t"));
        session.wait_for("\x07");
        let shown = session.shown();
        assert_eq!(shown, ((*line).to_owned(), *cursor), "{kernel:?}: {keys:?}");
        session.press("\r");
        session.wait_for(&format!("{used}\n> "));
    }
    given_up(&mut session);
    too_long(&mut session);
    // The end of the input ends the machine.
    session.hang_up();
    session.end().expect(0);
}

/// Ctrl-C gives a line up, and the next one is empty.
#[track_caller]
fn given_up(session: &mut Session) {
    session.press("panic\x03");
    session.wait_for("panic^C\n> ");
    let said = unknown(session, "bogus");
    assert_eq!(session.command("bogus"), said);
}

/// No line is longer than what there is room for; the rest is refused.
#[track_caller]
fn too_long(session: &mut Session) {
    let said = unknown(session, &"x".repeat(120));
    session.press(&format!("{}\r", "x".repeat(1000)));
    session.wait_for(&said);
    session.wait_for("\n> ");
}

/// One line, which says what there is: all that `help` lists.
#[track_caller]
fn unknown(session: &mut Session, name: &str) -> String {
    let help = session.command("help");
    let names: Vec<_> = help
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.starts_with(&["help", "bt"]), "{help}");
    format!(
        "unknown command `{name}`; expected one of: {}",
        names.join(" ")
    )
}

fn commands_answer_until_a_panic_ends_it(kernel: Kernel) {
    let mut session = monitor(kernel);
    let help = session.command("help");
    for (command, about) in [
        ("lookup ADDRESS", "print the function, file and line at"),
        ("bt", "print the backtrace of the monitor"),
    ] {
        let line = help
            .lines()
            .find(|line| line.trim_start().starts_with(command));
        assert!(line.is_some_and(|line| line.contains(about)), "{help}");
    }
    backtrace(kernel, &mut session);
    look_up(kernel, &mut session);
    assert_eq!(
        session.command("lookup"),
        "lookup: missing address: expected up to 16 hexadecimal digits"
    );
    assert_eq!(
        session.command("fault nowhere"),
        "fault: invalid address `nowhere`: expected up to 16 hexadecimal digits"
    );
    assert_eq!(session.command("bt x"), "bt: unknown argument `x`");

    // The machine begins anew, and so does the monitor.
    session.press("reboot\r");
    session.wait_for("scenario monitor");
    session.wait_for("\n> ");
    session.press("panic at the  monitor\r");
    let ran = session.end().expect(101).expect_words("panicked");
    let report = Report::find(&ran.serial);
    assert!(
        report.panicked.ends_with(": at the  monitor"),
        "{}",
        report.panicked
    );
    assert!(
        report.end.starts_with("end of backtrace: complete, "),
        "{}",
        report.text
    );
}

/// The callers of the command, down to the kernel's entry.
#[track_caller]
fn backtrace(kernel: Kernel, session: &mut Session) {
    let answer = session.command("bt");
    let report = Report::find(format!("panicked at \n{answer}").as_bytes());
    let callers = "p kernel::monitor::commands::backtrace
                   r~ kernel::monitor::commands::run
                   r~ kernel::monitor::run";
    trace::expect(kernel, &report, callers, "complete, ");
}

/// What `bt` names has the same name when it is looked up, and other memory is told apart.
#[track_caller]
fn look_up(kernel: Kernel, session: &mut Session) {
    let answer = session.command("bt");
    let report = Report::find(format!("panicked at \n{answer}").as_bytes());
    let frame = &report.frames[0];
    let address = frame.address;
    let name = frame.name.as_deref().expect("a name");
    let said = session.command(&format!("lookup {address:#x}"));
    let begin = format!("{address:#018x}: {name}+0x");
    assert!(said.starts_with(&begin), "{kernel:?}: {said}");
    assert!(
        said.contains(" at kernel/src/monitor/commands.rs:"),
        "{kernel:?}: {said}"
    );
    let data = std::fs::read(image(kernel)).expect("the image can be read");
    let file = object::File::parse(&*data).expect("the image is ELF");
    let boot = symbols::array(&file, "STACKS_BOOT");
    let expected = [
        (boot.first + boot.guard, "stack boot"),
        (boot.first + boot.guard - 1, "stack boot overflowed"),
        (symbols::address(&file, "__sframe_start"), "constants"),
        (symbols::address(&file, "__data_start"), "variables"),
    ];
    for (address, kind) in expected {
        let said = session.command(&format!("lookup {address:x}"));
        assert_eq!(said, format!("{address:#018x}: {kind}"), "{kernel:?}");
    }
    assert_eq!(
        session.command("lookup 10"),
        "0x0000000000000010: outside the kernel image"
    );
}

fn registers_of_what_was_interrupted_are_shown_when_asked_for(kernel: Kernel) {
    let mut session = Session::start(&image(kernel), "monitor", &["--cpus", "2"]);
    session.wait_for("\n> ");
    let brief = session.command("bt");
    assert!(!brief.contains("-----"), "{brief}");
    let full = session.command("bt full");
    trace::expect_registers(kernel, &full, "   ----- breakpoint");
    let report = Report::find(format!("panicked at \n{full}").as_bytes());
    assert!(
        report.end.starts_with("end of backtrace: complete, "),
        "{full}"
    );

    let others = session.command("cpus");
    let mut lines = others.lines();
    assert_eq!(lines.next(), Some("the monitor runs on cpu 0"), "{others}");
    let second = lines.next().unwrap_or_default();
    assert!(
        second.starts_with("cpu 1, task ") && second.contains(", stopped at 0xffff"),
        "{others}"
    );
    let last = lines.next_back().unwrap_or_default();
    assert!(last.starts_with("end of backtrace: complete, "), "{others}");
    // It goes on, and is stopped again: perhaps elsewhere, as its timer ticks for the watchdog.
    let again = session.command("cpus");
    let last = again.lines().next_back().unwrap_or_default();
    assert!(last.starts_with("end of backtrace: complete, "), "{again}");

    session.press("exit\r");
    session.end().expect(0);
}

fn a_fault_is_reported_with_the_command_that_caused_it(kernel: Kernel) {
    let mut session = monitor(kernel);
    let symbols = std::fs::read(image(kernel)).expect("the image can be read");
    let file = object::File::parse(&*symbols).expect("the image is ELF");
    let readable = symbols::address(&file, "__sframe_start");
    // The magic number and version of SFrame.
    let answer = session.command(&format!("fault {readable:x}"));
    assert!(
        answer.starts_with("the read raised no exception, and returned the word at "),
        "{answer}"
    );
    assert!(answer.ends_with("03dee2"), "{answer}");

    session.press("fault 0x10\r");
    let ran = session.end().expect(101);
    let report = Report::find(&ran.serial);
    assert!(
        report.panicked.contains(": read of 0x0000000000000010, "),
        "{}",
        report.panicked
    );
    let callers = "p kernel::monitor::commands::fault
                   r~ kernel::monitor::commands::run
                   r~ kernel::monitor::run";
    trace::expect(kernel, &report, callers, "complete, ");
}

/// By another CPU, which says where.
fn a_hang_is_found(kernel: Kernel) {
    let mut session = Session::start(&image(kernel), "monitor", &["--cpus", "2"]);
    session.wait_for("\n> ");
    session.press("hang\r");
    let report = Report::find(&session.end().expect(101).serial);
    assert!(
        report.panicked.starts_with("hang on cpu 0: "),
        "{}",
        report.text
    );
    let functions = ["hang", "run"].map(|name| format!("kernel::monitor::commands::{name}"));
    let names = report.names();
    assert!(
        functions.iter().all(|name| names.contains(&name.as_str())),
        "{}",
        report.text
    );
    assert!(
        report.end.starts_with("end of backtrace: complete, "),
        "{}",
        report.text
    );
}

fn an_overflow_is_reported(kernel: Kernel) {
    let mut session = monitor(kernel);
    session.press("overflow\r");
    let report = Report::find(&session.end().expect(101).serial);
    assert!(
        report.panicked.contains("guard page of stack boot"),
        "{}",
        report.panicked
    );
    assert!(
        report.end.starts_with("end of backtrace: complete, "),
        "{}",
        report.text
    );
}

/// `kill` of the runner, from another terminal.
#[test]
fn the_terminal_is_what_it_was_when_the_runner_is_killed() {
    let kernel = Kernel {
        arch: Arch::X86_64,
        profile: Profile::Debug,
    };
    let shows_keys = |terminal: &OwnedFd| {
        let modes = tcgetattr(terminal).expect("a terminal").local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON)
    };
    let (_other_end, terminal) = terminal::pair();
    assert!(shows_keys(&terminal));
    let mut runner = command()
        .args(["--interactive", "--timeout", "120", "--image"])
        .arg(image(kernel))
        .arg("monitor")
        .stdin(terminal.try_clone().expect("one more"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the runner starts");
    let output = BufReader::new(runner.stdout.take().expect("a pipe"));
    let first = output.lines().next().expect("a line");
    assert!(first.is_ok_and(|line| line.starts_with("kernel on ")));
    assert!(!shows_keys(&terminal));
    let pid = Pid::from_child(&runner);
    kill_process(pid, Signal::TERM).expect("it runs");
    let status = runner.wait().expect("it ends");
    assert_eq!(status.signal(), Some(Signal::TERM.as_raw()));
    assert!(shows_keys(&terminal));
}
