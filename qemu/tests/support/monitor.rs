//! A machine that runs, with QEMU's monitor (QMP) in the hands of a test.

use std::collections::HashMap;
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Instant;

use qemu::machine::{Boot, Booted, Monitor};
use tempfile::TempDir;

use super::event::{self, HANG};
use super::{boots, built};

/// A socket to which QEMU connects its monitor.
#[derive(Debug)]
pub struct Socket {
    folder: TempDir,
    listener: UnixListener,
}

impl Socket {
    /// Creates the socket, before QEMU starts.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let listener = UnixListener::bind(folder.path().join("monitor"));
        Self {
            folder,
            listener: listener.expect("a socket can be made"),
        }
    }

    /// The value of QEMU's option `-qmp`.
    pub fn device(&self) -> String {
        let path = self.folder.path().join("monitor");
        format!("unix:{},server=off", path.display())
    }

    /// Waits until QEMU connects.
    pub fn monitor(self) -> Monitor {
        let Self { folder, listener } = self;
        let accept = move || listener.accept().expect("QEMU connects").0;
        let stream = event::wait("QEMU connects no monitor", accept);
        drop(folder);
        let started = Monitor::start(stream, false, HANG, |_| ());
        started.expect("the monitor listens").0
    }
}

/// A machine that runs.
#[derive(Debug)]
pub struct Machine {
    monitor: Monitor,
    output: Receiver<Vec<u8>>,
    serial: Vec<u8>,
    /// How many bytes of `serial` were matched already.
    seen: usize,
}

/// Boots, calls `drive` with the running machine, then ends it.
///
/// # Panics
/// When the machine ends earlier, or `drive` does.
pub fn with<T>(boot: Boot<'_>, drive: impl FnOnce(&mut Machine) -> T) -> (Booted, T) {
    let socket = Socket::new();
    let device = socket.device();
    let emulator = built::emulator(boot.board.processor());
    let (sender, output) = mpsc::channel();
    let more: Vec<_> = boot.more.iter().copied().chain(["-qmp", &device]).collect();
    let boot = Boot {
        more: &more,
        ..boot
    };
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let boot = &boot;
        let running = scope.spawn(move || boot.run(&emulator, &mut Written(sender)));
        let mut machine = Machine {
            monitor: socket.monitor(),
            output,
            serial: Vec::new(),
            seen: 0,
        };
        // If this panics, the monitor's end is closed; the machine ends at its limit.
        let result = drive(&mut machine);
        machine.monitor.execute("quit").expect("the machine runs");
        let booted = running.join().expect("no panic here");
        let booted = booted.expect("the machine runs");
        boots::keep(begun, boot, &booted);
        (booted, result)
    })
}

impl Machine {
    /// Waits until the machine has written this text, after the last match.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        loop {
            let new = &self.serial[self.seen..];
            if let Some(at) = new
                .windows(text.len())
                .position(|part| part == text.as_bytes())
            {
                self.seen += at + text.len();
                return;
            }
            match self.output.recv_timeout(HANG) {
                Ok(more) => self.serial.extend_from_slice(&more),
                Err(_) => panic!("no {text:?} in:\n{}", String::from_utf8_lossy(new)),
            }
        }
    }

    /// A command of the monitor for people, and its answer.
    #[track_caller]
    pub fn command(&self, line: &str) -> String {
        let said = self.monitor.type_in(line, 0);
        said.expect("the machine runs")
    }

    /// The registers of all CPUs, by the names that the monitor gives them. The machine must be stopped.
    pub fn registers(&self) -> Vec<HashMap<String, u64>> {
        let text = self.command("info registers -a");
        let cpus = text.split("CPU#").skip(1);
        let words = cpus.map(|cpu| {
            cpu.split_whitespace().filter_map(|word| {
                let (name, digits) = word.split_once('=')?;
                let value = u64::from_str_radix(digits, 16).ok()?;
                Some((name.to_owned(), value))
            })
        });
        words.map(Iterator::collect).collect()
    }
}

/// Passes on what the machine writes.
struct Written(Sender<Vec<u8>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // Nobody receives it any more when the test is over.
        let _ = self.0.send(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
