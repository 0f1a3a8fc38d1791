//! Booting an image, and waiting for its end.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::{Arch, GdbStub, Verdict};

/// What to boot, and how.
#[derive(Clone, Debug)]
pub struct Boot<'a> {
    /// The machine's architecture.
    pub arch: Arch,
    /// The ELF image.
    pub image: &'a Path,
    /// The image's command line. Its first word is the scenario.
    pub command_line: &'a str,
    /// CPUs of the machine, at least 1.
    pub cpus: u32,
    /// How long it may take; none for as long as it takes.
    pub limit: Option<Duration>,
    /// Start stopped and wait for gdb there.
    pub gdb: Option<GdbStub>,
}

/// What came of a boot.
#[derive(Clone, Debug)]
pub struct Booted {
    /// How it ended.
    pub verdict: Verdict,
    /// All that was written to the serial line.
    pub serial: Vec<u8>,
    /// How long it took.
    pub took: Duration,
}

impl Boot<'_> {
    /// Boots with the program `emulator`, and copies the serial line to `out` as it comes.
    ///
    /// # Errors
    /// When QEMU cannot be started, or `out` takes no more.
    pub fn run(&self, emulator: &Path, out: &mut dyn Write) -> Result<Booted> {
        let started = Instant::now();
        let child = self
            .command(emulator)
            .spawn()
            .with_context(|| format!("cannot start {}", emulator.display()))?;
        let mut machine = Machine(child);
        let serial_line = machine.0.stdout.take().context("QEMU has no output")?;
        let chunks = read_in_background(serial_line);

        let mut serial = Vec::new();
        let timed_out = loop {
            match next(&chunks, self.limit.map(|limit| started + limit)) {
                Ok(chunk) => {
                    serial.extend_from_slice(&chunk);
                    out.write_all(&chunk)
                        .and_then(|()| out.flush())
                        .context("cannot pass on the serial line")?;
                }
                Err(RecvTimeoutError::Timeout) => break true,
                Err(RecvTimeoutError::Disconnected) => break false,
            }
        };
        let verdict = if timed_out {
            Verdict::TimedOut
        } else {
            // The serial line is closed, so QEMU is ending.
            let status = machine.0.wait().context("cannot wait for QEMU")?;
            Verdict::of(self.arch, status)
        };
        Ok(Booted {
            verdict,
            serial,
            took: started.elapsed(),
        })
    }
}

/// A running QEMU, which does not outlive this value.
struct Machine(Child);

impl Drop for Machine {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads until the end. In a thread, because a pipe cannot be read with a time limit.
fn read_in_background(mut serial_line: ChildStdout) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = serial_line.read(&mut buffer) {
            if sender.send(buffer[..length].to_vec()).is_err() {
                break;
            }
        }
    });
    receiver
}

/// The next piece, unless the deadline comes first. Late means late: a kernel that writes without end is not excused.
fn next(
    chunks: &Receiver<Vec<u8>>,
    deadline: Option<Instant>,
) -> Result<Vec<u8>, RecvTimeoutError> {
    match deadline {
        None => chunks.recv().map_err(|_| RecvTimeoutError::Disconnected),
        Some(deadline) => {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(RecvTimeoutError::Timeout);
            }
            chunks.recv_timeout(left)
        }
    }
}
