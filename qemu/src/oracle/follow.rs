//! Follows a machine instruction by instruction, and compares at each boundary.
//!
//! Not every instruction of a boot can be followed: a checksum alone takes millions. A call that was followed from the same
//! place with the same stack pointer is let run, up to where it returns: the shadow stack is the same before and after. So is a
//! function that goes round in a loop, up to its return. Now and then, as the seed decides, both are followed again for a
//! while. Where interrupts can change tasks nothing is let run, as nobody would see what becomes of the others.

use std::collections::{HashMap, HashSet};
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
    /// Whether calls of the boot are followed at all, before the scenario begins.
    pub boot: bool,
}

/// How often an instruction is followed, for each time that a call is: after that its function is let run to its return.
const LOOPS: u32 = 6;

/// What was followed often enough is followed again now and then, for so many boundaries.
const WINDOW: u32 = 300;

/// Frames up to which every boundary is compared; with so many times more, one of so many.
const DEEP: u64 = 256;

/// The most instructions in which tasks change.
const SWITCH: u32 = 40;

/// How seldom, in proportion to how often it was met.
const SELDOM: u64 = 10;

/// Instructions of the entry function before its first call, of which most clear memory.
const ENTRY: u64 = 48;

/// Calls, by their addresses, and functions, by theirs, that did not return when they were let run.
type Lasting = HashSet<u64>;

/// Where what is let run has begun.
#[derive(Clone, Copy, Debug, Default)]
struct Begun {
    pc: u64,
    sp: u64,
    /// If it is the rest of a function, and no call of it: that function.
    function: Option<u64>,
}

impl Begun {
    fn lasting(&self) -> u64 {
        self.function.unwrap_or(self.pc)
    }
}

/// How often a scenario is run again because something that was let run did not return.
const AGAIN: usize = 6;

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
    in_scenario: bool,
    /// Where something was let run that did not return, in a run before this one, which was like this one.
    lasting: Lasting,
    /// Where what is let run has begun, by where it returns to.
    begun: HashMap<(u64, u64), Begun>,
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
    let mut lasting = Lasting::new();
    loop {
        let mut follower = Follower::new(emulator, file, image, table, scenario, plan, &lasting)?;
        match follower.run()? {
            End::Lasted(what, _) if lasting.len() < AGAIN && lasting.insert(what) => {}
            End::Lasted(_, words) | End::Plain(words) => {
                follower.tally.ended = words;
                follower.tally.again = lasting.len();
                return Ok(follower.tally);
            }
        }
    }
}

/// How a run ended.
enum End {
    /// In words.
    Plain(String),
    /// In what was let run, a call or a function; in words.
    Lasted(u64, String),
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
            Err(_) => return Ok(End::Plain("did not come to the kernel".into())),
        };
        self.machine.stop_at(&[self.task_switch])?;
        self.machine.stop_at(&self.image.vectors)?;
        let mut is_filled = false;
        loop {
            if let Some(Waiting::Unseen { .. }) = self.shadow.waiting.last() {
                match self.let_run()? {
                    Ok(after) => state = after,
                    Err((begun, why)) => {
                        let words = format!("{why} {}", self.image.name(state.pc));
                        return Ok(End::Lasted(begun.lasting(), words));
                    }
                }
                continue;
            }
            self.compare(&state);
            if self.tally.boundaries >= self.plan.boundaries {
                return Ok(End::Plain(format!("left in {}", self.image.name(state.pc))));
            }
            let instruction = self.instruction(state.pc);
            if self.tally.boundaries == ENTRY && self.shadow.waiting.is_empty() {
                let Some(call) = self.first_call(state.pc) else {
                    return Ok(End::Plain("the entry function does not call".into()));
                };
                match self.machine.run_to(call)? {
                    Ok(after) => state = after,
                    Err(_) => return Ok(End::Plain("the entry function does not call".into())),
                }
                continue;
            }
            if let Some((pc, sp, is_return)) = self.to_skip(&state, instruction) {
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
            let Some(after) = self.machine.step()? else {
                return Ok(End::Plain(format!(
                    "ended in {}",
                    self.image.name(state.pc)
                )));
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
                    return Ok(End::Plain(format!(
                        "reset itself in {}",
                        self.image.name(state.pc)
                    )));
                }
                self.tally.surprise(self.image, &surprise);
                if !matches!(surprise, Surprise::Returned(..)) {
                    return Ok(End::Plain(format!("lost in {}", self.image.name(after.pc))));
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
        let leads =
            |name: &str| name == "kernel::kernel_main" || name.starts_with("kernel::scenario");
        match self.shadow.waiting.last() {
            Some(Waiting::Caller { pc, sp })
                if !leads(self.image.name(state.pc))
                    && !self.never_returns(*pc)
                    && !(self.image.function(state.pc))
                        .is_some_and(|function| self.lasting.contains(&function)) =>
            {
                Some((*pc, *sp, true))
            }
            _ => None,
        }
    }

    /// Lets the machine run while the task at hand does what nobody follows: the state when it has returned, or when another
    /// task runs that is followed. The error says where what did not return had begun, and how it ended.
    fn let_run(&mut self) -> Result<Result<State, (Begun, &'static str)>> {
        while let Some(Waiting::Unseen { pc, sp }) = self.shadow.waiting.last().copied() {
            let begun = self.begun.get(&(pc, sp)).copied().unwrap_or_default();
            let mut state = match self.machine.run_to(pc)? {
                Ok(state) if (state.pc, state.sp) == (pc, sp) => {
                    self.shadow.waiting.pop();
                    return Ok(Ok(state));
                }
                Ok(state) => state,
                Err(Ran::StillRuns) => {
                    return Ok(Err((begun, "did not return from what was let run in")));
                }
                Err(_) => return Ok(Err((begun, "ended in what was let run in"))),
            };
            if self.image.is_vector(state.pc) && self.is_interrupted(&state, &begun) {
                // The function at hand has called nobody since.
                self.shadow.waiting.pop();
                self.shadow.waiting.push(Waiting::Caller { pc, sp });
                let ram = &self.machine.ram;
                self.shadow.taken(&state, &|address| ram.word(address));
                return Ok(Ok(state));
            }
            // A recursion or an exception came by; or this is where tasks change, step by step.
            let steps = if state.pc == self.task_switch {
                SWITCH
            } else {
                1
            };
            for _ in 0..steps {
                let Some(after) = self.machine.step()? else {
                    return Ok(Err((begun, "ended in what was let run in")));
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
        anyhow::bail!("nothing was let run")
    }

    /// Whether the exception whose vector this is has interrupted the very function that is let run, with the same stack pointer.
    fn is_interrupted(&self, state: &State, begun: &Begun) -> bool {
        let ram = &self.machine.ram;
        let interrupted = state.interrupted(&|address| ram.word(address));
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
