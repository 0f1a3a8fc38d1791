//! Follows a program instruction by instruction, and compares at each boundary.

use std::process::Command;

use anyhow::Result;
use rustc_hash::FxHashMap;
use unwind::sframe::Row;

use crate::claim::Claim;
use crate::lists::{self, Outcome};
use crate::machine::{Decoded, Kind, Machine, Mapped, State, Step};
use crate::modules::{Library, Loaded, Modules};
use crate::process::Process;
use crate::tally::{Found, Site, Tally};
use crate::truth::{Entry, Truth};

/// Lists wrongly called complete that are kept as text.
const KEPT: usize = 4;

/// DWARF numbers of the registers that functions of x86-64 keep for their callers.
const KEPT_REGISTERS: [usize; 6] = [3, 6, 12, 13, 14, 15];
/// A call that is not followed any more is followed again at one of this many times, on average.
const AGAIN: u64 = 256;

/// How a program is followed.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The most boundaries.
    pub most: u64,
    /// A whole list is walked at one of this many boundaries, on average.
    pub every: u64,
    /// Chooses these boundaries.
    pub seed: u64,
    /// How often a call from one place is followed before the program runs to its return, except now and then.
    pub visits: u32,
    /// The dynamic loader is followed, too, before the program's entry.
    pub from_loader: bool,
}

/// What is known of an instruction.
#[derive(Debug)]
struct Known {
    decoded: Option<Decoded>,
    visits: u32,
    loaded: Option<Loaded>,
    row: Option<(Row, bool)>,
    site: Site,
}

/// A program that is followed.
#[derive(Debug)]
struct Follower<'a, M> {
    library: &'a Library,
    plan: Plan,
    random: u64,
    machine: M,
    modules: Modules,
    /// The map of the memory may have changed since `modules` was read.
    is_stale: bool,
    truth: Truth,
    known: FxHashMap<u64, Known>,
    tally: Tally,
}

/// Runs a program of this host to its end, or for the most boundaries of the plan.
///
/// # Errors
/// Returns an error if the program cannot be started or stepped.
pub fn follow(command: &mut Command, library: &Library, plan: Plan) -> Result<Tally> {
    let mut process = Process::start(command)?;
    if !plan.from_loader {
        process.run_to_entry()?;
    }
    follow_machine(process, library, plan)
}

/// Follows a program that is stopped before its first instruction.
///
/// # Errors
/// Returns an error if the program cannot be stepped.
pub fn follow_machine(mut machine: impl Machine, library: &Library, plan: Plan) -> Result<Tally> {
    let mut follower = Follower {
        library,
        plan,
        random: plan.seed,
        modules: machine.modules(library)?,
        is_stale: false,
        truth: Truth::new(machine.state().sp, machine.pushes()),
        machine,
        known: FxHashMap::default(),
        tally: Tally::default(),
    };
    follower.run()?;
    follower.forget();
    follower.tally.switches = follower.truth.stacks.switches;
    Ok(follower.tally)
}

