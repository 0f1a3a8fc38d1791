//! Follows a machine instruction by instruction, and compares at each boundary.
//!
//! Not every instruction of a boot can be followed: a checksum alone takes millions. A call that was followed from the same
//! place with the same stack pointer is let run, up to where it returns: the shadow stack is the same before and after. So is a
//! function that goes round in a loop, up to its return. Now and then, as the seed decides, both are followed again for a
//! while. Where interrupts can change tasks nothing is let run, as nobody would see what becomes of the others.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Result;

use super::compare::Walker;
use super::image::Image;
use super::machine::Machine;
use super::shadow::{Places, Shadow, Surprise, Waiting};
use super::stale::{self, Random};
use super::state::{Flow, Instruction, State, decode};
use super::stub::Ran;
use super::tally::Tally;
use crate::hardware::Arch;
use crate::scenario::{self, Outcome};

/// How a scenario is followed.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// By what stacks are filled, and which calls are followed again.
    pub seed: u64,
    /// The most boundaries.
    pub boundaries: u64,
    /// How often a call from one place is followed before it is let run.
    pub visits: u32,
}

/// How often an instruction is followed, for each time that a call is: after that its function is let run to its return.
const LOOPS: u32 = 6;

/// What was followed often enough is followed again now and then, for so many boundaries.
const WINDOW: u32 = 300;

/// The most instructions in which tasks change.
const SWITCH: u32 = 40;

/// How seldom, in proportion to how often it was met.
const SELDOM: u64 = 10;

/// Instructions of the entry function before its first call, of which most clear memory.
const ENTRY: u64 = 48;

struct Follower<'a> {
    image: &'a Image,
    machine: Machine,
    places: Places,
    walker: Walker<'a>,
    plan: Plan,
    random: Random,
    shadow: Shadow,
    /// How often each instruction was met with the same stack pointer.
    visits: HashMap<(u64, u64), u32>,
    /// Boundaries for which nothing is let run.
    window: u32,
    /// Functions that do not return, and lead to the scenario.
    kept: [u64; 2],
    task_switch: u64,
    tally: Tally,
}

/// Follows a scenario of the kernel at `file` with the walks going by `table`.
///
/// # Errors
/// When the machine cannot be started or stepped.
pub fn follow(
    emulator: &Path,
    file: &Path,
    image: &Image,
    table: &[u8],
    scenario: &str,
    plan: Plan,
) -> Result<Tally> {
    let places = Places {
        task_start: image.address("task_start")?,
        trap_entry: image.address("trap_entry")?,
        preempted: match image.arch {
            Arch::X86_64 => None,
            Arch::Aarch64 => Some(image.address("trap_preempted")?),
        },
    };
    let mut follower = Follower {
        image,
        machine: Machine::start(emulator, file, image, scenario)?,
        places,
        walker: Walker::new(image, table),
        plan,
        random: Random(plan.seed),
        shadow: Shadow::default(),
        visits: HashMap::new(),
        window: 0,
        kept: [
            image.address("kernel::kernel_main")?,
            image.address("kernel::scenario::run")?,
        ],
        task_switch: image.address("task_switch")?,
        tally: Tally::of(scenario),
    };
    follower.tally.ended = follower.run()?;
    let Follower { machine, tally, .. } = follower;
    drop(machine);
    Ok(tally)
}

