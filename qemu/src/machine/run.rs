//! A machine that runs: its events, its limits of time, and when it is asked where it is.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::evidence::Ending;
use super::monitor::{Monitor, PATIENCE};
use super::screen::Camera;
use super::serial::Event;
use super::stopped::Door;
use super::{Boot, Stopped, Verdict};
use crate::output::fold;
use crate::words::say;

/// The time between two queries of the machine's clock.
const EVERY: Duration = Duration::from_millis(50);

/// A running machine.
pub(super) struct Run<'b> {
    pub(super) boot: &'b Boot<'b>,
    pub(super) asker: Asker<'b>,
    pub(super) monitor: &'b Monitor,
    /// Waits for the report on the screen.
    pub(super) camera: Option<Camera>,
    pub(super) events: Receiver<Event>,
    pub(super) serial: Vec<u8>,
    pub(super) limit: Option<Instant>,
    /// Since when it has run without a stop, if somebody looks at it.
    pub(super) going_since: Option<Instant>,
    /// Looks that have failed since the last one that did not.
    pub(super) missed: u32,
    /// The machine has written since the first of these.
    pub(super) went_on: bool,
    /// All that was written was passed on.
    pub(super) flushed: bool,
    /// The debugger that the runner has started has not ended.
    pub(super) is_debugged: bool,
    /// Why the machine stands still although it should run.
    pub(super) refused: Option<String>,
    /// Why there is no picture.
    pub(super) lacks: Option<anyhow::Error>,
}

impl Run<'_> {
    /// Copies the serial line, up to the machine's end. `None` if QEMU has ended by itself: its exit status has the verdict.
    pub(super) fn until_it_ends(
        &mut self,
        qemu: &mut Child,
        out: &mut dyn Write,
    ) -> Result<Option<Verdict>> {
        let mut clock = self.boot.guest_limit.map(|_| Instant::now());
        let (mut is_ending, mut is_closed) = (false, false);
        loop {
            if is_closed && has_ended(qemu) {
                return Ok(None);
            }
            if let Some(why) = self.refused.take() {
                return Ok(Some(Verdict::Failed(why)));
            }
            let pause = (!self.flushed).then(|| Instant::now() + self.boot.pause);
            let look = self.next_look();
            let deadlines = [self.limit, self.asker.next(), look, clock, pause];
            let deadline = deadlines.into_iter().flatten().min();
            let passed = |at: Option<Instant>| at.is_some_and(|at| at <= Instant::now());
            match next(&self.events, deadline) {
                Ok(Event::Written(chunk)) => {
                    self.serial.extend_from_slice(&chunk);
                    out.write_all(&chunk)
                        .context("cannot forward the serial output")?;
                    self.flushed = false;
                    self.went_on = true;
                    if let Some(camera) = self.camera.take_if(|it| it.is_due(&self.serial)) {
                        // The verdict is still to come.
                        self.lacks = camera.take(self.monitor).err();
                    }
                }
                Ok(Event::Left) => {
                    // Further output starts on a new line of the terminal.
                    out.write_all(b"\n")
                        .context("cannot close the serial line")?;
                    return Ok(Some(Verdict::Left));
                }
                // The exit status has the verdict.
                Ok(Event::DebuggerEnded(_)) if has_ended(qemu) => self.is_debugged = false,
                // That is no act of the kernel's.
                Ok(Event::DebuggerEnded(ended)) => {
                    out.write_all(b"\n")
                        .context("cannot close the serial line")?;
                    let status = ended.context("cannot wait for gdb")?;
                    return Ok(Some(Verdict::Failed(format!(
                        "gdb ended ({status}) before the kernel reported success or a panic"
                    ))));
                }
                Ok(Event::Ending(ending)) => self.ends(ending, out)?,
                Ok(Event::Interrupted) => {
                    self.ask("Ctrl-C was pressed", out)?;
                    return Ok(Some(Verdict::Interrupted));
                }
                // The line may be closed by a script, or by somebody else, while the machine goes on: its time is limited still.
                Ok(Event::Closed) => is_closed = true,
                Ok(Event::Exited) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                // What it has written last is still to be read, and its exit status has the verdict. A script may have left QEMU behind.
                Err(RecvTimeoutError::Timeout)
                    if passed(self.limit) && !is_ending && has_ended(qemu) =>
                {
                    is_ending = true;
                    self.monitor.quit();
                    self.limit = Some(Instant::now() + PATIENCE);
                }
                Err(RecvTimeoutError::Timeout) if passed(self.limit) => {
                    self.ask("the time ran out", out)?;
                    return Ok(Some(Verdict::TimedOut));
                }
                Err(RecvTimeoutError::Timeout) if passed(self.asker.next()) => {
                    let after = self.asker.take().as_secs_f64();
                    let begun = Instant::now();
                    self.ask(&format!("{after} s passed (--ask)"), out)?;
                    self.go_on(begun);
                }
                Err(RecvTimeoutError::Timeout) if passed(look) => self.look(),
                Err(RecvTimeoutError::Timeout) if passed(clock) => {
                    let limit = self.boot.guest_limit.unwrap_or_default();
                    // Whoever does not answer is busy, or has ended, which the serial line reports.
                    if self.monitor.time().is_ok_and(|time| time >= limit) {
                        self.ask("the machine's own clock reached the time limit", out)?;
                        return Ok(Some(Verdict::OutOfGuestTime));
                    }
                    clock = Some(Instant::now() + EVERY);
                }
                Err(RecvTimeoutError::Timeout) => self.flush(out)?,
            }
        }
    }

    /// The monitor says that the machine ends. Without a witness QEMU ends by itself.
    fn ends(&mut self, ending: Ending, out: &mut dyn Write) -> Result<()> {
        if self.boot.witness.is_none() {
            return Ok(());
        }
        match ending {
            // Perhaps with a verdict: some versions of QEMU say so of every end that the kernel wants.
            Ending::Off | Ending::FromOutside(_) => {}
            Ending::Reset => self.ask("the machine reset itself", out)?,
            Ending::Panicked => self.ask("the kernel reported a panic to QEMU", out)?,
        }
        // The end of the serial line follows.
        self.monitor.quit();
        Ok(())
    }

    /// When somebody looks at it the next time.
    fn next_look(&self) -> Option<Instant> {
        Some(self.going_since? + self.boot.observer?.pause())
    }

    /// Stops it for whoever looks.
    fn look(&mut self) {
        let (Some(observer), Some(since)) = (self.boot.observer, self.going_since) else {
            return;
        };
        let begun = Instant::now();
        let looked = self.asker.stop();
        let looked = looked.and_then(|mut stopped| observer.look(&mut stopped, begun - since));
        self.go_on(begun);
        match looked {
            Ok(()) => self.tell_missed(true),
            // Perhaps it has ended, which the serial line reports.
            Err(_) => {
                self.went_on &= self.missed > 0;
                self.missed += 1;
            }
        }
        self.going_since = Some(Instant::now());
    }

    /// Tells whoever looks how many looks have failed, if the machine ran on after the first of them: `it_runs`, or it has written.
    pub(super) fn tell_missed(&mut self, it_runs: bool) {
        let missed = std::mem::take(&mut self.missed);
        if let Some(observer) = self.boot.observer
            && missed > 0
            && (it_runs || self.went_on)
        {
            observer.missed(missed);
        }
    }

    /// Lets it go on after it was stopped at this time, which is none of the time that it has.
    fn go_on(&mut self, stopped: Instant) {
        self.refused = self.monitor.go_on();
        let stood = stopped.elapsed();
        self.asker.started += stood;
        self.limit = self.limit.map(|limit| limit + stood);
    }

    fn ask(&mut self, reason: &str, out: &mut dyn Write) -> Result<()> {
        self.flush(out)?;
        self.asker.ask(reason);
        Ok(())
    }

    fn flush(&mut self, out: &mut dyn Write) -> Result<()> {
        self.flushed = true;
        out.flush().context("cannot forward the serial output")
    }
}

