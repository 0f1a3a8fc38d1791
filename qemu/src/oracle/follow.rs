//! Follows a machine instruction by instruction, and compares at each boundary.
//!
//! Not every instruction of a boot can be followed: a checksum alone takes millions. A call that was followed from the same
//! place with the same stack pointer is let run, up to where it returns: the shadow stack is the same before and after. So is a
//! function that goes round in a loop, up to its return. Now and then, as the seed decides, both are followed again for a
//! while. Where interrupts can change tasks nothing is let run, as nobody would see what becomes of the others.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::compare::Walker;
use super::image::Image;
use super::machine::Machine;
use super::passage::Begun;
use super::shadow::{Places, Shadow, Surprise, Waiting};
use super::stale::{self, Random};
use super::state::{Flow, Instruction, decode};
use super::tally::Tally;
use crate::hardware::Arch;
use crate::machine::Verdict;
use crate::scenario::{self, Outcome};
use crate::stub::{Ran, State};

/// How a scenario is followed.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// By what stacks are filled, and which calls are followed again.
    pub seed: u64,
    /// The most boundaries.
    pub boundaries: u64,
    /// How often a call from one place is followed before it is let run.
    pub visits: u32,
    /// Whether calls of the boot are followed at all, before the scenario begins.
    pub boot: bool,
    /// An NMI comes at one of so many boundaries, once the scenario runs.
    pub nmi: Option<u64>,
}

/// Frames up to which every boundary is compared; with so many times more, one of so many.
const DEEP: u64 = 256;

/// Instructions of the entry function before its first call, of which most clear memory.
const ENTRY: u64 = 48;

/// Calls, by their addresses, and functions, by theirs, that did not return when they were let run.
type Lasting = HashSet<u64>;

/// How often a scenario is run again because something that was let run did not return.
const AGAIN: usize = 6;

pub(super) struct Follower<'a> {
    pub(super) image: &'a Image,
    pub(super) machine: Machine,
    pub(super) places: Places,
    pub(super) walker: Walker<'a>,
    pub(super) plan: Plan,
    pub(super) random: Random,
    pub(super) shadow: Shadow,
    /// How often each instruction was met with the same stack pointer.
    pub(super) visits: HashMap<(u64, u64), u32>,
    /// Boundaries for which nothing is let run.
    pub(super) window: u32,
    /// Functions that do not return, and lead to the scenario.
    pub(super) kept: [u64; 2],
    pub(super) task_switch: u64,
    pub(super) in_scenario: bool,
    /// Where something was let run that did not return, in a run before this one, which was like this one.
    pub(super) lasting: Lasting,
    /// Where what is let run has begun, by where it returns to.
    pub(super) begun: HashMap<(u64, u64), Begun>,
    pub(super) tally: Tally,
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
    let mut lasting = Lasting::new();
    loop {
        let mut follower = Follower::new(emulator, file, image, table, scenario, plan, &lasting)?;
        match follower.run()? {
            End::Lasted(what, ..) if lasting.len() < AGAIN && lasting.insert(what) => {}
            End::Lasted(_, Ran::Ended, at) | End::Over(at) => return follower.over(&at),
            End::Lasted(.., at) => {
                let surprise = format!("does not return from what was let run, {at}");
                follower.tally.surprises.push(surprise);
                follower.tally.ended = format!("given up {at}");
                return Ok(follower.tally);
            }
            End::Left(words) => {
                follower.tally.ended = words;
                return Ok(follower.tally);
            }
        }
    }
}

/// How a run ended.
enum End {
    /// The machine was left or lost; in words.
    Left(String),
    /// The machine has ended; where.
    Over(String),
    /// In what was let run, a call or a function; whether the machine still runs; where.
    Lasted(u64, Ran, String),
}

