//! Boots an image, and waits for its end.

use std::io::Write;
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::interrupt::Interrupts;
use super::monitor::{Monitor, PATIENCE};
use super::recording::Recorded;
use super::run::{Asker, Run};
use super::screen::Camera;
use super::serial::Event;
use super::terminal::Terminal;
use super::verdict::Ended;
use super::{
    Board, Debugger, GdbStub, Given, Observer, Processor, Screen, Statuses, Verdict, Witness,
};
use crate::frames;
use crate::raspi::Console;
use crate::report::has_failure;

/// What to boot, and how.
#[derive(Clone, Debug)]
pub struct Boot<'a> {
    /// The machine's board. Of a given command only the architecture counts.
    pub board: Board,
    /// Boots by this command instead, which says what machine it is: neither `board`, `console`, `cpus` nor `command_line` does.
    pub given: Option<&'a Given>,
    /// The exit statuses by which the kernel gives its verdict.
    pub statuses: Statuses,
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
    /// The machine has a screen. Not with `given`.
    pub screen: Option<Screen>,
    /// Go on if the machine resets itself; otherwise a reset ends it.
    pub reboots: bool,
    /// Who says where the CPUs are when the machine does not end with a verdict; not with `gdb`, which has the stub.
    pub witness: Option<&'a dyn Witness>,
    /// Has SIGINT end the boot after the witness has looked at the machine; otherwise it ends this process.
    pub interrupts: bool,
    /// Times after the start at which it is asked as well; the machine goes on.
    pub asks: &'a [Duration],
    /// Who looks at it again and again; not with `gdb`, which has the stub.
    pub observer: Option<&'a dyn Observer>,
    /// What it does is recorded, or replayed; one CPU.
    pub recorded: Option<Recorded<'a>>,
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
    /// The serial line contains a report about a failure, as text or as log frames.
    pub has_report: bool,
    /// Where its CPUs were, each time that it was asked.
    pub asked: Vec<String>,
    /// How long it took.
    pub took: Duration,
    /// What was to be made of it, and was not, and why; in words that follow the verdict.
    pub lacks: Option<String>,
}

impl<'a> Boot<'a> {
    /// A boot of this image on the processor's first board, with one CPU and no options.
    #[must_use]
    pub fn new(processor: impl Into<Processor>, image: &'a Path, command_line: &'a str) -> Self {
        Self::on(Board::of(processor.into()), image, command_line)
    }

    /// The same on this board.
    #[must_use]
    pub const fn on(board: Board, image: &'a Path, command_line: &'a str) -> Self {
        Self {
            board,
            given: None,
            statuses: Statuses::USUAL,
            console: Console::Pl011,
            image,
            command_line,
            cpus: 1,
            limit: None,
            guest_limit: None,
            gdb: None,
            debugger: None,
            interactive: false,
            screen: None,
            reboots: false,
            witness: None,
            interrupts: false,
            asks: &[],
            observer: None,
            recorded: None,
            more: &[],
            pause: Duration::ZERO,
        }
    }

    /// Whether QEMU is started with a stub for a debugger, as far as the command line shows.
    fn has_stub(&self) -> bool {
        self.gdb.is_some() || self.given.is_some_and(Given::has_stub)
    }

