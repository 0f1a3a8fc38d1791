//! QEMU's monitor: it tells whether the machine was reset or switched off, which QEMU's exit status does not, and the
//! machine's own time: counted in instructions, so that it is the same on a fast host, a slow one and a busy one.

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

/// An instruction takes this many nanoseconds, as a power of two: a machine of some 60 million instructions a second,
/// which emulation reaches almost anywhere.
const SHIFT: u32 = 4;
/// How often the machine is asked.
const EVERY: Duration = Duration::from_millis(50);

/// A connection with the monitor.
#[derive(Debug)]
pub(super) struct Monitor {
    stream: UnixStream,
    limit: Option<Duration>,
    /// The machine stands still until it is told to go.
    is_stopped: bool,
}

/// The events that were seen until the machine ended.
#[derive(Debug)]
pub(super) struct Watched(JoinHandle<bool>);

impl Monitor {
    /// Has QEMU answer questions at its standard input, which is no serial line then; and count instructions, if its own
    /// time is limited. The machine waits for this connection, as an event that comes before it is lost; unless it
    /// `waits_for_gdb` anyway.
    pub(super) fn connect(
        command: &mut Command,
        limit: Option<Duration>,
        waits_for_gdb: bool,
    ) -> Result<Self> {
        let (stream, theirs) = UnixStream::pair().context("cannot make a pair of sockets")?;
        if limit.is_some() {
            // `sleep=off`: a machine that waits for its timer does not wait, its time goes on at once.
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

    /// Tells when the machine's own time is over, and keeps what the machine ended for.
    pub(super) fn watch(self, sender: Sender<Event>) -> Watched {
        Watched(std::thread::spawn(move || {
            let mut answers = BufReader::new(&self.stream).lines();
            let mut was_reset = false;
            // A machine that does not answer any more has ended, which the serial line tells.
            if let Ok(true) = self.wait(&mut answers, &mut was_reset) {
                let _ = sender.send(Event::GuestTimeOver);
            }
            // What it said last.
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
            // Greetings, events and other answers have no such number.
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

/// The next that the monitor says; an event that tells of a reset is noted.
fn next(answers: &mut Answers<'_>, was_reset: &mut bool) -> Result<Value> {
    let answer = answers.next().context("the monitor is closed")??;
    let answer: Value = serde_json::from_str(&answer)?;
    *was_reset |= answer["event"] == "SHUTDOWN" && answer["data"]["reason"] == "guest-reset";
    Ok(answer)
}

impl Watched {
    /// Whether the machine ended because it reset itself. Called when QEMU has ended.
    pub(super) fn was_reset(self) -> bool {
        self.0.join().unwrap_or_default()
    }
}
