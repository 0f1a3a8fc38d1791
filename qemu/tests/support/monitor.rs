//! A machine that runs, with QEMU's monitor (QMP) in the hands of a test.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use qemu::machine::{Boot, Booted};
use serde_json::{Value, json};

use super::built;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A machine that runs.
#[derive(Debug)]
pub struct Machine {
    monitor: BufReader<UnixStream>,
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
    let folder = tempfile::tempdir().expect("a folder can be made");
    let socket = folder.path().join("monitor");
    let device = format!("unix:{},server=on,wait=off", socket.display());
    let emulator = built::emulator(boot.board.arch());
    let (sender, output) = mpsc::channel();
    let boot = Boot {
        more: &["-qmp", &device],
        ..boot
    };
    std::thread::scope(|scope| {
        let running = scope.spawn(move || boot.run(&emulator, &mut Written(sender)));
        let mut machine = Machine {
            monitor: BufReader::new(connect(&socket)),
            output,
            serial: Vec::new(),
            seen: 0,
        };
        machine.ask(&json!({"execute": "qmp_capabilities"}));
        // If this panics, the monitor's end is closed; the machine ends at its limit.
        let result = drive(&mut machine);
        machine.ask(&json!({"execute": "quit"}));
        let booted = running.join().expect("no panic here");
        (booted.expect("the machine runs"), result)
    })
}

fn connect(socket: &Path) -> UnixStream {
    for _ in 0..1000 {
        if let Ok(stream) = UnixStream::connect(socket) {
            stream
                .set_read_timeout(Some(TIMEOUT))
                .expect("a socket takes a limit");
            return stream;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("QEMU opens no socket for its monitor");
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
            match self.output.recv_timeout(TIMEOUT) {
                Ok(more) => self.serial.extend_from_slice(&more),
                Err(_) => panic!("no {text:?} in:\n{}", String::from_utf8_lossy(new)),
            }
        }
    }

    /// A command of the monitor for people, and its answer.
    #[track_caller]
    pub fn command(&mut self, line: &str) -> String {
        let answer = self.ask(&json!({
            "execute": "human-monitor-command",
            "arguments": {"command-line": line},
        }));
        answer.as_str().expect("text").to_owned()
    }

    /// The program counters of all CPUs. The machine must be stopped.
    pub fn program_counters(&mut self) -> Vec<u64> {
        let text = self.command("info registers -a");
        let words = text.split_whitespace();
        let counters = words.filter_map(|word| {
            let digits = word
                .strip_prefix("RIP=")
                .or_else(|| word.strip_prefix("PC="));
            u64::from_str_radix(digits?, 16).ok()
        });
        counters.collect()
    }

    #[track_caller]
    fn ask(&mut self, question: &Value) -> Value {
        writeln!(self.monitor.get_ref(), "{question}").expect("the machine runs");
        loop {
            let mut line = String::new();
            let length = self.monitor.read_line(&mut line).expect("an answer");
            assert_ne!(length, 0, "the machine has ended");
            let mut answer: Value = serde_json::from_str(&line).expect("JSON");
            // Greetings and events have no such member.
            if let Some(answer) = answer.get_mut("return") {
                return answer.take();
            }
            assert!(answer.get("error").is_none(), "{question}: {answer}");
        }
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
