//! The machine's own time: counted in instructions, so that it is the same on a fast host, a slow one and a busy one.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::mpsc::Sender;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::serial::Event;

/// An instruction takes this many nanoseconds, as a power of two: a machine of some 60 million instructions a second,
/// which emulation reaches almost anywhere.
const SHIFT: u32 = 4;
/// How often the machine is asked.
const EVERY: Duration = Duration::from_millis(50);

/// A limit to the machine's own time.
#[derive(Debug)]
pub(super) struct GuestTime {
    monitor: UnixStream,
    limit: Duration,
}

impl GuestTime {
    /// Has QEMU count instructions, and answer questions at its standard input, which is no serial line then.
    pub(super) fn limit(command: &mut Command, limit: Duration) -> Result<Self> {
        let (monitor, theirs) = UnixStream::pair().context("cannot make a pair of sockets")?;
        command
            // `sleep=off`: a machine that waits for its timer does not wait, its time goes on at once.
            .args(["-icount", &format!("shift={SHIFT},sleep=off")])
            .args(["-chardev", "socket,id=monitor,fd=0"])
            .args(["-mon", "chardev=monitor,mode=control"])
            .stdin(OwnedFd::from(theirs));
        Ok(Self { monitor, limit })
    }

    /// Tells when the time is over.
    pub(super) fn watch(self, sender: Sender<Event>) {
        std::thread::spawn(move || {
            // A machine that does not answer any more has ended, which the serial line tells.
            if let Ok(()) = self.wait() {
                let _ = sender.send(Event::GuestTimeOver);
            }
        });
    }

    fn wait(&self) -> Result<()> {
        let mut answers = BufReader::new(&self.monitor).lines();
        self.ask("qmp_capabilities")?;
        loop {
            self.ask("query-replay")?;
            // Greetings, events and other answers have no such number.
            let instructions = loop {
                let answer = answers.next().context("the monitor is closed")??;
                let answer: Value = serde_json::from_str(&answer)?;
                if let Some(number) = answer["return"]["icount"].as_u64() {
                    break number;
                }
            };
            if u128::from(instructions) << SHIFT >= self.limit.as_nanos() {
                return Ok(());
            }
            std::thread::sleep(EVERY);
        }
    }

    fn ask(&self, question: &str) -> Result<()> {
        writeln!(&self.monitor, "{{\"execute\":\"{question}\"}}").context("the monitor is closed")
    }
}
