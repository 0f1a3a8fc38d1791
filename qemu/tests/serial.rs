//! The console of a board: a machine of QEMU's with its serial line at a pseudo terminal, as a USB adapter's would be.

mod check;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::built::{emulator, image};
use crate::support::report::Report;
use crate::support::runner::{Ran, command, run};
use crate::support::session::Session;
use qemu::build::{Kernel, Profile};
use qemu::machine::Arch;

const KERNEL: Kernel = Kernel {
    arch: Arch::X86_64,
    profile: Profile::Debug,
};

/// A running machine with a line that anybody can open.
struct Board {
    machine: Child,
    line: PathBuf,
}

impl Board {
    /// Without a device that ends QEMU: what nobody has read of a pseudo terminal is lost when its other end closes.
    fn start(image: &Path, command_line: &str) -> Self {
        let mut machine = Command::new(emulator(KERNEL.arch));
        machine
            .args(["-machine", "q35,accel=tcg", "-cpu", "max", "-m", "256M"])
            .args(["-no-reboot", "-append", command_line])
            .arg("-kernel")
            .arg(image);
        Self::of(machine)
    }

    /// Starts a machine, and adds its line to its arguments.
    fn of(mut machine: Command) -> Self {
        // It says on one of them where its line is, in newer versions on the other.
        let (said, output) = std::io::pipe().expect("a pipe");
        let machine = machine
            .args(["-nodefaults", "-no-user-config", "-display", "none"])
            .args(["-serial", "pty"])
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a pipe"))
            .stderr(output)
            .spawn()
            .expect("QEMU starts");
        let lines = BufReader::new(said).lines().map(|line| line.expect("text"));
        let line = lines.filter_map(|line| {
            let (_, line) = line.split_once("redirected to ")?;
            Some(PathBuf::from(line.split(' ').next()?))
        });
        let line = { line }.next().expect("QEMU says where its line is");
        Self { machine, line }
    }

    /// Has the monitor panic, and gives what somebody sees, who comes while it waits.
    fn panic(self, arguments: &[&Path]) -> Ran {
        self.panic_up_to(arguments, ": on a board")
    }

    /// The same, up to the end of what the kernel writes.
    fn panic_up_to(mut self, arguments: &[&Path], end: &str) -> Ran {
        let mut command = command();
        command.arg("serial").arg(&self.line).args(arguments);
        let mut session = Session::of(&mut command);
        // What it wrote before is gone. An empty line makes a new prompt, as soon as it listens.
        session.press("\r");
        session.wait_for("> ");
        session.press("help\r");
        session.wait_for("print the backtrace of the monitor");
        session.wait_for("\n> ");
        session.press("panic on a board\r");
        session.wait_for("first failure: ");
        session.wait_for(end);
        // All of its line, which the runner has read then.
        session.wait_for("\n");
        self.machine.kill().expect("it stands still");
        session.end()
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.machine.kill();
        let _ = self.machine.wait();
    }
}

#[gate]
fn a_report_is_decoded_as_it_comes() {
    let image = image(KERNEL);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let log = folder.path().join("log");
    let board = Board::start(&image, "monitor");
    let arguments = ["--image".as_ref(), &*image, "--log".as_ref(), &*log];
    let ran = board
        .panic(&arguments)
        .expect(1)
        .expect_words("was disconnected: ");
    let text = ran.text();
    assert!(text.contains(": on a board"), "{text}");
    assert!(
        text.contains("inlined into __rustc::rust_begin_unwind at /"),
        "{text}"
    );

    // The log is what the board wrote, and the session is what it says decoded.
    let kept = std::fs::read_to_string(&log).expect("there is a log");
    assert!(kept.contains("rust_begin_unwind+0x"), "{kept}");
    assert!(!kept.contains("inlined into __rustc"), "{kept}");
    let arguments = ["decode".as_ref(), &*log, "--image".as_ref(), &*image];
    assert_eq!(run(arguments).expect(0).text(), text);
}

/// Compact log frames between the text of the monitor.
#[gate]
fn frames_are_decoded_as_they_come() {
    let image = image(KERNEL);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let log = folder.path().join("log");
    let board = Board::start(&image, "monitor defmt");
    let arguments = ["--image".as_ref(), &*image, "--log".as_ref(), &*log];
    let ran = board
        .panic(&arguments)
        .expect(1)
        .expect_words("was disconnected: ");
    let text = ran.text();
    let report = Report::find(&ran.serial);
    assert!(report.panicked.ends_with(": on a board"), "{text}");
    assert!(
        report.end.starts_with("end of backtrace: complete, "),
        "{text}"
    );
    assert!(report.names().contains(&"kernel::monitor::run"), "{text}");

    let kept = std::fs::read(&log).expect("there is a log");
    assert!(kept.contains(&0), "frames are between zero bytes");
    assert!(!String::from_utf8_lossy(&kept).contains("kernel::monitor::run"));
    let arguments = ["decode".as_ref(), &*log, "--image".as_ref(), &*image];
    assert_eq!(run(arguments).expect(0).text(), text);
}

#[long]
fn a_report_of_another_image_is_said_to_be_one() {
    let board = Board::start(&image(KERNEL), "monitor");
    let other = image(Kernel {
        profile: Profile::Release,
        ..KERNEL
    });
    let ran = board.panic(&["--image".as_ref(), &*other]);
    let ran = ran.expect_words(" is from build ");
    assert!(
        !ran.text().contains("inlined into __rustc"),
        "{}",
        ran.text()
    );
}

#[gate]
fn what_is_no_line_is_named() {
    run(["serial", "/dev/ttyUSB-none"])
        .expect(2)
        .expect_words("cannot open serial device /dev/ttyUSB-none: ");
    run(["serial", "/dev/null"])
        .expect(2)
        .expect_words("/dev/null is not a serial device");
}

/// What the kernel sends of its machine becomes a dump, which says of it what the kernel's report has said.
#[gate]
fn a_dump_is_kept_as_it_comes() {
    let image = image(KERNEL);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dumps = folder.path().join("dumps");
    let board = Board::start(&image, "monitor dump");
    let arguments = ["--image".as_ref(), &*image, "--dump".as_ref(), &*dumps];
    let ran = board.panic_up_to(&arguments, "dump end ");
    let ran = ran
        .expect(1)
        .expect_words("to read the dump, type: cargo run -- autopsy ");
    let told = Report::find(&ran.serial);
    let dump = dumps.join("serial");
    let asked = run(["autopsy".as_ref(), dump.as_os_str()]).expect(0);
    let found = Report::find(&asked.serial);
    assert_eq!(found.names(), told.names(), "{}", asked.text());
    assert_eq!(found.end, told.end);
    found.expect_complete();
    // Whole, with its image; and nothing that is unfinished.
    let files = |folder: &Path| {
        let entries = std::fs::read_dir(folder).expect("a folder");
        let names = entries.map(|entry| entry.expect("a file").file_name());
        let mut names: Vec<_> = names
            .map(|name| name.into_string().expect("UTF-8"))
            .collect();
        names.sort();
        names
    };
    assert_eq!(files(&dumps), ["serial"]);
    assert_eq!(files(&dump), ["README.txt", "dump.log", "image.elf"]);
}
