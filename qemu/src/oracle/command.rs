//! `cargo run -- oracle`: compares walks with what the machine did.

use std::time::Instant;

use anyhow::{Result, bail};

use super::follow::Plan;
use super::subject::{Subject, check};
use super::tally::Tally;
use crate::build::{Kernel, Level, Profile};
use crate::hardware::Processor;
use crate::scenario::{self, Outcome, Scenario};
use crate::status::{Failure, Status};
use crate::words::say;
use crate::{setup, workspace};

/// At each instruction, compare the backtrace of `unwind` with a call stack recorded from the machine
///
/// The recorded stack comes from the executed code (calls, returns, exceptions, task switches), not from unwind tables. At each
/// boundary between two instructions, `unwind` must find the same backtrace with the image's tables and report it as complete.
/// A backtrace may be incomplete only for a known reason. `wrong` counts backtraces that differ although they are complete;
/// `incomplete unexpectedly` counts incomplete backtraces without a known reason. Both cause exit status 1, as do unexpected
/// control flow and missing NMIs.
///
/// A boot has too many instructions to single-step all of them. Loops, and calls that were already followed from the same
/// place, run without stepping. The seed selects calls that are followed again. Only the first scenario follows the boot
/// itself. Before a scenario runs, unused stack memory is filled with return addresses.
///
/// On armv7a only one CPU is followed, and NMIs are not supported.
#[derive(Clone, Debug, clap::Args)]
pub struct Oracle {
    /// Architecture to boot
    #[arg(long, value_enum, default_value = "x86_64")]
    pub arch: Processor,

    /// Build the kernel with optimizations
    #[arg(long)]
    pub release: bool,

    /// Build the kernel with this optimization level; --release uses level 3
    #[arg(long, value_enum, conflicts_with = "release")]
    pub level: Option<Level>,

    /// Run every scenario that ends by itself, and run some of them again with four CPUs. Compare more backtraces in each scenario
    #[arg(long, conflicts_with = "scenarios")]
    pub full: bool,

    /// Compare at most N instruction boundaries in each scenario [default: 25000, with --full 60000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub boundaries: Option<u64>,

    /// Single-step the first N calls of each call instruction; run its later calls without single-stepping [default: 1, with --full 6]
    #[arg(long, value_name = "N")]
    pub visits: Option<u32>,

    /// While the scenario runs, inject an NMI at one in N instruction boundaries. The seed selects these boundaries
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub nmi: Option<u64>,

    /// Inject one NMI at each instruction of the functions whose names contain NAME
    #[arg(long, value_name = "NAME")]
    pub nmi_in: Option<String>,

    /// Seed for random choices, such as the contents of unused stack memory
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Write to this file the names of all functions that are in the unwind table and never ran, one name per line
    #[arg(long, value_name = "FILE")]
    pub unseen: Option<std::path::PathBuf>,

    /// Number of CPUs [default: the number that a scenario needs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8))]
    pub cpus: Option<u32>,

    /// Scenarios to run [default: panic tasks interrupted-places]
    #[arg(value_name = "SCENARIO")]
    pub scenarios: Vec<String>,
}

/// The scenarios when none is named.
const DEFAULT: [&str; 3] = ["panic", "tasks", "interrupted-places"];

/// Those that `--full` has on four CPUs too.
const FOUR: [&str; 5] = ["busy", "cpus", "crowd", "panic", "tasks"];

