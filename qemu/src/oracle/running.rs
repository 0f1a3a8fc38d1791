//! How a machine goes on: by an instruction, or up to where it stops.

use std::time::Duration;

use anyhow::{Result, bail};

use super::machine::{LIMIT, Machine};
use crate::stub::{Ran, State};

impl Machine {
    /// Has [`Self::run_to`] stop at these addresses too, from now on.
    ///
    /// # Errors
    /// When the stub refuses.
    pub fn stop_at(&mut self, addresses: &[u64]) -> Result<()> {
        self.stops.extend(addresses);
        let mut addresses = addresses.iter();
        addresses.try_for_each(|address| self.stub.breakpoint(*address, true))
    }

    /// Has [`Self::run_to`] stop at these addresses too, but for [`Self::pass_waits`].
    ///
    /// # Errors
    /// When the stub refuses.
    pub fn stop_at_waits(&mut self, addresses: Vec<u64>) -> Result<()> {
        self.stop_at(&addresses)?;
        self.waits = addresses;
        Ok(())
    }

    /// Has it pass those, or stop there again.
    ///
    /// # Errors
    /// When the stub refuses.
    pub fn pass_waits(&mut self, pass: bool) -> Result<()> {
        let mut waits = self.waits.iter();
        waits.try_for_each(|address| self.stub.breakpoint(*address, !pass))
    }

    /// Runs one instruction; the state after it, or `None` if the machine has ended.
    ///
    /// # Errors
    /// When the connection fails, or the instruction does not end.
    pub fn step(&mut self) -> Result<Option<State>> {
        self.ram.changed();
        match self.stub.step()? {
            Ran::Stopped => self.state().map(Some),
            Ran::Ended => Ok(None),
            Ran::StillRuns => bail!("QEMU did not complete an instruction in time"),
        }
    }

    /// Runs one instruction, or none within the time: the state after it, and whether the processor waits for an interrupt; or
    /// `None` if the machine has ended.
    ///
    /// # Errors
    /// When the connection fails.
    pub fn step_within(&mut self, limit: Duration) -> Result<Option<(State, bool)>> {
        self.ram.changed();
        let ran = self.stub.step_within(limit)?;
        self.stopped(ran)
    }

    /// Runs up to where it stops, but not longer; as [`Self::step_within`].
    ///
    /// # Errors
    /// When the connection fails.
    pub fn run_within(&mut self, limit: Duration) -> Result<Option<(State, bool)>> {
        self.ram.changed();
        let ran = self.stub.go_on(limit)?;
        self.stopped(ran)
    }

    /// Runs the instruction here, and stops at `next`, right behind it, or at a vector; as [`Self::step_within`]. For instructions
    /// after which QEMU forgets that it steps.
    ///
    /// # Errors
    /// When the connection fails.
    pub fn run_over(
        &mut self,
        here: u64,
        next: u64,
        limit: Duration,
    ) -> Result<Option<(State, bool)>> {
        let was_there = self.stops.contains(&here);
        if was_there {
            self.stub.breakpoint(here, false)?;
        }
        let stopped = self.run_to_within(next, limit)?;
        if was_there && stopped.is_some() {
            self.stub.breakpoint(here, true)?;
        }
        Ok(stopped)
    }

    /// Runs up to this address; the state where it has stopped, or how it ended. The machine has a limit of its own.
    ///
    /// # Errors
    /// When the connection fails.
    pub fn run_to(&mut self, address: u64) -> Result<Result<State, Ran>> {
        Ok(match self.run_to_within(address, LIMIT)? {
            Some((state, false)) => Ok(state),
            Some((_, true)) => Err(Ran::StillRuns),
            None => Err(Ran::Ended),
        })
    }

    /// The same, but not longer than this; as [`Self::step_within`].
    ///
    /// # Errors
    /// When the connection fails.
    pub fn run_to_within(
        &mut self,
        address: u64,
        limit: Duration,
    ) -> Result<Option<(State, bool)>> {
        self.stub.breakpoint(address, true)?;
        let stopped = self.run_within(limit)?;
        if stopped.is_some() {
            self.stub.breakpoint(address, false)?;
        }
        Ok(stopped)
    }

    fn stopped(&mut self, ran: Ran) -> Result<Option<(State, bool)>> {
        let stopped = match ran {
            Ran::StillRuns => self.stub.stop()?,
            known => known,
        };
        match stopped {
            Ran::Stopped => Ok(Some((self.state()?, ran == Ran::StillRuns))),
            Ran::Ended => Ok(None),
            Ran::StillRuns => bail!("the machine did not stop"),
        }
    }
}
