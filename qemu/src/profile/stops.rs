//! Samples of a machine that is stopped every so often while it runs: of several CPUs, which QEMU does not record.
//!
//! They are in proportion to time, as this host's processors share it out, and another run has others. What a halted CPU does takes no
//! time.

use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};

use super::samples::Samples;
use crate::machine::{Observer, Source, Stopped};
use crate::outside::Callers;

/// Whoever takes the samples.
#[derive(Debug)]
pub(super) struct Stops {
    callers: OnceLock<Callers>,
    pause: Duration,
    seen: Mutex<Seen>,
}

/// What was seen.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) samples: Samples,
    pub(super) cpus: usize,
    /// How often the machine was looked at, and how long it has run.
    looks: u32,
    ran: Duration,
    /// Looks that have failed.
    pub(super) missed: u32,
}

impl Stops {
    /// So many a second, or as many as QEMU can.
    pub(super) const fn new(rate: u64) -> Self {
        Self {
            callers: OnceLock::new(),
            pause: Duration::from_nanos(1_000_000_000 / rate),
            seen: Mutex::new(Seen {
                samples: Samples::new(),
                cpus: 0,
                looks: 0,
                ran: Duration::ZERO,
                missed: 0,
            }),
        }
    }

    /// Reads the image, before the machine runs.
    pub(super) fn prepare(&self, image: &Path) -> Result<()> {
        if self.callers.get().is_none() {
            let _ = self.callers.set(Callers::read(image)?);
        }
        Ok(())
    }

    pub(super) fn callers(&self) -> Result<&Callers> {
        self.callers.get().context("no sample was taken")
    }

    /// All that was seen; from then on nothing is.
    pub(super) fn take(&self) -> Seen {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let nothing = Seen {
            samples: Samples::new(),
            ..*seen
        };
        std::mem::replace(&mut seen, nothing)
    }
}

impl Seen {
    /// How many there are of a second that the machine has run.
    pub(super) fn rate(&self) -> u64 {
        let rate = f64::from(self.looks) / self.ran.as_secs_f64().max(1e-9);
        (rate as u64).max(1)
    }
}

impl Observer for Stops {
    fn pause(&self) -> Duration {
        self.pause
    }

    fn look(&self, stopped: &mut Stopped<'_>, ran: Duration) -> Result<()> {
        let callers = self.callers()?;
        let halted = stopped.cpus()?;
        let mut stacks = Vec::new();
        for cpu in (0..halted.len()).filter(|cpu| !halted[*cpu]) {
            stacks.push(callers.of(stopped, cpu)?);
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.cpus = halted.len();
        seen.looks += 1;
        seen.ran += ran;
        for stack in stacks {
            seen.samples.add(stack, callers);
        }
        Ok(())
    }

    fn missed(&self, looks: u32) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.missed += looks;
    }
}