/// Does what [`Oracle`] says.
///
/// # Errors
/// When the arguments cannot be used, or a machine fails.
pub fn oracle(arguments: &Oracle) -> Result<Status, Failure> {
    check(arguments).map_err(Failure::usage)?;
    let scenarios = wanted(arguments).map_err(Failure::usage)?;
    // A file that cannot be written is found out now, not when all is done; one that is there stays as it is until then.
    if let Some(file) = &arguments.unseen {
        linker::whole::can_write(file)?;
    }
    let target = workspace::target_folder()?;
    let arch = arguments.arch;
    let profile = match (arguments.level, arguments.release) {
        (Some(level), _) => Profile::Level(level),
        (None, true) => Profile::Release,
        (None, false) => Profile::Debug,
    };
    let emulator = setup::program(arch.emulator(), arch.emulator_package(), &target)?;
    let file = Kernel { arch, profile }.build(&target)?;
    let subject = Subject::read(&file, arch)?;
    let (boundaries, visits) = match arguments.full {
        true => (60_000, 6),
        false => (25_000, 1),
    };
    let plan = Plan {
        seed: arguments.seed,
        boundaries: arguments.boundaries.unwrap_or(boundaries),
        visits: arguments.visits.unwrap_or(visits),
        boot: true,
        cpus: 1,
        nmi: arguments.nmi,
        nmi_in: arguments.nmi_in.as_deref(),
        probe: None,
        others: None,
    };
    let mut tallies = Vec::new();
    for (scenario, cpus) in scenarios {
        // Followed once, the boot is the same in all others with so many CPUs.
        let plan = Plan {
            boot: !tallies
                .iter()
                .any(|tally: &Tally| tally.cpus.len() == cpus as usize),
            cpus,
            ..plan
        };
        let started = Instant::now();
        let name = scenario.name;
        let tally = subject.follow(&emulator, &file, name, plan);
        // What the other scenarios have come to is not lost.
        let tally = tally.unwrap_or_else(|error| Tally {
            surprises: vec![format!(
                "the comparison of backtraces ended with an error: {error:#}"
            )],
            ended: "given up".to_owned(),
            ..Tally::of(name, cpus)
        });
        let took = started.elapsed().as_secs_f64();
        say(format_args!(
            "scenario {name} took {took:.1} s. Backtraces compared: {boundaries}, calls run without single-stepping: {skipped}, NMIs injected: {injected}, NMIs received: {taken}",
            boundaries = tally.boundaries,
            skipped = tally.skipped,
            taken = tally.came,
            injected = tally.nmis
        ));
        anstream::println!("{tally}");
        tallies.push(tally);
    }
    for total in subject.totals(&tallies) {
        anstream::println!("{total}");
    }
    if let Some(file) = &arguments.unseen
        && let Some(unseen) = subject.unseen(&tallies)
    {
        linker::whole::write(file, unseen.as_bytes())?;
    }
    let wants_nmis = arguments.nmi.is_some() || arguments.nmi_in.is_some();
    if wants_nmis
        && tallies
            .iter()
            .all(|tally| tally.nmis == 0 || tally.came == 0)
    {
        say(format_args!("no NMI came"));
        return Ok(Status::Failed);
    }
    Ok(match tallies.iter().all(Tally::is_right) {
        true => Status::Success,
        false => Status::Failed,
    })
}

/// The scenarios that are asked for, each with a number of CPUs.
fn wanted(arguments: &Oracle) -> Result<Vec<(&'static Scenario, u32)>> {
    let arch = arguments.arch;
    // CPUs that can be followed.
    let most = if arch == Processor::Armv7a { 1 } else { 8 };
    let cpus = |scenario: &Scenario| arguments.cpus.unwrap_or(1).max(scenario.cpus);
    let is_fit = |scenario: &Scenario| ends(scenario) && cpus(scenario) <= most;
    if arguments.full {
        let all = scenario::SCENARIOS.iter();
        let all = all.filter(|one| one.is_on(arch.name()) && is_fit(one));
        let mut all: Vec<_> = all.map(|one| (one, cpus(one))).collect();
        // Those of one CPU first.
        all.sort_by_key(|(_, cpus)| *cpus);
        let more = FOUR
            .iter()
            .filter_map(|name| Some((scenario::find(name)?, 4)));
        all.extend(more.filter(|_| arguments.cpus.is_none() && most > 1));
        return Ok(all);
    }
    let default: Vec<String> = DEFAULT.map(str::to_owned).into();
    let names = match arguments.scenarios.is_empty() {
        true => &default,
        false => &arguments.scenarios,
    };
    let found = scenario::wanted(names, arch.name())?;
    for found in &found {
        let name = found.name;
        if !ends(found) {
            bail!("scenario {name} is interactive or does not end, so `oracle` cannot run it");
        }
        if !is_fit(found) {
            let cpus = cpus(found);
            bail!(
                "scenario {name} needs {cpus} CPUs, but on {arch} the command `oracle` supports only one CPU"
            );
        }
    }
    Ok(found.into_iter().map(|one| (one, cpus(one))).collect())
}

/// Whether it comes to its end with nobody there.
fn ends(scenario: &Scenario) -> bool {
    !matches!(scenario.outcome, Outcome::Interactive | Outcome::Hangs)
}
