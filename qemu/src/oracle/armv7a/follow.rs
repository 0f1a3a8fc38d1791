//! Follows a machine instruction by instruction, and compares at each boundary. Calls that were followed often enough are let run, up to
//! where they return, and so are functions that go round in a loop.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use anyhow::{Context, Result};
use unwind::{Range, Stacks, Unwinder};

use super::decode::{Flow, Instruction, called, decode};
use super::image::Image;
use super::machine::{Machine, State};
use super::shadow::{Places, Shadow};
use crate::oracle::compare::compare;
use crate::oracle::shadow::Waiting;
use crate::oracle::stale::Random;
use crate::oracle::tally::Tally;
use crate::stub::SAVED_ARM32;

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
}

/// Frames up to which every boundary is compared; with so many times more, one of so many.
const DEEP: u64 = 256;
/// How often an instruction is followed, for each time that a call is: after that its function is let run to its return.
const LOOPS: u32 = 6;
/// What was followed often enough is followed again now and then, for so many boundaries; how seldom, in proportion to how often it was met.
const WINDOW: u32 = 300;
const SELDOM: u64 = 10;
/// How often a scenario is run again because something that was let run did not return.
const AGAIN: usize = 6;

struct Follower<'a> {
    image: &'a Image,
    map: &'a [u8],
    machine: Machine,
    places: Places,
    shadow: Shadow,
    plan: Plan,
    random: Random,
    ranges: Vec<Range>,
    visits: HashMap<(u64, u64), u32>,
    window: u32,
    /// Functions that do not return, and lead to the scenario.
    kept: [u64; 2],
    in_scenario: bool,
    /// Where something was let run that did not return, in a run before this one, which was like this one; and in this one.
    lasting: HashSet<u64>,
    lasts: Option<u64>,
    tally: Tally,
}

/// Follows a scenario of the kernel at `file` with the walks going by `map`, from `kernel_main` on.
///
/// # Errors
/// When the machine cannot be started or stepped.
pub fn follow(
    emulator: &Path,
    file: &Path,
    image: &Image,
    map: &[u8],
    scenario: &str,
    plan: Plan,
) -> Result<Tally> {
    let mut lasting = HashSet::new();
    loop {
        let mut follower = Follower::new(emulator, file, image, map, scenario, plan, &lasting)?;
        let ended = follower.run()?;
        let is_new = follower.lasts.is_some_and(|at| lasting.insert(at));
        if !is_new || lasting.len() > AGAIN || !follower.tally.is_right() {
            follower.tally.ended = ended;
            return Ok(follower.tally);
        }
    }
}

impl<'a> Follower<'a> {
    fn new(
        emulator: &Path,
        file: &Path,
        image: &'a Image,
        map: &'a [u8],
        scenario: &str,
        plan: Plan,
        lasting: &HashSet<u64>,
    ) -> Result<Self> {
        let ranges = image.stacks.iter().map(|stack| stack.range);
        let names = &image.names;
        Ok(Self {
            image,
            map,
            machine: Machine::start(emulator, file, image, scenario)?,
            places: Places {
                vectors: image.vectors,
                entry: names.address("trap_entry")?,
                preempted: names.address("trap_preempted")?,
                switch: names.address("task_switch")?,
                task_start: names.address("task_start")?,
            },
            shadow: Shadow::default(),
            plan,
            random: Random(plan.seed),
            ranges: ranges.collect(),
            visits: HashMap::new(),
            window: 0,
            kept: [
                names.address("kernel::kernel_main")?,
                names.address("kernel::scenario::run")?,
            ],
            in_scenario: false,
            lasting: lasting.clone(),
            lasts: None,
            tally: Tally::of(scenario, 1),
        })
    }

