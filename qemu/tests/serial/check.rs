//! The check of a board: QEMU's Raspberry Pi 3 at a pseudo terminal, a person who presses Enter, and a line that damages bytes.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use portable::command_line::TYPED;
use rustix::pty::ptsname;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::built::{emulator, image};
use crate::support::runner::command;
use crate::support::session::Session;
use crate::support::terminal;
use qemu::build::{Kernel, Profile};
use qemu::machine::{Arch, Board};
use qemu::raspi::{Console, device_tree, flat};

const KERNEL: Kernel = Kernel {
    arch: Arch::Aarch64,
    profile: Profile::Debug,
};

/// A fault of the line: the byte after these is lost, or becomes another one. Each comes once.
#[derive(Clone, Copy)]
struct Fault {
    after: &'static [u8],
    becomes: Option<u8>,
}

/// A serial adapter, with a board that may be on or off.
struct Bench {
    folder: TempDir,
    /// The adapter's end of the line; without it the other end is gone.
    adapter: Arc<File>,
    /// Keeps the line while nobody has opened it.
    _line: OwnedFd,
    path: PathBuf,
    board: Arc<Mutex<Option<Child>>>,
}

/// Ends a machine.
fn switch_off(board: &Mutex<Option<Child>>) {
    if let Some(mut machine) = board.lock().expect("no panic").take() {
        machine.kill().expect("it runs");
        machine.wait().expect("it ends");
    }
}

impl Bench {
    fn new() -> Self {
        let (adapter, line) = terminal::pair();
        let name = ptsname(&adapter, Vec::new()).expect("it has a name");
        let path = name.to_str().expect("plain text").into();
        // The runner is not there yet, and an echo of the terminal's would be sent to the board.
        let mut modes = rustix::termios::tcgetattr(&line).expect("a terminal");
        modes.make_raw();
        let now = rustix::termios::OptionalActions::Now;
        rustix::termios::tcsetattr(&line, now, &modes).expect("a terminal");
        let bench = Self {
            folder: tempfile::tempdir().expect("a folder"),
            adapter: Arc::new(adapter.into()),
            _line: line,
            path,
            board: Arc::default(),
        };
        let (adapter, board) = (bench.adapter.clone(), bench.board.clone());
        std::thread::spawn(move || keys(&adapter, &board));
        bench
    }

    fn output(&self) -> PathBuf {
        self.folder.path().join("check.json")
    }

    /// Starts the check with these arguments.
    fn check(&self, arguments: &[&str]) -> Session {
        self.check_at(&self.path, arguments)
    }

    /// The same at another line.
    fn check_at(&self, line: &Path, arguments: &[&str]) -> Session {
        let mut command = command();
        command.arg("serial").arg(line);
        command.args(["--check", "--board", "raspi3", "--output"]);
        command.arg(self.output()).args(arguments);
        Session::of(&mut command)
    }

    /// The command of a board, without its line.
    fn machine(&self, image: &Path, console: Console) -> Command {
        let [kernel, tree] = ["kernel8.img", "tree"].map(|name| self.folder.path().join(name));
        std::fs::write(&kernel, flat(image).expect("an image")).expect("room");
        let bytes = device_tree(Board::Raspi3b, console).expect("a tree");
        std::fs::write(&tree, bytes).expect("room");
        let mut machine = Command::new(emulator(Arch::Aarch64));
        machine
            .args(["-nodefaults", "-no-user-config", "-display", "none"])
            .args(["-machine", "raspi3b", "-append", TYPED])
            .args(["-semihosting-config", "enable=on,target=native"])
            .arg("-kernel")
            .arg(kernel)
            .arg("-dtb")
            .arg(tree);
        if console == Console::MiniUart {
            machine.args(["-serial", "null"]);
        }
        machine
    }

    /// Switches the board on.
    fn switch_on(&self, image: &Path, console: Console, faults: &[Fault]) {
        switch_off(&self.board);
        let mut machine = self.machine(image, console);
        let machine = machine.args(["-serial", "stdio"]);
        let machine = machine.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut machine = machine.spawn().expect("QEMU starts");
        let from = machine.stdout.take().expect("a pipe");
        *self.board.lock().expect("no panic") = Some(machine);
        let (adapter, faults) = (self.adapter.clone(), faults.to_vec());
        std::thread::spawn(move || text(from, &adapter, faults));
    }

    /// The words of the verdicts that the file has.
    fn verdicts(&self) -> Vec<String> {
        let text = std::fs::read(self.output()).expect("there is a file");
        let packed: Value = serde_json::from_slice(&text).expect("it is JSON");
        let parts = packed["parts"].as_array().expect("a list");
        let verdict = |part: &Value| part["verdict"].as_str().expect("text").to_owned();
        parts.iter().map(verdict).collect()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        switch_off(&self.board);
    }
}

/// Passes on what the runner sends, to a board that is on.
fn keys(mut adapter: &File, board: &Mutex<Option<Child>>) {
    let mut buffer = [0; 256];
    while let Ok(length @ 1..) = adapter.read(&mut buffer) {
        let mut board = board.lock().expect("no panic");
        let to = board.as_mut().and_then(|machine| machine.stdin.as_mut());
        // A board that is off hears nothing.
        let _ = to.map(|to| to.write_all(&buffer[..length]).and_then(|()| to.flush()));
    }
}

