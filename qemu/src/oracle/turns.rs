//! Several CPUs: one runs at a time while the others stand still, for a few instructions, as many as the seed decides. One that
//! says that it waits for another gives its turn away. How long one goes round that does not say so, the host's clock decides.

use std::time::Duration;

use anyhow::{Result, bail};

use super::follow::{End, Follower, Turn};
use super::shadow::Waiting;
use super::state::Flow;
use crate::stub::{Ran, State};

/// How long a processor is let wait for an interrupt before it gives its turn away.
pub(super) const WAIT: Duration = Duration::from_millis(5);

/// How long it is let run without being followed.
const RUN: Duration = Duration::from_millis(30);

/// The same, if there is no other one.
const ALONE: Duration = Duration::from_secs(10);

/// So many waits, with no boundary between, are of one that looks at the clock: it is let run then.
const LONG: u64 = 100;

/// How many instructions a turn has, about.
const TURN: u64 = 24;

/// A turn goes to a CPU that does not wait for an interrupt, as long as there is one; but one of so many goes to any CPU, so that
/// those that wait are looked at too.
const SELDOM: u64 = 20;

/// The same, of the turns that a CPU gives away because it waits.
const AFTER_WAITS: u64 = 10;

/// What a CPU does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Standing {
    /// It has not come to the kernel.
    Off,
    /// It stands between two instructions.
    At(State),
    /// It waits there for an interrupt.
    Halted(State),
}

impl Follower<'_> {
    /// Gives the turn to another CPU, if this one waits, or now and then.
    pub(super) fn next_turn(&mut self, waits: bool) -> Result<()> {
        if self.cpus.len() == 1 || !waits && self.random.below(TURN) != 0 {
            return Ok(());
        }
        let others = |all: bool| -> Vec<usize> {
            let cpus = self.cpus.iter().enumerate();
            let runs = |standing| matches!(standing, &Standing::At(_));
            let others = cpus.filter(|(cpu, one)| *cpu != self.cpu && (all || runs(one)));
            others.map(|(cpu, _)| cpu).collect()
        };
        let mut able = others(false);
        let share = if waits { AFTER_WAITS } else { SELDOM };
        if waits && able.is_empty() || self.random.below(share) == 0 {
            able = others(true);
        }
        if !able.is_empty() {
            let next = able[self.random.below(able.len() as u64) as usize];
            self.machine.turn_to(next)?;
            self.shadow.turn_to(next);
            self.cpu = next;
        }
        Ok(())
    }

    /// A turn of a CPU that has not come to the kernel.
    pub(super) fn start(&mut self) -> Result<Turn> {
        let Some((state, _)) = self.machine.run_within(WAIT)? else {
            return Ok(Turn::Ends(End::Over("before a CPU started".to_owned())));
        };
        if Some(state.pc) != self.other_entry {
            return Ok(Turn::Waits);
        }
        self.cpus[self.cpu] = Standing::At(state);
        Ok(Turn::Goes)
    }

    /// A turn of a CPU that waits for an interrupt.
    pub(super) fn wake(&mut self, before: &State) -> Result<Turn> {
        let Some((after, _)) = self.machine.step_within(WAIT)? else {
            return Ok(Turn::Ends(End::Over("while a CPU waited".to_owned())));
        };
        if after.pc == before.pc {
            return Ok(Turn::Waits);
        }
        if let Some(Waiting::Unseen { .. }) = self.shadow.waiting.last() {
            self.shadow
                .move_stack(self.image, &self.places, before, &after);
            self.cpus[self.cpu] = Standing::At(after);
            return Ok(Turn::Goes);
        }
        self.stepped(before, &after)
    }

    /// Lets the CPU at hand run up to this address, or where else it stops; says whether it did not within the time. The error
    /// says that it does not at all.
    pub(super) fn run_up_to(&mut self, address: u64) -> Result<Result<(State, bool), Ran>> {
        Ok(match self.cpus.len() {
            1 => self.machine.run_to(address)?.map(|state| (state, false)),
            _ => {
                let is_long = self.waits > LONG;
                if is_long {
                    self.machine.pass_waits(true)?;
                }
                let stopped = self.machine.run_to_within(address, RUN)?;
                if is_long && stopped.is_some() {
                    self.machine.pass_waits(false)?;
                }
                stopped.ok_or(Ran::Ended)
            }
        })
    }

    /// Runs the instruction at which the CPU at hand waits: the state after it, which is the one before if the host gave the CPU no
    /// time, and whether it still waits behind it; `None` if the machine has ended.
    pub(super) fn step_wait(&mut self, state: &State) -> Result<Option<(State, bool)>> {
        let instruction = self.instruction(state.pc);
        let limit = match instruction.map(|found| found.flow) {
            Some(Flow::Waits) if self.cpus.len() > 1 => WAIT,
            _ => ALONE,
        };
        let length = instruction.map_or(0, |found| found.length);
        let next = state.pc + length;
        let Some((after, is_late)) = self.machine.run_over(state.pc, next, limit)? else {
            return Ok(None);
        };
        if is_late && self.cpus.len() == 1 {
            bail!("the machine waits for an interrupt forever");
        }
        Ok(Some((after, is_late && after.pc != state.pc)))
    }

    /// Whether the instruction there says that it waits for another CPU, or for an interrupt.
    pub(super) fn is_wait(&self, pc: u64) -> bool {
        let flow = self.instruction(pc).map(|instruction| instruction.flow);
        matches!(flow, Some(Flow::Spins | Flow::Waits))
    }
}