    /// Follows it to its end, which it returns in words.
    fn run(&mut self) -> Result<String> {
        let main = self.machine.run_to(&[self.kept[0]])?;
        let mut state = main.context("the machine did not reach the function kernel_main")?;
        let (pc, sp) = (state.link(), state.sp());
        self.shadow.waiting.push(Waiting::Caller { pc, sp });
        self.fill(sp)?;
        loop {
            self.in_scenario |= state.pc() == self.kept[1];
            self.compare(&state);
            let name = self.image.names.name(state.pc()).to_owned();
            if self.tally.boundaries >= self.plan.boundaries {
                return Ok(format!("left in {name}"));
            }
            let after = match self.passage(&state) {
                Some((pc, sp, is_return)) => {
                    let begun = match is_return {
                        true => self.image.names.function(state.pc()),
                        false => Some(state.pc()),
                    };
                    let after = self.let_run(pc, sp, is_return)?;
                    self.lasts = begun.filter(|_| after.is_none());
                    after
                }
                None => self.step(&state)?,
            };
            match after {
                Some(after) => state = after,
                None => {
                    let status = self.machine.verdict()?;
                    return Ok(format!("ended in {name}, {status}"));
                }
            }
        }
    }

    fn instruction(&self, state: &State) -> Option<Instruction> {
        decode(&self.image.instruction(state.pc())?, state.is_thumb)
    }

    fn step(&mut self, state: &State) -> Result<Option<State>> {
        let Some(after) = self.machine.step()? else {
            return Ok(None);
        };
        // QEMU has stopped before it did anything, as it does when an interrupt comes that is masked.
        if after == *state {
            return Ok(Some(after));
        }
        let names = &self.image.names;
        // Where there is no code, only an exception follows.
        let instruction = self.instruction(state).unwrap_or(Instruction {
            flow: Flow::Other,
            length: 4,
        });
        let function = names.function(state.pc());
        let stepped = (self.shadow).step(self.places, function, state, instruction, &after);
        if let Err(surprise) = stepped {
            self.tally.surprise(names, &surprise);
        }
        // A task goes on that was let run.
        if self.is_let_run() {
            return self.run_on();
        }
        Ok(Some(after))
    }

    fn compare(&mut self, state: &State) {
        // Only the kernel has tables.
        if state.is_user {
            return;
        }
        let machine = &self.machine;
        let word = |address| machine.word(address);
        self.shadow.follow_handlers(self.places, word);
        let share = self.shadow.waiting.len() as u64 / DEEP + 1;
        if self.random.below(share) != 0 {
            self.tally.passed += 1;
            return;
        }
        let code = [self.image.code()];
        let tables = self.image.tables(self.map);
        let unwinder = Unwinder::new(tables)
            .code(&code)
            .trap_registers(&SAVED_ARM32);
        let memory = Stacks::new(&self.ranges, |address| machine.word(address));
        let frames = unwinder.frames(state.registers(), memory);
        let compared = compare(frames, (state.pc(), state.sp()), &self.shadow.waiting);
        (self.tally).count(&self.image.names, 0, state.pc(), compared);
    }

    /// If the machine should be let run: up to where, which stack pointer it has when it gets there, and whether the function at hand has
    /// returned then.
    fn passage(&mut self, state: &State) -> Option<(u64, u64, bool)> {
        let at = (state.pc(), state.sp());
        let visits = self.visits.entry(at).or_default();
        *visits += 1;
        let visits = *visits;
        self.window = self.window.saturating_sub(1);
        if self.window > 0 {
            return None;
        }
        let instruction = self.instruction(state)?;
        let is_call = instruction.flow == Flow::Call;
        let often = match (is_call, self.in_scenario || self.plan.boot) {
            (true, false) => 0,
            (true, true) => self.plan.visits,
            (false, _) => self.plan.visits * LOOPS,
        };
        if visits <= often {
            return None;
        }
        if self.random.below(u64::from(visits) * SELDOM) == 0 {
            self.window = WINDOW;
            return None;
        }
        let names = &self.image.names;
        let function = names.function(state.pc());
        if is_call {
            let behind = state.pc() + instruction.length;
            // A handler may return elsewhere; a function that never returns is called last; what leads to the scenario is followed.
            let returns = names.function(behind) == function && function != Some(self.places.entry);
            let bytes = self
                .image
                .instruction(state.pc())
                .filter(|_| !state.is_thumb);
            let target = bytes.and_then(|bytes| called(&bytes, state.pc()));
            let leads_on = target.is_some_and(|target| self.kept.contains(&target));
            let is_lasting = self.lasting.contains(&state.pc());
            return (returns && !leads_on && !is_lasting).then_some((behind, state.sp(), false));
        }
        // Where tasks change is seen at each instruction.
        let is_kept = function.is_none_or(|function| {
            self.kept.contains(&function)
                || self.lasting.contains(&function)
                || self.places.switch == function
        });
        let leads_on = names.name(state.pc()).starts_with("kernel::scenario");
        match self.shadow.waiting.last() {
            Some(&Waiting::Caller { pc, sp }) if !is_kept && !leads_on => {
                let caller = names.function(pc - 2);
                (names.function(pc) == caller && caller != Some(self.places.entry))
                    .then_some((pc, sp, true))
            }
            _ => None,
        }
    }

