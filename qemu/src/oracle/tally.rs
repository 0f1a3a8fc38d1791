//! What came of the boundaries of a scenario, counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use super::compare::{Compared, Listed, Lists};
use super::excuses;
use super::names::Names;
use super::shadow::Surprise;

/// How many wrong lists are kept of a scenario.
const KEPT: usize = 4;
/// Characters that are shown of a name.
const NAME: usize = 100;

/// What came of a scenario.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// The scenario.
    pub scenario: String,
    /// Places between instructions at which a walk was compared.
    pub boundaries: u64,
    /// Others, too deep to compare at each of them.
    pub passed: u64,
    /// Tasks whose callers are unknown, because they stopped when they were not followed.
    pub unknown: u32,
    /// Of each CPU, how many of these.
    pub cpus: Vec<u64>,
    /// The walk was complete, and right.
    pub equal: u64,
    /// The walk vouched for something that is not so.
    pub wrong: u64,
    /// It did not vouch for all, with an excuse: by reason, function and excuse.
    pub excused: BTreeMap<(&'static str, String, &'static str), u64>,
    /// The same, without one: by reason and function.
    pub unexplained: BTreeMap<(&'static str, String), u64>,
    /// What the machine did against the rules.
    pub surprises: Vec<String>,
    /// The first wrong lists.
    pub kept: Vec<String>,
    /// Where the machine was.
    pub seen: BTreeSet<u64>,
    /// Calls that were not stepped into.
    pub skipped: u64,
    /// NMIs that were made due by the runner.
    pub nmis: u64,
    /// NMIs that came where the machine was followed.
    pub came: u64,
    /// How it ended.
    pub ended: String,
}

impl Tally {
    /// An empty one, of so many CPUs.
    #[must_use]
    pub fn of(scenario: &str, cpus: u32) -> Self {
        Self {
            scenario: scenario.to_owned(),
            cpus: vec![0; cpus as usize],
            ..Self::default()
        }
    }

    /// Counts a comparison at `pc` on this CPU.
    pub fn count(&mut self, names: &Names, cpu: usize, pc: u64, compared: Compared) {
        self.boundaries += 1;
        self.cpus[cpu] += 1;
        self.seen.insert(pc);
        match compared {
            Compared::Equal => self.equal += 1,
            Compared::Wrong(lists) => {
                self.wrong += 1;
                if self.kept.len() < KEPT {
                    let (number, at) = (self.boundaries, place(names, pc));
                    let at = format!(
                        "wrong backtrace at instruction boundary {number}, before the instruction at {at}"
                    );
                    self.kept.push(format!("{at}\n{}", both(names, &lists)));
                }
            }
            Compared::Incomplete(end, at) => {
                let (reason, function) = (excuses::reason(&end), names.name(at));
                match excuses::find(reason, function, at == pc, &self.scenario) {
                    Some(why) => {
                        let key = (reason, function.to_owned(), why);
                        *self.excused.entry(key).or_default() += 1;
                    }
                    None => {
                        let key = (reason, function.to_owned());
                        *self.unexplained.entry(key).or_default() += 1;
                    }
                }
            }
        }
    }

    /// Notes a surprise.
    pub fn surprise(&mut self, names: &Names, surprise: &Surprise) {
        let at = |address| place(names, address);
        let text = match *surprise {
            Surprise::Went(from, to) => {
                let (from, to) = (at(from), at(to));
                format!("the machine continued unexpectedly at {to} after {from}")
            }
            Surprise::Returned(from, (to, sp), expected) => {
                let expected = expected.map_or("no caller".to_owned(), |(pc, sp)| {
                    format!("{caller} with sp {sp:#x}", caller = at(pc))
                });
                let (from, to) = (at(from), at(to));
                format!(
                    "the machine returned from {from} to {to} with sp {sp:#x}, expected {expected}"
                )
            }
            Surprise::Interrupted(here, there) => {
                let (here, there) = (at(here), at(there));
                format!(
                    "the machine took an exception at {here}, but saved the return address {there}"
                )
            }
        };
        self.surprises.push(text);
    }

    /// How many were excused.
    #[must_use]
    pub fn excused(&self) -> u64 {
        self.excused.values().sum()
    }

    /// Whether nothing is wrong, and nothing without an explanation.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.wrong == 0 && self.unexplained.is_empty() && self.surprises.is_empty()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "scenario {scenario}: {ended}\n  backtraces compared: {boundaries}, equal: {equal}, incomplete as expected: {excused}, wrong: {wrong}, \
             incomplete unexpectedly: {unexplained}\n  long backtraces that were not compared: {skipped}\n  \
             tasks with unknown callers: {unknown}",
            scenario = self.scenario,
            boundaries = self.boundaries,
            equal = self.equal,
            excused = self.excused(),
            wrong = self.wrong,
            unexplained = self.unexplained.values().sum::<u64>(),
            skipped = self.passed,
            unknown = self.unknown,
            ended = self.ended
        )?;
        if self.cpus.len() > 1 {
            write!(
                f,
                "\n  backtraces compared on each CPU, in the order of the CPU numbers: {cpus:?}",
                cpus = self.cpus
            )?;
        }
        for ((reason, function, why), count) in &self.excused {
            write!(
                f,
                "\n  incomplete backtraces in {function}: {count}, reason: {reason}. This is expected, because {why}"
            )?;
        }
        for ((reason, function), count) in &self.unexplained {
            write!(
                f,
                "\n  incomplete backtraces in {function}: {count}, reason: {reason}. This is not expected"
            )?;
        }
        for surprise in &self.surprises {
            write!(f, "\n  {surprise}")?;
        }
        for wrong in &self.kept {
            write!(f, "\n  {wrong}")?;
        }
        Ok(())
    }
}

fn place(names: &Names, address: u64) -> String {
    let name: String = names.name(address).chars().take(NAME).collect();
    format!("{address:#x} ({name})")
}

fn both(names: &Names, lists: &Lists) -> String {
    let mut text = format!("    the walk: {}", lists.end);
    for (list, frames) in [("walked", &lists.walked), ("recorded", &lists.happened)] {
        for Listed { pc, kind, sp } in frames {
            let _ = write!(
                text,
                "\n    {list:8} frame {kind:?} at {code}, stack pointer {sp:#x}",
                code = place(names, *pc)
            );
        }
    }
    text
}
