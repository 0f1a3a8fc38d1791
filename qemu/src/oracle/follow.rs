//! Follows a machine instruction by instruction, and compares at each boundary.
//!
//! Not every instruction of a boot can be followed: a checksum alone takes millions. A call that was followed from the same
//! place with the same stack pointer is let run, up to where it returns: the shadow stack is the same before and after. So is a
//! function that goes round in a loop, up to its return. Now and then, as the seed decides, both are followed again for a
//! while.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use anyhow::{Result, bail};

use super::compare::Walker;
use super::image::Image;
use super::machine::Machine;
use super::passage::Begun;
use super::shadow::{Places, Shadow};
use super::stale::Random;
use super::tally::Tally;
use super::turns::Standing;
use crate::hardware::Arch;
use crate::machine::Verdict;
use crate::scenario::{self, Outcome};
use crate::stub::Ran;

/// How a scenario is followed.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
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
    /// How many CPUs there are.
    pub cpus: u32,
    /// An NMI comes at each instruction of functions that have this in their names, when it is met first.
    pub nmi_in: Option<&'a str>,
    /// When a handler begins with this many interrupted contexts on its stack, `postmortem_read` runs in the handler's place, once,
    /// and reads an unmapped address: an exception that returns. The run ends where the probe returns.
    pub probe: Option<u32>,
    /// It ends before there are so many boundaries, once this many of them are of other CPUs than the first.
    pub others: Option<u64>,
}

/// Calls, by their addresses, and functions, by theirs, that did not return when they were let run.
type Lasting = HashSet<u64>;

/// How often CPUs wait for each other, with no boundary between, before they are given up.
const STILL: u64 = 2_000;

/// How often a scenario is run again because something that was let run did not return.
const AGAIN: usize = 6;

pub(super) struct Follower<'a> {
    pub(super) image: &'a Image,
    pub(super) machine: Machine,
    pub(super) places: Places,
    /// Of each CPU.
    pub(super) walkers: Vec<Walker<'a>>,
    pub(super) plan: Plan<'a>,
    pub(super) random: Random,
    pub(super) shadow: Shadow,
    /// What each CPU does, and which of them is at hand.
    pub(super) cpus: Vec<Standing>,
    pub(super) cpu: usize,
    /// How many turns CPUs have waited, with nothing done between.
    pub(super) waits: u64,
    /// Where the CPUs but the first come to the kernel.
    pub(super) other_entry: Option<u64>,
    /// Whether unused stack was filled.
    pub(super) is_filled: bool,
    /// How often each instruction was met with the same stack pointer.
    pub(super) visits: HashMap<(u64, u64), u32>,
    /// Boundaries for which no code runs without stepping.
    pub(super) window: u32,
    /// Functions that do not return, and lead to the scenario.
    pub(super) kept: [u64; 4],
    pub(super) task_switch: u64,
    pub(super) in_scenario: bool,
    /// Where the probe returns, once it runs.
    pub(super) probe_returns: Option<(u64, u64)>,
    /// Chosen instructions at which an NMI has come.
    pub(super) chosen: HashSet<u64>,
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
    plan: Plan<'_>,
) -> Result<Tally> {
    let mut lasting = Lasting::new();
    loop {
        let mut follower = Follower::new(emulator, file, image, table, scenario, plan, &lasting)?;
        match follower.run()? {
            // What this run has found wrong is not lost: the next one may go another way.
            End::Lasted(.., at) if !follower.tally.is_right() => {
                follower.tally.ended = format!("stopped following {at}");
                return Ok(follower.tally);
            }
            End::Lasted(what, ..) if lasting.len() < AGAIN && lasting.insert(what) => {}
            End::Lasted(_, Ran::Ended, at) | End::Over(at) => return follower.over(&at),
            End::Lasted(.., at) => {
                let surprise = format!(
                    "the code that ran without single-stepping did not return to its caller; the machine stopped {at}"
                );
                follower.tally.surprises.push(surprise);
                follower.tally.ended = format!("stopped following {at}");
                return Ok(follower.tally);
            }
            End::Left(words) => {
                follower.tally.ended = words;
                return Ok(follower.tally);
            }
        }
    }
}