impl<'a> Follower<'a> {
    fn new(
        emulator: &Path,
        file: &Path,
        image: &'a Image,
        table: &'a [u8],
        scenario: &str,
        plan: Plan,
        lasting: &Lasting,
    ) -> Result<Self> {
        let places = Places {
            task_start: image.address("task_start")?,
            trap_entry: image.address("trap_entry")?,
            preempted: match image.arch {
                Arch::X86_64 => None,
                Arch::Aarch64 => Some(image.address("trap_preempted")?),
            },
        };
        Ok(Self {
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
            in_scenario: false,
            lasting: lasting.clone(),
            begun: HashMap::new(),
            tally: Tally::of(scenario),
        })
    }

    /// Follows it to its end, which it returns in words.
    fn run(&mut self) -> Result<End> {
        let entry = self.image.address("kernel_entry")?;
        let mut state = match self.machine.run_to(entry)? {
            Ok(state) => state,
            Err(ran) => bail!("the machine did not come to the kernel's entry: {ran:?}"),
        };
        self.machine.stop_at(&[self.task_switch])?;
        self.machine.stop_at(&self.image.vectors)?;
        let mut is_filled = false;
        loop {
            if let Some(Waiting::Unseen { .. }) = self.shadow.waiting.last() {
                match self.let_run()? {
                    Ok(after) => state = after,
                    Err((begun, ran)) => {
                        let at = format!("in {}", self.image.name(state.pc));
                        return Ok(End::Lasted(begun.lasting(), ran, at));
                    }
                }
                continue;
            }
            self.compare(&state);
            if self.tally.boundaries >= self.plan.boundaries {
                return Ok(End::Left(format!("left in {}", self.image.name(state.pc))));
            }
            let instruction = self.instruction(state.pc);
            if self.tally.boundaries == ENTRY && self.shadow.waiting.is_empty() {
                let call = self.first_call(state.pc);
                let call = call.context("the kernel's entry function does not call")?;
                match self.machine.run_to(call)? {
                    Ok(after) => state = after,
                    Err(ran) => {
                        bail!("the kernel's entry function did not come to its call: {ran:?}")
                    }
                }
                continue;
            }
            if let Some((pc, sp, is_return)) = self.passage(&state, instruction) {
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
                continue;
            }
            if let Some(every) = self.plan.nmi
                && self.in_scenario
                && self.random.below(every) == 0
            {
                self.machine.nmi()?;
                self.tally.nmis += 1;
            }
            let Some(after) = self.machine.step()? else {
                return Ok(End::Over(format!("in {}", self.image.name(state.pc))));
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
                    return Ok(End::Left(format!(
                        "reset itself in {}",
                        self.image.name(state.pc)
                    )));
                }
                self.tally.surprise(self.image, &surprise);
                if !matches!(surprise, Surprise::Returned(..)) {
                    return Ok(End::Left(format!("lost in {}", self.image.name(after.pc))));
                }
            }
            if !is_filled && self.shadow.waiting.len() == 1 {
                is_filled = true;
                stale::fill(self.image, &self.machine.ram, after.sp, &mut self.random)?;
            }
            self.in_scenario |= after.pc == self.kept[1];
            state = after;
        }
    }

    /// Notes how the machine has ended: it must be with a verdict.
    fn over(mut self, at: &str) -> Result<Tally> {
        let verdict = self.machine.verdict()?;
        if !matches!(verdict, Verdict::Success | Verdict::Panicked) {
            let surprise = format!("ends without a verdict, {at}: {verdict:?}");
            self.tally.surprises.push(surprise);
        }
        self.tally.ended = format!("ended {at}");
        Ok(self.tally)
    }

    fn compare(&mut self, state: &State) {
        let ram = &self.machine.ram;
        self.shadow
            .follow_handlers(&self.places, &|address| ram.word(address));
        // Of boundaries with thousands of frames, those that the seed picks.
        let share = self.shadow.waiting.len() as u64 / DEEP + 1;
        if self.random.below(share) != 0 {
            self.tally.passed += 1;
            return;
        }
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
}
