//! QEMU's monitor (QMP). It stops the machine and lets it go on, and tells how it ended, which QEMU's exit status does not, and the
//! machine's own time, counted in instructions, which does not depend on the host's speed or load.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::evidence::{self, Ending, Evidence};

/// The duration of an instruction in nanoseconds, as a power of two: some 60 million instructions a second, which emulation
/// reaches on almost any host.
const SHIFT: u32 = 4;

/// The time after which QEMU hangs if it neither answers nor ends. The end of QEMU closes the monitor, and is seen at once.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// How long it may take to write a machine's memory: some seconds for each gigabyte that is in use.
const DUMP: Duration = Duration::from_secs(300);

/// Instructions in a second of the machine's own time, if it counts them.
pub const INSTRUCTIONS: u64 = 1_000_000_000 >> SHIFT;

/// How many instructions take so long.
pub(super) fn instructions(time: Duration) -> u64 {
    u64::try_from(time.as_nanos() >> SHIFT).unwrap_or(u64::MAX)
}

/// QEMU's argument that makes it count instructions; `more` are options of it.
pub(super) fn counting(more: &str) -> [String; 2] {
    // `sleep=off`: when the machine waits for its timer, its clock jumps there at once.
    ["-icount".into(), format!("shift={SHIFT},sleep=off{more}")]
}

/// A connection with the monitor.
#[derive(Debug)]
pub struct Monitor {
    stream: UnixStream,
    /// How long an answer may take.
    limit: Duration,
    answers: Receiver<Value>,
    /// Each time that the machine has stopped.
    stops: Receiver<()>,
    /// The number of the last question.
    asked: Cell<u64>,
    /// QEMU has started a stub for a debugger, or does not say.
    pub(super) has_stub: bool,
    /// Why QEMU has not let the machine start.
    pub(super) refused: Option<String>,
}

