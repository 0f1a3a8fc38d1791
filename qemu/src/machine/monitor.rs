//! QEMU's monitor (QMP). It stops the machine and lets it go on, and tells whether it was reset or switched off, which QEMU's exit
//! status does not, and the machine's own time, counted in instructions, which does not depend on the host's speed or load.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::serial::Ending;

/// The duration of an instruction in nanoseconds, as a power of two: some 60 million instructions a second, which emulation
/// reaches on almost any host.
const SHIFT: u32 = 4;

/// How long QEMU may take to start, on a busy host.
const START: Duration = Duration::from_secs(60);
/// How long it may take to answer the runner, once it runs: milliseconds, unless the host is busy.
pub(super) const ANSWER: Duration = Duration::from_secs(5);

/// QEMU's argument that makes it count instructions.
pub(super) fn counting() -> [String; 2] {
    // `sleep=off`: when the machine waits for its timer, its clock jumps there at once.
    ["-icount".into(), format!("shift={SHIFT},sleep=off")]
}

/// A connection with the monitor.
#[derive(Debug)]
pub struct Monitor {
    stream: UnixStream,
    /// How long an answer may take.
    limit: Duration,
    answers: Receiver<Value>,
    /// The number of the last question.
    asked: Cell<u64>,
}

/// How the machine ended, as events said until the monitor was closed.
#[derive(Debug)]
pub struct Watched(JoinHandle<Option<Ending>>);

impl Monitor {
    /// Begins to listen, and passes on what ends the machine. Lets the machine start, if it `is_stopped`. An answer to what is
    /// asked later may take as long as `limit`.
    ///
    /// # Errors
    /// When the stream cannot be shared.
    pub fn start(
        stream: UnixStream,
        is_stopped: bool,
        limit: Duration,
        on_ending: impl Fn(Ending) + Send + 'static,
    ) -> Result<(Self, Watched)> {
        let reader = stream.try_clone().context("cannot share a socket")?;
        let (answer, answers) = mpsc::channel();
        let watched = std::thread::spawn(move || listen(reader, on_ending, &answer));
        let monitor = Self {
            stream,
            limit,
            answers,
            asked: Cell::new(0),
        };
        // A machine that does not answer has ended, which the serial line reports.
        let _ = monitor.ask("qmp_capabilities", &json!({}), START);
        if is_stopped {
            let _ = monitor.ask("cont", &json!({}), START);
        }
        Ok((monitor, Watched(watched)))
    }

    /// Has QEMU do something, and returns what it says.
    ///
    /// # Errors
    /// When it does not, or does not answer in time.
    pub fn execute(&self, command: &str) -> Result<Value> {
        self.ask(command, &json!({}), self.limit)
    }

    /// Has QEMU's monitor for people do something, as `cpu` sees it, and returns what it prints.
    ///
    /// # Errors
    /// When QEMU does not answer in time.
    pub fn type_in(&self, line: &str, cpu: usize) -> Result<String> {
        let arguments = json!({ "command-line": line, "cpu-index": cpu });
        let said = self.ask("human-monitor-command", &arguments, self.limit)?;
        Ok(said.as_str().unwrap_or_default().to_owned())
    }

    /// The machine's own time, if it counts instructions.
    pub(super) fn time(&self) -> Result<Duration> {
        let replay = self.execute("query-replay")?;
        let instructions = replay["icount"].as_u64().context("nothing is counted")?;
        Ok(Duration::from_nanos(instructions << SHIFT))
    }

    fn ask(&self, command: &str, arguments: &Value, limit: Duration) -> Result<Value> {
        let id = self.asked.get() + 1;
        self.asked.set(id);
        let question = json!({ "execute": command, "arguments": arguments, "id": id });
        writeln!(&self.stream, "{question}").context("the monitor is closed")?;
        loop {
            let answer = self.answers.recv_timeout(limit);
            let answer = answer.with_context(|| format!("QEMU does not answer {command}"))?;
            // A late answer to an earlier question is none to this one.
            if answer["id"] != id {
                continue;
            }
            return match answer.get("return") {
                Some(value) => Ok(value.clone()),
                None => bail!("QEMU does not do {command}: {}", answer["error"]["desc"]),
            };
        }
    }
}

/// Reads all that QEMU says, up to its end; returns how the machine ended.
fn listen(
    stream: UnixStream,
    on_ending: impl Fn(Ending),
    answers: &Sender<Value>,
) -> Option<Ending> {
    let mut ended = None;
    for line in BufReader::new(stream).lines() {
        let Ok(said) = line.map(|line| serde_json::from_str::<Value>(&line)) else {
            break;
        };
        let said = said.unwrap_or_default();
        if said.get("return").is_some() || said.get("error").is_some() {
            // Nobody waits for an answer any more when the boot has ended.
            let _ = answers.send(said);
        } else if let Some(ending) = ending(&said) {
            ended = ended.or(Some(ending));
            on_ending(ending);
        }
    }
    ended
}

/// What an event says of the machine's end.
fn ending(said: &Value) -> Option<Ending> {
    match (said["event"].as_str()?, said["data"]["reason"].as_str()) {
        ("SHUTDOWN", Some("guest-reset")) => Some(Ending::Reset),
        ("SHUTDOWN", Some("guest-shutdown")) => Some(Ending::Off),
        ("GUEST_PANICKED" | "GUEST_CRASHLOADED", _) => Some(Ending::Panicked),
        _ => None,
    }
}

impl Watched {
    /// How the machine ended by itself, if it has said so. To be called after QEMU has ended.
    pub(super) fn ending(self) -> Option<Ending> {
        self.0.join().unwrap_or_default()
    }
}