impl<M: Machine> Follower<'_, M> {
    fn run(&mut self) -> Result<()> {
        while self.tally.boundaries < self.plan.most {
            let before = self.machine.state();
            let decoded = self.look(&before)?;
            let step = self.machine.step(decoded)?;
            if let Step::Ended(how) = step {
                self.tally.ended = how;
                return Ok(());
            }
            let after = self.machine.state();
            self.truth.step(
                &before,
                decoded,
                &step,
                &after,
                &self.machine,
                &self.modules,
            );
            if decoded.is_some_and(|one| one.kind == Kind::Calls)
                && let Some(Step::Ended(how)) = self.skip(before.pc)?
            {
                self.tally.ended = how;
                return Ok(());
            }
            let is_system = decoded.is_some_and(|one| one.kind == Kind::System);
            if is_system && step == Step::Executed {
                self.after_system_call(&before)?;
            }
        }
        "the requested number of boundaries was reached".clone_into(&mut self.tally.ended);
        Ok(())
    }

    /// Runs the call that was just made up to its return, if calls from this place were followed often enough.
    fn skip(&mut self, call: u64) -> Result<Option<Step>> {
        let known = self.known.get_mut(&call);
        let visits = known.map_or(0, |known| {
            known.visits = known.visits.saturating_add(1);
            known.visits
        });
        if visits <= self.plan.visits || self.next_random().is_multiple_of(AGAIN) {
            return Ok(None);
        }
        let state = self.machine.state();
        let Some(&Entry { pc, sp, .. }) = self.truth.stacks.current.entries.last() else {
            return Ok(None);
        };
        let step = self.machine.run_to(pc, sp)?;
        if step == Some(Step::Executed) {
            let after = self.machine.state();
            self.truth.returned(&state, &after);
            // A jump to an outer frame may have passed the return: then this is the return of a later call from the same place.
            let is_kept = |number: &usize| state.registers[*number] == after.registers[*number];
            if after.sp != sp || !KEPT_REGISTERS.iter().all(is_kept) {
                self.truth.lose();
            }
            self.is_stale = true;
        }
        Ok(step)
    }

    /// Compares the row at a boundary, and now and then the whole list.
    fn look(&mut self, state: &State) -> Result<Option<Decoded>> {
        self.tally.boundaries += 1;
        if !self.known.contains_key(&state.pc) {
            let known = self.learn(state.pc)?;
            self.known.insert(state.pc, known);
        }
        let Some(known) = self.known.get_mut(&state.pc) else {
            return Ok(None);
        };
        let unknown = self.truth.unknown();
        let mut example = None;
        let found = match (&known.loaded, known.row, unknown) {
            (None, ..) => Found::Outside,
            (_, None, _) => Found::NoRow,
            (.., Some(why)) => Found::Unknown(why),
            (Some(loaded), Some((row, is_trap)), None) => {
                let claim = Claim::of(&row, state, loaded.module.architecture, &self.machine);
                match claim.compare(self.truth.entries(), is_trap) {
                    None => Found::Right,
                    Some(wrong) => {
                        example = Some((row, claim));
                        Found::Wrong(wrong)
                    }
                }
            }
        };
        let truth = &self.truth;
        known.site.count(found, || {
            let entry = truth.entries().next();
            let (sp, boundary) = (state.sp, self.tally.boundaries);
            format!("instruction boundary {boundary}, sp {sp:#x}: the row gives {example:x?}, but the executed calls give {entry:x?}")
        });
        let decoded = known.decoded;
        let is_known = unknown.is_none() && self.truth.stacks.current.is_whole;
        if is_known && known.row.is_some() && self.next_random().is_multiple_of(self.plan.every) {
            self.walk(state);
        }
        Ok(decoded)
    }

    fn walk(&mut self, state: &State) {
        let walked = lists::walk(&self.modules, state, &self.machine, &self.truth);
        *self.tally.lists.entry(walked.outcome).or_default() += 1;
        if let Some(reason) = walked.reason {
            let text = format!("{reason:?}");
            let reason = text.split('(').next().unwrap_or_default().to_owned();
            let last = walked
                .frames
                .last()
                .map_or_else(String::new, |frame| self.modules.name(frame.pc));
            *self.tally.incomplete.entry((reason, last)).or_default() += 1;
        }
        let Outcome::Complete {
            is_right: false,
            is_proven,
        } = walked.outcome
        else {
            return;
        };
        if self.tally.lies.len() < KEPT || is_proven && self.tally.lies.len() < 2 * KEPT {
            let name = |pc: u64, sp: u64| format!("    {sp:#x} {}\n", self.modules.name(pc));
            let frames: String = walked
                .frames
                .iter()
                .map(|frame| name(frame.pc, frame.sp))
                .collect();
            let truth: String = self
                .truth
                .entries()
                .map(|entry| name(entry.pc, entry.sp))
                .collect();
            let proven = if is_proven { "proven" } else { "unproven" };
            let boundary = self.tally.boundaries;
            self.tally.lies.push(format!(
                "instruction boundary {boundary}, with {proven} rows:\n{frames}  executed calls:\n{truth}"
            ));
        }
    }

    /// Vigna's `splitmix64`.
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn learn(&mut self, pc: u64) -> Result<Known> {
        if self.is_stale && self.modules.at(pc).is_none() {
            self.modules = self.machine.modules(self.library)?;
            self.is_stale = false;
        }
        let loaded = self.modules.at(pc).cloned();
        let linked = |loaded: &Loaded| pc.wrapping_sub(loaded.moved_by);
        let row = loaded
            .as_ref()
            .and_then(|loaded| loaded.module.row(linked(loaded)));
        let mut site = Site::default();
        if let (Some(loaded), Some(_)) = (&loaded, row) {
            site.judged = Some(loaded.module.judged(linked(loaded)));
        }
        Ok(Known {
            decoded: self.machine.decode(),
            visits: 0,
            loaded,
            row,
            site,
        })
    }

    fn after_system_call(&mut self, before: &State) -> Result<()> {
        let is_other = match self.machine.mapped(before) {
            Mapped::Same => return Ok(()),
            Mapped::More => false,
            Mapped::Less(start, end) => self
                .modules
                .loaded
                .iter()
                .any(|one| one.start < end && start < one.end),
            Mapped::Other => {
                self.truth = Truth::new(self.machine.state().sp, self.machine.pushes());
                true
            }
        };
        if is_other {
            self.forget();
            self.modules = self.machine.modules(self.library)?;
        }
        self.is_stale = true;
        Ok(())
    }

    /// Moves the results of all instructions to the tally.
    fn forget(&mut self) {
        for (pc, known) in self.known.drain() {
            let (file, address, name) = match &known.loaded {
                None => ("no image".to_owned(), pc, "?".to_owned()),
                Some(loaded) => {
                    let address = pc.wrapping_sub(loaded.moved_by);
                    (
                        loaded.module.path.display().to_string(),
                        address,
                        loaded.module.name(address),
                    )
                }
            };
            self.tally.add(file, address, name, known.site);
        }
    }
}