/// Collects what the monitor says of the machine until it is closed.
#[derive(Debug)]
pub struct Watched(JoinHandle<Evidence>);

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
        let reader = stream.try_clone().context("cannot duplicate a socket")?;
        let (answer, answers) = mpsc::channel();
        let (stop, stops) = mpsc::channel();
        let watched = std::thread::spawn(move || listen(reader, on_ending, &answer, &stop));
        let mut monitor = Self {
            stream,
            limit,
            answers,
            stops,
            asked: Cell::new(0),
            has_stub: true,
            refused: None,
        };
        // A machine that does not answer has ended, which the serial line reports.
        let _ = monitor.ask("qmp_capabilities", &json!({}), PATIENCE);
        monitor.has_stub = monitor.may_be_debugged();
        if is_stopped {
            monitor.refused = monitor.go_on();
        }
        Ok((monitor, Watched(watched)))
    }

    /// Whether QEMU has started a stub for a debugger: it names the character device of `-gdb` and `-s` so.
    fn may_be_debugged(&self) -> bool {
        let devices = self.ask("query-chardev", &json!({}), PATIENCE);
        let devices = devices.ok().and_then(|devices| devices.as_array().cloned());
        devices.is_none_or(|devices| devices.iter().any(|device| device["label"] == "gdb"))
    }

    /// Lets a machine that stands still go on. Returns why QEMU refuses that; nothing of a QEMU that has ended, whose exit status has the
    /// verdict, or of a machine that has switched itself off meanwhile, of which an event tells.
    pub(super) fn go_on(&self) -> Option<String> {
        let id = self.send("cont", &json!({})).ok()?;
        let answer = self.reply(id, PATIENCE)?;
        let error = answer.get("error")?;
        let state = self.ask("query-status", &json!({}), PATIENCE).ok();
        if state.is_some_and(|state| state["status"] == "shutdown") {
            return None;
        }
        Some(format!(
            "QEMU cannot start the machine: {description}",
            description = error["desc"]
        ))
    }

    /// How long an answer may take.
    pub(super) const fn limit(&self) -> Duration {
        self.limit
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

    /// The same of several lines, whose answers are waited for together.
    pub(super) fn type_in_all(&self, lines: &[String], cpu: usize) -> Result<Vec<String>> {
        const COMMAND: &str = "human-monitor-command";
        let send = |line| {
            let arguments = json!({ "command-line": line, "cpu-index": cpu });
            self.send(COMMAND, &arguments)
        };
        let asked = lines.iter().map(send).collect::<Result<Vec<_>>>()?;
        let said = asked.into_iter().map(|id| {
            let said = self.answer(id, COMMAND, self.limit)?;
            Ok(said.as_str().unwrap_or_default().to_owned())
        });
        said.collect()
    }

    /// Has QEMU write the memory of a machine that stands still to a file of this name, compressed.
    pub(super) fn dump(&self, path: &str) -> Result<()> {
        let arguments = json!({
            "paging": false,
            "protocol": format!("file:{path}"),
            "format": "kdump-zlib",
        });
        self.ask("dump-guest-memory", &arguments, DUMP).map(drop)
    }

    /// What the screen shows, as PPM, which every version of QEMU writes.
    pub(super) fn picture(&self) -> Result<Vec<u8>> {
        let file =
            tempfile::NamedTempFile::new().context("cannot create a file for the screenshot")?;
        let arguments = json!({ "filename": file.path() });
        self.ask("screendump", &arguments, self.limit)?;
        std::fs::read(file.path()).context("cannot read QEMU's screenshot")
    }

    /// The machine's own time, if it counts instructions.
    pub(super) fn time(&self) -> Result<Duration> {
        Ok(Duration::from_nanos(self.instructions()? << SHIFT))
    }

    /// How many instructions the machine has run, if it counts them.
    pub(super) fn instructions(&self) -> Result<u64> {
        let replay = self.execute("query-replay")?;
        replay["icount"]
            .as_u64()
            .context("QEMU does not count the machine's instructions")
    }

    /// Resets a machine that stands still, whatever it was told to do at a reset.
    pub(super) fn have_it_reset(&self) -> Result<()> {
        self.ask("set-action", &json!({ "reboot": "reset" }), self.limit)?;
        self.execute("system_reset")?;
        Ok(())
    }

    /// Has QEMU end, also if it is the child of a script that ends without it.
    pub(super) fn quit(&self) {
        // QEMU that does not answer has ended. Without a wait for the answer, QEMU would see the end of this connection first, and would not
        // read the command.
        let _ = self.execute("quit");
    }

    /// Lets a machine that is replayed run until it has run so many instructions; false if it ends before.
    pub(super) fn run_to(&self, instructions: u64) -> Result<bool> {
        while self.stops.try_recv().is_ok() {}
        let at = json!({ "icount": instructions });
        // Both at once, as this is done for each sample.
        let set = self.send("replay-break", &at);
        let goes_on = self.send("cont", &json!({}));
        let set = set.and_then(|id| self.answer(id, "replay-break", self.limit));
        match set
            .and(goes_on)
            .and_then(|id| self.answer(id, "cont", self.limit))
        {
            Ok(_) => {}
            Err(_) if self.has_ended() => return Ok(false),
            Err(error) => return Err(error),
        }
        match self.stops.recv_timeout(PATIENCE) {
            Ok(()) => Ok(true),
            Err(RecvTimeoutError::Disconnected) => Ok(false),
            Err(RecvTimeoutError::Timeout) => {
                bail!("QEMU did not reach instruction number {instructions} in time")
            }
        }
    }

    /// Whether QEMU has closed the monitor, or does so at once.
    pub(super) fn has_ended(&self) -> bool {
        loop {
            match self.stops.recv_timeout(PATIENCE) {
                Ok(()) => {}
                Err(error) => return error == RecvTimeoutError::Disconnected,
            }
        }
    }

    fn ask(&self, command: &str, arguments: &Value, limit: Duration) -> Result<Value> {
        let id = self.send(command, arguments)?;
        self.answer(id, command, limit)
    }

    /// Asks; returns the number of the question.
    fn send(&self, command: &str, arguments: &Value) -> Result<u64> {
        let id = self.asked.get() + 1;
        self.asked.set(id);
        let question = json!({ "execute": command, "arguments": arguments, "id": id });
        let line = format!("{question}\n");
        let written = (&self.stream).write_all(line.as_bytes());
        written.context("the connection to QEMU's monitor is closed")?;
        Ok(id)
    }

    /// What the question with this number was answered with; none if the monitor was closed, or the time is over.
    fn reply(&self, id: u64, limit: Duration) -> Option<Value> {
        loop {
            let reply = self.answers.recv_timeout(limit).ok()?;
            // A late answer to an earlier question is none to this one.
            if reply["id"] == id {
                return Some(reply);
            }
        }
    }

    /// The answer to the question with this number.
    fn answer(&self, id: u64, command: &str, limit: Duration) -> Result<Value> {
        let reply = self.reply(id, limit);
        let reply =
            reply.with_context(|| format!("QEMU did not answer the monitor command {command}"))?;
        match reply.get("return") {
            Some(value) => Ok(value.clone()),
            None => bail!(
                "QEMU refused the monitor command {command}: {description}",
                description = reply["error"]["desc"]
            ),
        }
    }
}

/// Reads all that QEMU says, up to its end; returns what it has said of the machine.
fn listen(
    stream: UnixStream,
    on_ending: impl Fn(Ending),
    answers: &Sender<Value>,
    stops: &Sender<()>,
) -> Evidence {
    let process = evidence::writer(&stream);
    let mut evidence = Evidence {
        process,
        has_monitor: process.is_some_and(evidence::has_monitor),
        ..Evidence::default()
    };
    for line in BufReader::new(stream).lines() {
        let Ok(said) = line.map(|line| serde_json::from_str::<Value>(&line)) else {
            break;
        };
        let said = said.unwrap_or_default();
        if said.get("return").is_some() || said.get("error").is_some() {
            // Nobody waits for an answer any more when the boot has ended.
            let _ = answers.send(said);
        } else if said["event"] == "STOP" {
            let _ = stops.send(());
        } else if let Some(ending) = evidence.add(&said) {
            on_ending(ending);
        }
    }
    evidence
}

impl Watched {
    /// What the monitor has said. To be called after QEMU has ended.
    pub(super) fn evidence(self) -> Evidence {
        self.0.join().unwrap_or_default()
    }
}
