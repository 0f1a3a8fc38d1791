//! QEMU's monitor (QMP). It tells whether the machine was reset or switched off, which QEMU's exit status does not, and the
//! machine's own time, counted in instructions, which does not depend on the host's speed or load.

use std::io::{BufRead, BufReader, Lines, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::serial::Event;

/// The duration of an instruction in nanoseconds, as a power of two: some 60 million instructions a second, which emulation
/// reaches on almost any host.
const SHIFT: u32 = 4;
/// The time between two queries of the machine's clock.
const EVERY: Duration = Duration::from_millis(50);

/// A connection with the monitor.
#[derive(Debug)]
pub(super) struct Monitor {
    stream: UnixStream,
    limit: Option<Duration>,
    /// The machine is stopped until the monitor starts it.
    is_stopped: bool,
}

/// The events that were seen until the machine ended.
#[derive(Debug)]
pub(super) struct Watched(JoinHandle<bool>);

impl Monitor {
    /// Connects the monitor to QEMU's standard input, which then is no serial line; makes QEMU count instructions, if the
    /// machine's own time is limited. The machine starts stopped until the monitor is connected, because earlier events are
    /// lost; unless it `waits_for_gdb` anyway.
    pub(super) fn connect(
        command: &mut Command,
        limit: Option<Duration>,
        waits_for_gdb: bool,
    ) -> Result<Self> {
        let (stream, theirs) = UnixStream::pair().context("cannot make a pair of sockets")?;
        if limit.is_some() {
            // `sleep=off`: when the machine waits for its timer, its clock jumps there at once.
            command.args(["-icount", &format!("shift={SHIFT},sleep=off")]);
        }
        if !waits_for_gdb {
            command.arg("-S");
        }
        command
            .args(["-chardev", "socket,id=monitor,fd=0"])
            .args(["-mon", "chardev=monitor,mode=control"])
            .stdin(OwnedFd::from(theirs));
        Ok(Self {
            stream,
            limit,
            is_stopped: !waits_for_gdb,
        })
    }

    /// Sends an event when the machine's own time is over, and notes whether a reset ended the machine.
    pub(super) fn watch(self, sender: Sender<Event>) -> Watched {
        Watched(std::thread::spawn(move || {
            let mut answers = BufReader::new(&self.stream).lines();
            let mut was_reset = false;
            // A machine that does not answer any more has ended, which the serial line reports.
            if let Ok(true) = self.wait(&mut answers, &mut was_reset) {
                let _ = sender.send(Event::GuestTimeOver);
            }
            // Read the events that came last.
            while next(&mut answers, &mut was_reset).is_ok() {}
            was_reset
        }))
    }

    /// Whether the time is over. Without a limit there is nothing to wait for.
    fn wait(&self, answers: &mut Answers<'_>, was_reset: &mut bool) -> Result<bool> {
        self.ask("qmp_capabilities")?;
        if self.is_stopped {
            self.ask("cont")?;
        }
        let Some(limit) = self.limit else {
            return Ok(false);
        };
        loop {
            self.ask("query-replay")?;
            // Greetings, events and other answers do not have this id.
            let instructions = loop {
                if let Some(number) = next(answers, was_reset)?["return"]["icount"].as_u64() {
                    break number;
                }
            };
            if u128::from(instructions) << SHIFT >= limit.as_nanos() {
                return Ok(true);
            }
            std::thread::sleep(EVERY);
        }
    }

    fn ask(&self, question: &str) -> Result<()> {
        writeln!(&self.stream, "{{\"execute\":\"{question}\"}}").context("the monitor is closed")
    }
}

type Answers<'a> = Lines<BufReader<&'a UnixStream>>;

/// The monitor's next message. Notes an event of a reset.
fn next(answers: &mut Answers<'_>, was_reset: &mut bool) -> Result<Value> {
    let answer = answers.next().context("the monitor is closed")??;
    let answer: Value = serde_json::from_str(&answer)?;
    *was_reset |= answer["event"] == "SHUTDOWN" && answer["data"]["reason"] == "guest-reset";
    Ok(answer)
}

impl Watched {
    /// Whether the machine ended because it reset itself. To be called after QEMU has ended.
    pub(super) fn was_reset(self) -> bool {
        self.0.join().unwrap_or_default()
    }
}
