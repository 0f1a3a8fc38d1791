//! A recorded machine that does the same again, and stops where it is asked to.

use std::path::Path;
use std::sync::mpsc::{self, Receiver};

use anyhow::{Context, Result, bail};

use super::boot::Machine;
use super::monitor::{INSTRUCTIONS, Monitor, PATIENCE};
use super::recording::{Recorded, Recording};
use super::serial::Event;
use super::stopped::Door;
use super::{Boot, Stopped};
use crate::hardware::Processor;

/// How many instructions before its end QEMU may end a recording that was ended from outside.
const CLOSE: u64 = 2 * INSTRUCTIONS / 1000;

/// A machine that is replayed.
#[derive(Debug)]
pub struct Replay {
    arch: Processor,
    monitor: Monitor,
    door: Door,
    events: Receiver<Event>,
    /// Where the recording ends, unless the machine ends there by itself.
    end: Option<u64>,
    /// How many instructions it has run.
    at: u64,
    _machine: Machine,
}

impl Replay {
    /// Starts a machine like that of `boot`, which has made the recording, stopped before its first instruction.
    ///
    /// # Errors
    /// When QEMU cannot be started.
    pub fn start(boot: &Boot<'_>, recording: &Recording, emulator: &Path) -> Result<Self> {
        let boot = Boot {
            recorded: Some(Recorded::Replay(recording)),
            witness: None,
            ..boot.clone()
        };
        let (mut command, line, sockets) = boot.command(emulator, None)?;
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {}", emulator.display()))?;
        // It holds QEMU's ends of the sockets, which stay open until it is dropped.
        drop(command);
        let mut machine = Machine(child);
        let (sender, events) = mpsc::channel();
        line.watch(machine.0.stdout.take().map(Into::into), false, sender)?;
        let (monitor, _) = Monitor::start(sockets.monitor, false, PATIENCE, |_| ())?;
        Ok(Self {
            arch: boot.board.processor(),
            monitor,
            door: Door::Closed(sockets.stub),
            events,
            end: recording.instructions(),
            at: 0,
            _machine: machine,
        })
    }

    /// Goes on to where it has run so many instructions, more than before, and has somebody `look`; `None` if it ends before.
    ///
    /// # Errors
    /// When QEMU does not go there, or whoever looks has failed.
    pub fn look_at<T>(
        &mut self,
        instructions: u64,
        look: impl FnOnce(&mut Stopped<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        if instructions <= self.at {
            bail!("a replay cannot go back to an earlier instruction");
        }
        if self.end.is_some_and(|end| end < instructions) {
            return Ok(None);
        }
        if !self.monitor.run_to(instructions)? {
            return self.ends().map(|()| None);
        }
        self.at = instructions;
        let mut stopped = Stopped::still(&self.monitor, &mut self.door, self.arch);
        match stopped.as_mut().map(look) {
            Ok(Ok(seen)) => Ok(Some(seen)),
            // It has stopped to end.
            Ok(Err(_)) | Err(_) if self.monitor.has_ended() => self.ends().map(|()| None),
            Ok(Err(error)) => Err(error),
            Err(_) => stopped.map(|_| None),
        }
    }

    /// It has ended before it was where it should go: it may where the recording ends.
    fn ends(&self) -> Result<()> {
        match self.end {
            Some(end) if self.at + CLOSE < end => bail!(
                "the replay ended after {replayed} instructions, but {end} were recorded",
                replayed = self.at
            ),
            _ => Ok(()),
        }
    }

    /// What it has written to the serial line, once it has ended.
    #[must_use]
    pub fn serial(self) -> Vec<u8> {
        let Self {
            events, _machine, ..
        } = self;
        // Its end closes the line, by which the events end.
        drop(_machine);
        let written = events.into_iter().map(|event| match event {
            Event::Written(bytes) => bytes,
            _ => Vec::new(),
        });
        written.flatten().collect()
    }
}