impl Follower<'_> {
    /// Follows it to its end, which it returns in words.
    fn run(&mut self) -> Result<String> {
        let entry = self.image.address("kernel_entry")?;
        let mut state = match self.machine.run_to(&[entry])? {
            Ok(state) => state,
            Err(_) => return Ok("did not come to the kernel".into()),
        };
        let mut is_filled = false;
        loop {
            if let Some(Waiting::Unseen { .. }) = self.shadow.waiting.last() {
                match self.let_run()? {
                    Ok(after) => state = after,
                    Err(why) => return Ok(format!("{why} {}", self.image.name(state.pc))),
                }
                continue;
            }
            self.compare(&state);
            if self.tally.boundaries >= self.plan.boundaries {
                return Ok(format!("stopped there, in {}", self.image.name(state.pc)));
            }
            let instruction = self.instruction(state.pc);
            if self.tally.boundaries == ENTRY && self.shadow.waiting.is_empty() {
                let Some(call) = self.first_call(state.pc) else {
                    return Ok("the entry function does not call".into());
                };
                match self.machine.run_to(&[call])? {
                    Ok(after) => state = after,
                    Err(_) => return Ok("the entry function does not call".into()),
                }
                continue;
            }
            if let Some((pc, sp, is_return)) = self.to_skip(&state, instruction) {
                self.tally.skipped += 1;
                if is_return {
                    self.shadow.waiting.pop();
                }
                self.shadow.waiting.push(Waiting::Unseen { pc, sp });
                continue;
            }
            let Some(after) = self.machine.step()? else {
                return Ok(format!("ended in {}", self.image.name(state.pc)));
            };
            let ram = &self.machine.ram;
            let stepped = self.shadow.step(
                self.image,
                &self.places,
                &state,
                instruction,
                &after,
                &|address| ram.word(address),
            );
            if let Err(surprise) = stepped {
                let resets = scenario::find(&self.tally.scenario)
                    .is_some_and(|scenario| scenario.outcome == Outcome::SucceedsAfterReset);
                if resets && !self.image.is_code(after.pc) {
                    return Ok(format!("reset itself in {}", self.image.name(state.pc)));
                }
                self.tally.surprise(self.image, &surprise);
                if !matches!(surprise, Surprise::Returned(..)) {
                    return Ok(format!("lost in {}", self.image.name(after.pc)));
                }
            }
            if !is_filled && self.shadow.waiting.len() == 1 {
                is_filled = true;
                stale::fill(self.image, &self.machine.ram, after.sp, &mut self.random)?;
            }
            state = after;
        }
    }

    fn compare(&mut self, state: &State) {
        let ram = &self.machine.ram;
        self.shadow
            .follow_handlers(&self.places, &|address| ram.word(address));
        let compared = self.walker.compare(state, &self.shadow.waiting, ram);
        self.tally.count(self.image, state.pc, compared);
    }

    fn instruction(&self, pc: u64) -> Option<Instruction> {
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

    /// If the machine should be let run: up to where, which stack pointer it has when it gets there, and whether the function at
    /// hand has returned then.
    fn to_skip(
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
        let often = if is_call {
            self.plan.visits
        } else {
            self.plan.visits * LOOPS
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
            let is_let_run = !is_kept && !self.never_returns(behind);
            return is_let_run.then_some((behind, state.sp, false));
        }
        let leads =
            |name: &str| name == "kernel::kernel_main" || name.starts_with("kernel::scenario");
        match self.shadow.waiting.last() {
            Some(Waiting::Caller { pc, sp })
                if !leads(self.image.name(state.pc)) && !self.never_returns(*pc) =>
            {
                Some((*pc, *sp, true))
            }
            _ => None,
        }
    }

    /// Lets the machine run while the task at hand does what nobody follows: the state when it has returned, or when another
    /// task runs that is followed. The error says how it ended.
    fn let_run(&mut self) -> Result<Result<State, &'static str>> {
        while let Some(Waiting::Unseen { pc, sp }) = self.shadow.waiting.last().copied() {
            let mut state = match self.machine.run_to(&[pc, self.task_switch])? {
                Ok(state) if (state.pc, state.sp) == (pc, sp) => {
                    self.shadow.waiting.pop();
                    return Ok(Ok(state));
                }
                Ok(state) => state,
                Err(Ran::StillRuns) => {
                    return Ok(Err("did not come back from what was let run in"));
                }
                Err(_) => return Ok(Err("ended in what was let run in")),
            };
            // A recursion came by; or this is where tasks change, step by step.
            let steps = if state.pc == self.task_switch {
                SWITCH
            } else {
                1
            };
            for _ in 0..steps {
                let Some(after) = self.machine.step()? else {
                    return Ok(Err("ended in what was let run in"));
                };
                let has_moved = self.image.stack(state.sp) != self.image.stack(after.sp);
                self.shadow
                    .move_stack(self.image, &self.places, &state, &after);
                state = after;
                if has_moved {
                    break;
                }
            }
            if !matches!(self.shadow.waiting.last(), Some(Waiting::Unseen { .. })) {
                return Ok(Ok(state));
            }
        }
        Ok(Err("nothing was let run in"))
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