/// Passes on what the board sends, with the faults.
fn text(mut from: impl Read, mut adapter: &File, mut faults: Vec<Fault>) {
    let (mut buffer, mut sent) = ([0; 4096], Vec::new());
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let mut passed = Vec::new();
        for byte in &buffer[..length] {
            let fault = faults.iter().position(|fault| sent.ends_with(fault.after));
            match fault.map(|at| faults.swap_remove(at)) {
                Some(fault) => passed.extend(fault.becomes),
                None => passed.push(*byte),
            }
            sent.push(*byte);
        }
        adapter.write_all(&passed).expect("somebody keeps the line");
    }
}

#[long]
fn every_step_is_equal_on_qemus_board() {
    let (bench, image) = (Bench::new(), image(KERNEL));
    let mut session = bench.check(&[]);
    session.wait_for("press Enter here, and switch the board's power on.\n");
    bench.switch_on(&image, Console::Pl011, &[]);
    session.press("\n");
    session.wait_for("Does the screen show the report");
    session.press("\n");
    session.wait_for("Press Enter here, and switch the board's power on.\n");
    bench.switch_on(&image, Console::MiniUart, &[]);
    session.press("\n");
    let text = session.end().expect(0).text();
    assert!(
        text.contains("2 panic: equal: the first backtrace (complete, 13 frames) and the 3 other backtraces match QEMU's output\n"),
        "{text}"
    );
    assert_eq!(bench.verdicts(), ["equal"; 9], "{text}");
    // The step after those that the file has.
    let mut session = bench.check(&["--from", "7"]);
    session.wait_for("Press Enter here, and switch the board's power on.\n");
    bench.switch_on(&image, Console::MiniUart, &[]);
    session.press("\n");
    session.end().expect(0);
    assert_eq!(bench.verdicts(), ["equal"; 9]);
}

/// Neither is called equal or different.
#[gate]
fn a_lost_byte_and_a_changed_one_are_damage() {
    let bench = Bench::new();
    let faults = [
        // In a size, a file's name and a report's first line.
        Fault {
            after: b"core::panicking::panic_fmt+0x2",
            becomes: None,
        },
        Fault {
            after: b"kernel/src/monitor/comm",
            becomes: Some(b'0'),
        },
        Fault {
            after: b"\nfault on cpu 0 at 0xffff0000",
            becomes: Some(b'3'),
        },
    ];
    let mut session = bench.check(&[]);
    session.wait_for("press Enter here, and switch the board's power on.\n");
    bench.switch_on(&image(KERNEL), Console::Pl011, &faults);
    session.press("\n");
    session.wait_for("4 stack-overflow: ");
    session.interrupt();
    let text = session.end().expect(130).text();
    let damaged = "damaged: 1 incomplete line:\n       1: 0x";
    assert!(text.contains(&format!("2 panic: {damaged}")), "{text}");
    assert!(text.contains("  2  panic           damaged\n"), "{text}");
    let verdicts = bench.verdicts();
    assert_eq!(
        verdicts[..4],
        ["equal", "damaged", "damaged", "damaged"],
        "{text}"
    );
    assert_eq!(verdicts[5..], ["not-tried"; 4], "{text}");
}

/// The board is on already, and has asked for its command line before anybody listened.
#[gate]
fn what_came_before_the_line_is_gone_is_packed() {
    let bench = Bench::new();
    let machine = bench.machine(&image(KERNEL), Console::Pl011);
    let mut board = super::Board::of(machine);
    let mut session = bench.check_at(&board.line, &[]);
    session.press("\n");
    session.wait_for("2 panic: equal: ");
    board.machine.kill().expect("it runs");
    let text = session.end().expect(1).text();
    assert!(
        text.contains("the serial line was disconnected ("),
        "{text}"
    );
    let verdicts = bench.verdicts();
    assert_eq!(verdicts[..2], ["equal", "equal"], "{text}");
    assert_eq!(verdicts.last().expect("there are some"), "not-tried");
}

#[gate]
fn another_build_on_the_board_is_named() {
    let bench = Bench::new();
    let other = image(Kernel {
        profile: Profile::Release,
        ..KERNEL
    });
    let mut session = bench.check(&[]);
    session.wait_for("press Enter here, and switch the board's power on.\n");
    bench.switch_on(&other, Console::Pl011, &[]);
    session.press("\n");
    let text = session.end().expect(1).text();
    assert!(
        text.contains("1 first line: different: the board runs build "),
        "{text}"
    );
    assert!(text.contains(": copy kernel8.img from "), "{text}");
    assert_eq!(bench.verdicts()[..2], ["different", "not-tried"], "{text}");
}

#[gate]
fn a_silent_board_gets_advice() {
    let bench = Bench::new();
    let mut session = bench.check(&[]);
    session.wait_for("press Enter here, and switch the board's power on.\n");
    session.press("\n");
    session.wait_for("waiting for the board");
    session.hang_up();
    let text = session.end().expect(1).text();
    assert!(
        text.contains("1 first line: nothing came: check the power"),
        "{text}"
    );
    assert_eq!(
        bench.verdicts()[..2],
        ["nothing-came", "not-tried"],
        "{text}"
    );
}