    /// Lets the machine run up to there.
    fn let_run(&mut self, pc: u64, sp: u64, is_return: bool) -> Result<Option<State>> {
        self.tally.skipped += 1;
        if is_return {
            self.shadow.waiting.pop();
        }
        self.shadow.waiting.push(Waiting::Unseen { pc, sp });
        self.run_on()
    }

    /// Lets the machine run until it is somewhere that is followed: where what was let run returns, or in another task.
    fn run_on(&mut self) -> Result<Option<State>> {
        while let Some(&Waiting::Unseen { pc, sp }) = self.shadow.waiting.last() {
            let Some(mut state) = self.machine.run_to(&[pc, self.places.switch])? else {
                return Ok(None);
            };
            if (state.pc(), state.sp()) == (pc, sp) {
                self.shadow.waiting.pop();
                return Ok(Some(state));
            }
            // Stacks grow downwards: where the task is left, it is below what it was let run up to.
            if state.pc() == self.places.switch && state.sp() > sp {
                anyhow::bail!("the machine ran past the breakpoint at {pc:#x}");
            }
            // A recursion came by, or this is where tasks change. Not one instruction more is stepped than it takes to see that: the other
            // task may be let run up to where `task_switch` returns to, which would be passed over.
            loop {
                let Some(after) = self.machine.step()? else {
                    return Ok(None);
                };
                let function = self.image.names.function(state.pc());
                let has_changed = (self.shadow).change_task(self.places, function, &state, &after);
                state = after;
                if has_changed || function != Some(self.places.switch) {
                    break;
                }
            }
            if !self.is_let_run() {
                return Ok(Some(state));
            }
        }
        anyhow::bail!(
            "expected a call that runs without single-stepping, but the innermost recorded call is single-stepped"
        )
    }

    fn is_let_run(&self) -> bool {
        matches!(self.shadow.waiting.last(), Some(Waiting::Unseen { .. }))
    }

    /// Fills the unused part of the stacks with return addresses and addresses of the stack: that of the one in use ends at `sp`.
    fn fill(&mut self, sp: u64) -> Result<()> {
        let text = self.image.text();
        let mut addresses = Vec::new();
        for _ in 0..1 << 15 {
            let place = text.start + self.random.below((text.end - text.start) / 4) * 4;
            let call = self.image.instruction(place);
            let call = call.and_then(|bytes| decode(&bytes, false));
            if call.is_some_and(|call| call.flow == Flow::Call) {
                addresses.push(place + 4);
            }
        }
        for stack in &self.image.stacks {
            let Range { start, end } = stack.range;
            let end = match start < sp && sp <= end {
                true => sp / 8 * 8,
                false => end,
            };
            let mut word = || match self.random.below(4) {
                0 => stack.bottom + self.random.below(end - stack.bottom) / 4 * 4,
                _ => addresses[self.random.below(addresses.len() as u64) as usize],
            };
            let words = (stack.bottom..end).step_by(8);
            let words: Vec<u64> = words.map(|_| word() | word() << 32).collect();
            self.machine.ram.write(stack.bottom, &words)?;
        }
        Ok(())
    }
}
