//! What a machine with one CPU does, recorded by QEMU: the same instructions can be had again, and stopped between any two.

use std::fs::File;
use std::process::Child;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::Result;

use super::command::{inherited, path};
use super::monitor::{self, Monitor};

/// What a machine finds that looks for chance or for the date, so that one run is like the other.
const SAME: [&str; 4] = ["-seed", "1", "-rtc", "base=2000-01-01T00:00:00,clock=vm"];

/// A recording, in a file without a name.
#[derive(Debug)]
pub struct Recording {
    file: File,
    /// How many instructions of it count, if the machine did not end by itself.
    instructions: OnceLock<u64>,
}

/// What to do with a recording.
#[derive(Clone, Copy, Debug)]
pub enum Recorded<'a> {
    /// To make it.
    Record(&'a Recording),
    /// To do what it says.
    Replay(&'a Recording),
}

impl Recording {
    /// An empty one.
    ///
    /// # Errors
    /// When there is no room for files.
    pub fn new() -> Result<Self> {
        Ok(Self {
            file: inherited(&[])?,
            instructions: OnceLock::new(),
        })
    }

    /// How many instructions of it count, if the machine did not end by itself.
    #[must_use]
    pub fn instructions(&self) -> Option<u64> {
        self.instructions.get().copied()
    }
}

impl Recorded<'_> {
    /// QEMU's arguments for it.
    pub(super) fn arguments(self) -> Vec<String> {
        let (mode, recording) = match self {
            Self::Record(recording) => ("record", recording),
            Self::Replay(recording) => ("replay", recording),
        };
        let options = format!(",rr={mode},rrfile={}", path(&recording.file));
        let counting = monitor::counting(&options).into_iter();
        counting.chain(SAME.map(str::to_owned)).collect()
    }

    /// Has QEMU end a recording of a machine that would go on: if it were killed, the last part would be missing.
    pub(super) fn close(self, monitor: &Monitor, child: &mut Child, limit: Option<Duration>) {
        let Self::Record(recording) = self else {
            return;
        };
        let limit = limit.map_or(u64::MAX, monitor::instructions);
        let count = monitor.instructions().ok();
        // What it did after its time was out depends on when somebody noticed.
        if let Some(count) = count {
            // A recording is made once.
            let _ = recording.instructions.set(count.min(limit));
        }
        // QEMU writes how many instructions there were only with the next event, and its own end is written before: so there is
        // another event, a reset, which nobody will see.
        let _ = monitor.have_it_reset();
        // If QEMU does not answer, the caller kills QEMU, and the replay ends where the recording does.
        if monitor.execute("quit").is_ok() {
            let _ = child.wait();
        }
    }
}