/// Whether QEMU, or the script that has started it, has ended.
fn has_ended(qemu: &mut Child) -> bool {
    matches!(qemu.try_wait(), Ok(Some(_)))
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

/// Asks the machine where it is.
pub(super) struct Asker<'b> {
    boot: &'b Boot<'b>,
    monitor: &'b Monitor,
    door: Door,
    /// When it shall be asked, the next time last.
    times: Vec<Duration>,
    started: Instant,
    /// What it has told.
    pub(super) told: Vec<String>,
}

impl<'b> Asker<'b> {
    pub(super) fn new(
        boot: &'b Boot<'b>,
        monitor: &'b Monitor,
        stub: UnixStream,
        started: Instant,
    ) -> Self {
        let mut times = boot.asks.to_vec();
        times.sort_by_key(|time| std::cmp::Reverse(*time));
        Self {
            boot,
            monitor,
            door: Door::Closed(stub),
            times,
            started,
            told: Vec::new(),
        }
    }

    fn next(&self) -> Option<Instant> {
        Some(self.started + *self.times.last()?)
    }

    fn take(&mut self) -> Duration {
        self.times.pop().unwrap_or_default()
    }

    /// Stops the machine.
    fn stop(&mut self) -> Result<Stopped<'_>> {
        let arch = self.boot.board.processor();
        Stopped::new(self.monitor, &mut self.door, arch)
    }

    /// Stops the machine, and notes and shows where it is.
    fn ask(&mut self, reason: &str) {
        let Some(witness) = self.boot.witness.filter(|_| self.boot.gdb.is_none()) else {
            return;
        };
        witness.prepare();
        match self.stop() {
            Ok(mut stopped) => {
                let text = witness.tell(&mut stopped, reason);
                fold::show("backtraces of all CPUs", &text);
                witness.keep(&mut stopped, reason);
                self.told.push(text);
            }
            Err(error) => say(format_args!("cannot inspect the machine: {error:#}")),
        }
    }
}