/// What came of a CPU's turn.
pub(super) enum Turn {
    /// It goes on.
    Goes,
    /// It waits for another CPU, or for an interrupt.
    Waits,
    /// The run has ended.
    Ends(End),
}

/// How a run ended.
pub(super) enum End {
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
        plan: Plan<'a>,
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
        let other_entry = match image.arch {
            Arch::X86_64 => "start_entry",
            Arch::Aarch64 => "start_high",
        };
        let cpus = plan.cpus as usize;
        let walkers = (0..cpus).map(|cpu| Walker::new(image, table, cpu));
        Ok(Self {
            image,
            machine: Machine::start(emulator, file, image, scenario, plan.cpus)?,
            places,
            walkers: walkers.collect(),
            plan,
            random: Random(plan.seed),
            shadow: Shadow::of(plan.cpus),
            cpus: vec![Standing::Off; cpus],
            cpu: 0,
            waits: 0,
            other_entry: (cpus > 1).then(|| image.address(other_entry)).transpose()?,
            is_filled: false,
            visits: HashMap::new(),
            window: 0,
            kept: [
                image.address("kernel::kernel_main")?,
                image.address("kernel::scenario::run")?,
                image.address("kernel::start_main")?,
                image.address("kernel::task::schedule::work")?,
            ],
            task_switch: image.address("task_switch")?,
            in_scenario: false,
            probe_returns: None,
            chosen: HashSet::new(),
            lasting: lasting.clone(),
            begun: HashMap::new(),
            tally: Tally::of(scenario, plan.cpus),
        })
    }

    /// Follows it to its end, which it returns in words.
    fn run(&mut self) -> Result<End> {
        let entry = self.image.address("kernel_entry")?;
        // All CPUs run up to there, as firmware may want them all.
        let state = match self.machine.run_to(entry)? {
            Ok(state) => state,
            Err(ran) => bail!(
                "the machine did not reach the kernel's entry function (machine state: {ran:?})"
            ),
        };
        self.cpus[0] = Standing::At(state);
        self.machine.stop_at(&[self.task_switch])?;
        self.machine.stop_at(&self.image.vectors)?;
        if let Some(entry) = self.other_entry {
            self.machine.turn_to(0)?;
            self.machine.stop_at(&[entry])?;
            self.machine.stop_at_waits(self.image.waits())?;
        }
        loop {
            let turn = match self.cpus[self.cpu] {
                Standing::Off => self.start()?,
                Standing::At(state) => self.turn(&state)?,
                Standing::Halted(state) => self.wake(&state)?,
            };
            match turn {
                Turn::Ends(end) => return Ok(end),
                Turn::Waits => self.waits += 1,
                Turn::Goes => self.waits = 0,
            }
            if self.waits > STILL {
                let surprise = "all CPUs wait".to_owned();
                self.tally.surprises.push(surprise);
                return Ok(End::Left("given up".to_owned()));
            }
            self.next_turn(matches!(turn, Turn::Waits))?;
        }
    }

    /// Notes how the machine has ended: it must be as the scenario should.
    fn over(mut self, at: &str) -> Result<Tally> {
        let verdict = self.machine.verdict()?;
        let scenario = scenario::find(&self.tally.scenario);
        let is_meant = scenario.is_some_and(|scenario| match scenario.outcome {
            Outcome::Succeeds | Outcome::SucceedsAfterReset => verdict == Verdict::Success,
            Outcome::Panics | Outcome::PanicsInDoubt | Outcome::FailsToReport => {
                verdict == Verdict::Panicked
            }
            Outcome::Interactive | Outcome::Hangs => false,
        });
        if !is_meant {
            let surprise = format!(
                "the scenario ended {at} with the result {verdict:?}, which is not the expected result"
            );
            self.tally.surprises.push(surprise);
        }
        self.tally.ended = format!("ended {at}");
        Ok(self.tally)
    }
}
