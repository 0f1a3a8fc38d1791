//! Boots an image, and waits for its end.

use std::io::Write;
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::monitor::Watched;
use super::serial::Event;
use super::terminal::Terminal;
use super::{Arch, Board, Debugger, GdbStub, Verdict};
use crate::raspi::Console;

/// What to boot, and how.
#[derive(Clone, Debug)]
pub struct Boot<'a> {
    /// The machine's board.
    pub board: Board,
    /// The serial port of a Raspberry Pi that is used.
    pub console: Console,
    /// The ELF image.
    pub image: &'a Path,
    /// The image's command line. Its first word is the scenario.
    pub command_line: &'a str,
    /// CPUs of the machine, at least 1.
    pub cpus: u32,
    /// The time limit; `None` for no limit.
    pub limit: Option<Duration>,
    /// The limit of the machine's own time, which is then counted in instructions. Not with `interactive`.
    pub guest_limit: Option<Duration>,
    /// Start stopped and wait for gdb there.
    pub gdb: Option<GdbStub>,
    /// A debugger to start, which uses the stub; the machine ends with it.
    pub debugger: Option<Debugger>,
    /// Connect the machine's serial input with standard input.
    pub interactive: bool,
    /// Go on if the machine resets itself; otherwise a reset ends it.
    pub reboots: bool,
    /// More arguments for QEMU, after all others.
    pub more: &'a [&'a str],
    /// How long the serial line must be silent before what is written there is flushed: a decoder wants whole lines.
    pub pause: Duration,
}

/// The result of a boot.
#[derive(Clone, Debug)]
pub struct Booted {
    /// How it ended.
    pub verdict: Verdict,
    /// All that was written to the serial line.
    pub serial: Vec<u8>,
    /// How long it took.
    pub took: Duration,
}

impl<'a> Boot<'a> {
    /// A boot of this image on the architecture's first board, with one CPU and no options.
    #[must_use]
    pub const fn new(arch: Arch, image: &'a Path, command_line: &'a str) -> Self {
        Self {
            board: Board::of(arch),
            console: Console::Pl011,
            image,
            command_line,
            cpus: 1,
            limit: None,
            guest_limit: None,
            gdb: None,
            debugger: None,
            interactive: false,
            reboots: false,
            more: &[],
            pause: Duration::ZERO,
        }
    }

    /// Boots with the program `emulator`, and copies the serial line to `out` as it comes.
    ///
    /// # Errors
    /// When QEMU cannot be started, or `out` takes no more.
    pub fn run(&self, emulator: &Path, out: &mut dyn Write) -> Result<Booted> {
        let started = Instant::now();
        // The files stay open as long as the machine.
        let files = self.board.is_raspberry_pi().then(|| self.firmware_files());
        let files = files.transpose()?;
        let (mut command, line, monitor) = self.command(emulator, files.as_ref())?;
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {}", emulator.display()))?;
        // It holds QEMU's end of the line, which stays open until it is dropped.
        drop(command);
        let mut machine = Machine(child);
        let (sender, events) = mpsc::channel();
        let watched = monitor.map(|monitor| monitor.watch(sender.clone()));
        if let Some(debugger) = &self.debugger {
            debugger.start(sender.clone())?;
        }
        line.watch(machine.0.stdout.take().map(Into::into), sender)?;
        let _terminal = self.interactive.then(Terminal::take);

        let mut serial = Vec::new();
        let limit = self.limit.map(|limit| started + limit);
        let mut flushed = true;
        let verdict = loop {
            let pause = (!flushed).then(|| Instant::now() + self.pause);
            let deadline = limit.into_iter().chain(pause).min();
            match next(&events, deadline) {
                Ok(Event::Written(chunk)) => {
                    serial.extend_from_slice(&chunk);
                    out.write_all(&chunk)
                        .context("cannot pass on the serial line")?;
                    flushed = false;
                }
                Err(RecvTimeoutError::Timeout) if deadline != limit => {
                    out.flush().context("cannot pass on the serial line")?;
                    flushed = true;
                }
                Ok(Event::Left) => {
                    // Further output starts on a new line of the terminal.
                    out.write_all(b"\n").context("cannot end the serial line")?;
                    break Verdict::Left;
                }
                Ok(Event::GuestTimeOver) => break Verdict::OutOfGuestTime,
                Err(RecvTimeoutError::Timeout) => break Verdict::TimedOut,
                Ok(Event::Closed) | Err(RecvTimeoutError::Disconnected) => {
                    let status = machine.0.wait().context("cannot wait for QEMU")?;
                    // gdb keeps the terminal after the machine has ended, to inspect it.
                    while self.debugger.is_some()
                        && events
                            .recv()
                            .is_ok_and(|event| !matches!(event, Event::Left))
                    {}
                    let was_reset = watched.is_some_and(Watched::was_reset);
                    break Verdict::of(self.board.arch(), status, was_reset);
                }
            }
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
        // Fails only if it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The next event, unless the deadline comes first: a kernel that writes without end also runs out of time.
fn next(events: &Receiver<Event>, deadline: Option<Instant>) -> Result<Event, RecvTimeoutError> {
    match deadline {
        None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
        Some(deadline) => {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(RecvTimeoutError::Timeout);
            }
            events.recv_timeout(left)
        }
    }
}