    /// Boots with the program `emulator`, and copies the serial line to `out` as it comes.
    ///
    /// # Errors
    /// When QEMU cannot be started, or `out` takes no more.
    pub fn run(&self, emulator: &Path, out: &mut dyn Write) -> Result<Booted> {
        let started = Instant::now();
        // The files stay open as long as the machine.
        let wants_files = self.given.is_none() && self.board.is_raspberry_pi();
        let files = wants_files.then(|| self.firmware_files());
        let files = files.transpose()?;
        let (mut command, line, sockets) = self.command(emulator, files.as_ref())?;
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {}", emulator.display()))?;
        // It holds QEMU's ends of the sockets, which stay open until it is dropped.
        drop(command);
        let mut child = Machine(child);
        let (sender, events) = mpsc::channel();
        announce_end(&child.0, sender.clone());
        let output = child.0.stdout.take().map(Into::into);
        let keys = line.watch(output, self.interactive, sender.clone())?;
        let is_typed_at = self.interactive || self.debugger.is_some();
        let listens = self.interrupts && self.witness.is_some() && !is_typed_at;
        let _interrupts = match listens {
            true => Some(Interrupts::listen(sender.clone())?),
            false => None,
        };
        let waits_for_gdb = self.gdb.is_some();
        let ends = sender.clone();
        let (monitor, watched) =
            Monitor::start(sockets.monitor, !waits_for_gdb, PATIENCE, move |ending| {
                // Nobody receives it if the boot is over.
                let _ = ends.send(Event::Ending(ending));
            })?;
        if let Some(witness) = self.witness {
            witness.begins();
        }
        if let Some(screen) = &self.screen {
            screen.announce(&monitor);
        }
        let camera = match (&self.screen, keys) {
            (Some(Screen::Picture(path)), Some(keys)) => Some(Camera::new(path.clone(), keys)),
            _ => None,
        };
        if let Some(debugger) = &self.debugger {
            debugger.start(sender)?;
        }
        let _terminal = self.interactive.then(Terminal::take);
        let mut run = Run {
            boot: self,
            asker: Asker::new(self, &monitor, sockets.stub, started),
            monitor: &monitor,
            camera,
            going_since: self.observer.map(|_| Instant::now()),
            missed: 0,
            went_on: false,
            events,
            serial: Vec::new(),
            limit: self.limit.map(|limit| started + limit),
            flushed: true,
            is_debugged: self.debugger.is_some(),
            refused: monitor.refused.clone(),
            lacks: None,
        };
        let ended = run.until_it_ends(&mut child.0, out)?;
        run.tell_missed(ended.is_some());
        let has_report = has_report(&run.serial, self.image);
        let verdict = match ended {
            Some(verdict) => {
                match self.recorded {
                    Some(recorded) => recorded.close(&monitor, &mut child.0, self.guest_limit),
                    None => monitor.quit(),
                }
                verdict
            }
            None => {
                let status = child.0.wait().context("cannot wait for QEMU")?;
                // gdb keeps the terminal after the machine has ended, to inspect it.
                while run.is_debugged
                    && run
                        .events
                        .recv()
                        .is_ok_and(|event| !matches!(event, Event::DebuggerEnded(_)))
                {
                }
                let mut evidence = watched.evidence();
                evidence.has_monitor |= self.given.is_some_and(Given::has_monitor);
                let ended = Ended {
                    status,
                    process: child.0.id(),
                    evidence,
                    is_debugged: monitor.has_stub || self.has_stub(),
                    has_report,
                };
                Verdict::of(self.statuses, self.board.processor(), &ended)
            }
        };
        let unused = run.camera.map(Camera::unused);
        let lacks = run.lacks.or(unused);
        Ok(Booted {
            lacks: lacks.map(|error| format!("{error:#}")),
            verdict,
            serial: run.serial,
            has_report,
            asked: run.asker.told,
            took: started.elapsed(),
        })
    }
}

/// Returns whether the image's output contains a report about a failure. If log frames cannot be decoded, only the text is searched.
fn has_report(serial: &[u8], image: &Path) -> bool {
    // Zero bytes surround frames, and text contains none.
    let text = serial.contains(&0).then(|| frames::text(serial, image));
    has_failure(&text.and_then(Result::ok).unwrap_or_default()) || has_failure(serial)
}

/// Sends an event when a process has ended, and leaves its exit status to whoever waits for that.
fn announce_end(child: &Child, sender: Sender<Event>) {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

    let pid = Pid::from_child(child);
    std::thread::spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        // A process that cannot be waited for has ended, and somebody has its status.
        while waitid(WaitId::Pid(pid), options).err() == Some(rustix::io::Errno::INTR) {}
        // Nobody receives it if the boot is over.
        let _ = sender.send(Event::Exited);
    });
}

/// A running QEMU, which does not outlive this value.
#[derive(Debug)]
pub(super) struct Machine(pub(super) Child);

impl Drop for Machine {
    fn drop(&mut self) {
        // Fails only if it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
