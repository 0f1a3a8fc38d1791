//! What the machine is let run, because it was followed often enough: a call, or the rest of a function.

use anyhow::{Result, ensure};

use super::follow::Follower;
use super::shadow::Waiting;
use super::state::{Flow, Instruction, interrupted};
use super::turns::Standing;
use crate::hardware::Arch;
use crate::stub::{Ran, State};

/// How often an instruction is followed, for each time that a call is: after that its function is let run to its return.
const LOOPS: u32 = 6;

/// What was followed often enough is followed again now and then, for so many boundaries.
const WINDOW: u32 = 300;

/// The most steps in which tasks change.
const SWITCH: u32 = 10_000;

/// How seldom, in proportion to how often it was met.
const SELDOM: u64 = 10;

/// Where what is let run has begun.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Begun {
    pub(super) pc: u64,
    pub(super) sp: u64,
    /// If it is the rest of a function, and no call of it: that function.
    pub(super) function: Option<u64>,
}

impl Begun {
    pub(super) fn lasting(&self) -> u64 {
        self.function.unwrap_or(self.pc)
    }
}

/// What came of it when a machine was let run.
pub(super) enum LetRun {
    /// It has returned, or another task runs that is followed.
    Followed(State),
    /// It waits for another CPU or for an interrupt, or takes long.
    Waits(Standing),
    /// It does not return. Where it had begun, and whether the machine still runs.
    Lasts(Begun, Ran),
}

impl Follower<'_> {
    /// If the machine should be let run: up to where, which stack pointer it has when it gets there, and whether the function at
    /// hand has returned then.
    pub(super) fn passage(
        &mut self,
        state: &State,
        instruction: Option<Instruction>,
    ) -> Option<(u64, u64, bool)> {
        let visits = self.visits.entry((state.pc, state.sp)).or_default();
        *visits += 1;
        self.window = self.window.saturating_sub(1);
        if self.window > 0 {
            return None;
        }
        let instruction = instruction?;
        let is_call = matches!(instruction.flow, Flow::Call(_));
        let often = match (is_call, self.in_scenario || self.plan.boot) {
            (true, false) => 0,
            (true, true) => self.plan.visits,
            (false, _) => self.plan.visits * LOOPS,
        };
        if *visits <= often {
            return None;
        }
        // The more often, the more seldom it is followed again.
        if self.random.below(u64::from(*visits) * SELDOM) == 0 {
            self.window = WINDOW;
            return None;
        }
        if let Flow::Call(target) = instruction.flow {
            let is_kept = target.is_some_and(|target| self.kept.contains(&target));
            let behind = state.pc + instruction.length;
            let is_lasting = self.lasting.contains(&state.pc);
            let is_let_run = !is_kept && !is_lasting && !self.never_returns(behind);
            return is_let_run.then_some((behind, state.sp, false));
        }
        let leads_on = self.image.name(state.pc).starts_with("kernel::scenario");
        let stays = (self.image.function(state.pc)).is_some_and(|function| {
            self.kept.contains(&function) || self.lasting.contains(&function)
        });
        match self.shadow.waiting.last() {
            Some(Waiting::Caller { pc, sp }) if !leads_on && !stays && !self.never_returns(*pc) => {
                Some((*pc, *sp, true))
            }
            _ => None,
        }
    }

    /// Lets the machine run while the task at hand does what nobody follows.
    pub(super) fn let_run(&mut self) -> Result<LetRun> {
        while let Some(Waiting::Unseen { pc, sp }) = self.shadow.waiting.last().copied() {
            let begun = self.begun.get(&(pc, sp)).copied().unwrap_or_default();
            let (mut state, is_late) = match self.run_up_to(pc)? {
                Ok(stopped) => stopped,
                Err(ran) => return Ok(LetRun::Lasts(begun, ran)),
            };
            if (state.pc, state.sp) == (pc, sp) {
                self.shadow.waiting.pop();
                return Ok(LetRun::Followed(state));
            }
            if is_late {
                return Ok(LetRun::Waits(Standing::At(state)));
            }
            if self.cpus.len() > 1 && self.is_wait(state.pc) {
                let Some((after, is_halted)) = self.step_wait(&state)? else {
                    return Ok(LetRun::Lasts(begun, Ran::Ended));
                };
                self.shadow
                    .move_stack(self.image, &self.places, &state, &after);
                return Ok(LetRun::Waits(match is_halted {
                    true => Standing::Halted(after),
                    false => Standing::At(after),
                }));
            }
            if self.image.is_vector(state.pc) && self.is_interrupted(&state, &begun) {
                // The function at hand has called nobody since.
                self.shadow.waiting.pop();
                self.shadow.waiting.push(Waiting::Caller { pc, sp });
                let ram = &self.machine.ram;
                self.shadow.taken(&state, &|address| ram.word(address));
                return Ok(LetRun::Followed(state));
            }
            // A recursion or an exception came by; or this is where tasks change, instruction by instruction.
            let changes = state.pc == self.task_switch;
            for steps in 0.. {
                let Some(after) = self.machine.step()? else {
                    return Ok(LetRun::Lasts(begun, Ran::Ended));
                };
                let has_moved = self.image.stack(state.sp) != self.image.stack(after.sp);
                self.shadow
                    .move_stack(self.image, &self.places, &state, &after);
                state = after;
                if has_moved || !changes || self.image.function(state.pc) != Some(self.task_switch)
                {
                    break;
                }
                // QEMU may stop without having executed anything, so this counts no instructions.
                ensure!(
                    steps < SWITCH,
                    "the machine did not leave the function `task_switch`"
                );
            }
            if !matches!(self.shadow.waiting.last(), Some(Waiting::Unseen { .. })) {
                return Ok(LetRun::Followed(state));
            }
        }
        anyhow::bail!(
            "expected a call that runs without single-stepping, but the innermost recorded call is single-stepped"
        )
    }

    /// Whether the exception whose vector this is has interrupted the very function that is let run, with the same stack pointer.
    fn is_interrupted(&self, state: &State, begun: &Begun) -> bool {
        let ram = &self.machine.ram;
        let interrupted = interrupted(state, &|address| ram.word(address));
        interrupted.is_some_and(|(pc, sp, _)| {
            begun.function.is_some() && sp == begun.sp && self.image.function(pc) == begun.function
        })
    }

    /// Whether the function that was called right before this address does not return: what follows is no code of the caller's, or
    /// an instruction that nothing should reach.
    fn never_returns(&self, address: u64) -> bool {
        let bytes = self.image.instruction(address);
        let is_trap = match self.image.arch {
            Arch::X86_64 => bytes.starts_with(&[0x0f, 0x0b]) || bytes.starts_with(&[0xcc]),
            Arch::Aarch64 => bytes.get(2..4) == Some(&[0x20, 0xd4]),
        };
        let caller = self.image.name(address - 1);
        is_trap || caller != self.image.name(address) || caller == "trap_entry"
    }
}
