//! What the CPU at hand does next: a boundary, and the instruction behind it.

use anyhow::{Context, Result, bail};

use super::follow::{End, Follower, Turn};
use super::passage::{Begun, LetRun};
use super::shadow::{Surprise, Waiting};
use super::stale;
use super::state::{Flow, Instruction, decode};
use super::turns::Standing;
use crate::scenario::{self, Outcome};
use crate::stub::State;

/// Frames up to which every boundary is compared; with so many times more, one of so many.
const DEEP: u64 = 256;

/// An address at which no kernel maps anything.
const UNMAPPED: u64 = 8;

/// Instructions of the entry function before its first call, of which most clear memory.
const ENTRY: u64 = 48;

impl Follower<'_> {
    /// Compares, and has the CPU at hand do its next instruction, or all that is let run.
    pub(super) fn turn(&mut self, state: &State) -> Result<Turn> {
        if let Some(Waiting::Unseen { .. }) = self.shadow.waiting.last() {
            return Ok(match self.let_run()? {
                LetRun::Followed(after) => {
                    self.cpus[self.cpu] = Standing::At(after);
                    Turn::Goes
                }
                LetRun::Waits(standing) => {
                    self.cpus[self.cpu] = standing;
                    Turn::Waits
                }
                LetRun::Lasts(begun, ran) => {
                    let at = format!("in {}", self.image.name(state.pc));
                    Turn::Ends(End::Lasted(begun.lasting(), ran, at))
                }
            });
        }
        self.compare(state);
        let name = |pc| self.image.name(pc);
        if self.is_enough() {
            return Ok(Turn::Ends(End::Left(format!("left in {}", name(state.pc)))));
        }
        let instruction = self.instruction(state.pc);
        if self.tally.boundaries == ENTRY && self.shadow.waiting.is_empty() {
            let call = self.first_call(state.pc);
            let call = call.context("the kernel's entry function contains no call instruction")?;
            match self.machine.run_to(call)? {
                Ok(after) => self.cpus[self.cpu] = Standing::At(after),
                Err(ran) => {
                    bail!(
                        "the kernel's entry function did not reach its first call instruction, at {call:#x} (machine state: {ran:?})"
                    )
                }
            }
            return Ok(Turn::Goes);
        }
        if let Some((pc, sp, is_return)) = self.passage(state, instruction) {
            self.tally.skipped += 1;
            if is_return {
                self.shadow.waiting.pop();
            }
            let begun = Begun {
                pc: state.pc,
                sp: state.sp,
                function: self.image.function(state.pc).filter(|_| is_return),
            };
            self.begun.insert((pc, sp), begun);
            self.shadow.waiting.push(Waiting::Unseen { pc, sp });
            return Ok(Turn::Goes);
        }
        if self.is_due(state.pc) {
            self.machine.nmi()?;
            self.tally.nmis += 1;
        }
        let flow = instruction.map(|instruction| instruction.flow);
        let ends = |pc| Ok(Turn::Ends(End::Over(format!("in {}", name(pc)))));
        if !matches!(flow, Some(Flow::Spins | Flow::Waits)) {
            return match self.machine.step()? {
                // QEMU may stop before it has done anything, as when an interrupt comes that is masked.
                Some(after) if after == *state => Ok(Turn::Goes),
                Some(after) => self.stepped(state, &after),
                None => ends(state.pc),
            };
        }
        let Some((after, is_halted)) = self.step_wait(state)? else {
            return ends(state.pc);
        };
        if after.pc == state.pc {
            return Ok(Turn::Waits);
        }
        let turn = self.stepped(state, &after)?;
        if !matches!(turn, Turn::Goes) {
            return Ok(turn);
        }
        if is_halted {
            // What wakes it may be no exception: then the instruction here is executed in the same step.
            self.compare(&after);
            self.cpus[self.cpu] = Standing::Halted(after);
        }
        Ok(Turn::Waits)
    }

    /// Notes what the CPU at hand has done in an instruction.
    pub(super) fn stepped(&mut self, state: &State, after: &State) -> Result<Turn> {
        self.tally.came += u64::from(self.image.is_nmi(after.pc));
        let ram = &self.machine.ram;
        let stepped = self.shadow.step(
            self.image,
            &self.places,
            state,
            self.instruction(state.pc),
            after,
            &|address| ram.word(address),
        );
        if let Err(surprise) = stepped {
            let resets = scenario::find(&self.tally.scenario)
                .is_some_and(|scenario| scenario.outcome == Outcome::SucceedsAfterReset);
            if resets && !self.image.is_code(after.pc) {
                let function = self.image.name(state.pc);
                return Ok(Turn::Ends(End::Left(format!(
                    "the machine reset itself in {function}"
                ))));
            }
            self.tally.surprise(&self.image.names, &surprise);
            if !matches!(surprise, Surprise::Returned(..)) {
                let name = self.image.name(after.pc);
                return Ok(Turn::Ends(End::Left(format!("lost in {name}"))));
            }
        }
        if !self.is_filled && self.shadow.waiting.len() == 1 {
            self.is_filled = true;
            let cpus = self.plan.cpus;
            stale::fill(self.image, ram, cpus, after.sp, &mut self.random)?;
        }
        self.in_scenario |= after.pc == self.kept[1];
        if self.probe_returns == Some((after.pc, after.sp)) {
            return Ok(Turn::Ends(End::Left("stopped after the probe".to_owned())));
        }
        let after = match self.is_probed(state.pc) {
            true => {
                self.probe_returns = self.shadow.waiting.last().map(Waiting::at);
                let probe = self.image.address("postmortem_read")?;
                self.machine.go_to(probe, UNMAPPED)?
            }
            false => *after,
        };
        self.cpus[self.cpu] = Standing::At(after);
        Ok(Turn::Goes)
    }

    /// Whether trap code has just called a handler from this instruction, in whose place the probe runs.
    fn is_probed(&mut self, pc: u64) -> bool {
        let is_call = |flow| matches!(flow, Flow::Call(_));
        let is_wanted = self.plan.probe.is_some_and(|depth| {
            let waiting = self.shadow.waiting.iter();
            let interrupted = waiting.filter(|one| matches!(one, Waiting::Interrupted { .. }));
            self.image.function(pc) == Some(self.places.trap_entry)
                && self
                    .instruction(pc)
                    .is_some_and(|found| is_call(found.flow))
                && interrupted.count() == depth as usize
        });
        if is_wanted {
            self.plan.probe = None;
        }
        is_wanted
    }

    fn compare(&mut self, state: &State) {
        self.tally.unknown = self.shadow.unknown;
        let ram = &self.machine.ram;
        self.shadow
            .follow_handlers(&self.places, &|address| ram.word(address));
        // Of boundaries with thousands of frames, those that the seed picks.
        let share = self.shadow.waiting.len() as u64 / DEEP + 1;
        if self.random.below(share) != 0 {
            self.tally.passed += 1;
            return;
        }
        let walker = &self.walkers[self.cpu];
        let compared = walker.compare(state, &self.shadow.waiting, ram);
        (self.tally).count(&self.image.names, self.cpu, state.pc, compared);
    }

    /// Whether there are as many boundaries as were asked for.
    fn is_enough(&self) -> bool {
        let others: u64 = self.tally.cpus.iter().skip(1).sum();
        self.tally.boundaries >= self.plan.boundaries
            || self.plan.others.is_some_and(|enough| others >= enough)
    }

    /// Whether an NMI should come here.
    fn is_due(&mut self, pc: u64) -> bool {
        if !self.in_scenario {
            return false;
        }
        let is_picked = (self.plan.nmi).is_some_and(|every| self.random.below(every) == 0);
        let is_chosen = (self.plan.nmi_in)
            .is_some_and(|name| self.image.name(pc).contains(name) && self.chosen.insert(pc));
        is_picked || is_chosen
    }

    pub(super) fn instruction(&self, pc: u64) -> Option<Instruction> {
        decode(self.image.arch, self.image.instruction(pc), pc)
    }

    /// The first call from this place on, in the order of addresses.
    fn first_call(&self, mut pc: u64) -> Option<u64> {
        for _ in 0..64 {
            let instruction = self.instruction(pc)?;
            if matches!(instruction.flow, Flow::Call(_)) {
                return Some(pc);
            }
            pc += instruction.length;
        }
        None
    }
}
