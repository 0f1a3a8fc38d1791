//! `cargo run -- oracle`: compares walks with what the machine did.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::follow::{Plan, follow};
use super::image::Image;
use super::tally::Tally;
use crate::build::{Kernel, Profile};
use crate::hardware::Arch;
use crate::scenario::{self, Outcome, Scenario};
use crate::status::{Failure, Status};
use crate::words::say;
use crate::{setup, workspace};

/// Compares, between every two instructions, the walk with a call stack kept from what the machine does
///
/// That stack knows calls, returns, exceptions and changes of tasks from the registers and the code, and no table. At each
/// boundary the walk of `unwind`, by the image's table and the machine's memory, must give the same list and say complete; or
/// stop at a place that is excused by name. `wrong`: what the walk vouches for is not so. `unexplained`: it stops where nothing
/// excuses that. Both, and whatever the machine does against the rules, make the exit status 1.
///
/// A boot has too many instructions to follow each: a call that was followed from a place, or a function that goes round in a
/// loop, is let run up to its return. The seed decides which are followed again. The boot itself is followed in the first
/// scenario only. Unused stack is filled with return addresses first.
#[derive(Clone, Debug, clap::Args)]
pub struct Oracle {
    /// Architecture
    #[arg(long, value_enum, default_value = "x86_64")]
    pub arch: Arch,

    /// Build the kernel with optimizations
    #[arg(long)]
    pub release: bool,

    /// Every scenario that one CPU can run, and more of each
    #[arg(long, conflicts_with = "scenarios")]
    pub full: bool,

    /// The most boundaries of a scenario [default: 25000, with --full 60000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub boundaries: Option<u64>,

    /// How often a call from one place is followed before it is let run [default: 1, with --full 6]
    #[arg(long, value_name = "N")]
    pub visits: Option<u32>,

    /// Has an NMI come at one of so many boundaries, as the seed decides, once the scenario runs; on x86_64
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub nmi: Option<u64>,

    /// Where random choices begin: what lies in the unused part of stacks, which calls are followed again
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Writes functions of the table in which the machine never was to this file, one a line
    #[arg(long, value_name = "FILE")]
    pub unseen: Option<std::path::PathBuf>,

    /// Scenarios [default: panic tasks interrupted-places]
    #[arg(value_name = "SCENARIO")]
    pub scenarios: Vec<String>,
}

/// The scenarios when none is named.
const DEFAULT: [&str; 3] = ["panic", "tasks", "interrupted-places"];

/// Does what [`Oracle`] says.
///
/// # Errors
/// When the arguments cannot be used, or a machine fails.
pub fn oracle(arguments: &Oracle) -> Result<Status, Failure> {
    let scenarios = wanted(arguments).map_err(Failure::usage)?;
    let target = workspace::target_folder()?;
    let arch = arguments.arch;
    let profile = match arguments.release {
        true => Profile::Release,
        false => Profile::Debug,
    };
    let emulator = setup::program(arch.emulator(), arch.emulator_package(), &target)?;
    let source = setup::rust_src(&target)?;
    let file = Kernel { arch, profile }.build(&source, &target)?;
    let image = Image::read(&file, arch)?;
    let (boundaries, visits) = match arguments.full {
        true => (60_000, 6),
        false => (25_000, 1),
    };
    let plan = Plan {
        seed: arguments.seed,
        boundaries: arguments.boundaries.unwrap_or(boundaries),
        visits: arguments.visits.unwrap_or(visits),
        boot: true,
        nmi: arguments.nmi,
    };
    let mut tallies = Vec::new();
    for scenario in scenarios {
        // Followed once, the boot is the same in all others.
        let plan = Plan {
            boot: tallies.is_empty(),
            ..plan
        };
        let started = Instant::now();
        let name = scenario.name;
        let tally = follow(&emulator, &file, &image, &image.table, name, plan)
            .with_context(|| format!("scenario {name}"))?;
        let took = started.elapsed().as_secs_f64();
        say(format_args!(
            "{name}: {} boundaries, {} calls let run, {} NMIs, in {took:.1} s",
            tally.boundaries, tally.skipped, tally.nmis
        ));
        anstream::println!("{tally}");
        tallies.push(tally);
    }
    anstream::println!("{}", total(&image, &tallies));
    if let Some(file) = &arguments.unseen {
        std::fs::write(file, unseen(&image, &tallies))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(match tallies.iter().all(Tally::is_right) {
        true => Status::Success,
        false => Status::Failed,
    })
}

/// The scenarios that are asked for.
fn wanted(arguments: &Oracle) -> Result<Vec<&'static Scenario>> {
    if arguments.nmi.is_some() && arguments.arch != Arch::X86_64 {
        bail!("QEMU has no NMIs for {}", arguments.arch);
    }
    if arguments.full {
        return Ok(scenario::SCENARIOS.iter().filter(|one| fits(one)).collect());
    }
    let default: Vec<String> = DEFAULT.map(str::to_owned).into();
    let names = match arguments.scenarios.is_empty() {
        true => &default,
        false => &arguments.scenarios,
    };
    let find = |name: &String| -> Result<&'static Scenario> {
        let found = scenario::find(name);
        let found = found.with_context(|| format!("there is no scenario {name:?}"))?;
        if !fits(found) {
            bail!("scenario {name} takes several CPUs, or somebody who types");
        }
        Ok(found)
    };
    names.iter().map(find).collect()
}

/// Whether one CPU can run it to its end, with nobody there.
fn fits(scenario: &Scenario) -> bool {
    let ends = !matches!(scenario.outcome, Outcome::Interactive | Outcome::Hangs);
    scenario.cpus == 1 && ends
}

/// The functions of the table in which the machine never was, each with its address.
fn unseen(image: &Image, tallies: &[Tally]) -> String {
    let tables = image.tables(&image.table);
    let seen = tallies.iter().flat_map(|tally| &tally.seen);
    let seen: BTreeSet<u64> = seen
        .filter_map(|pc| Some(tables.function_at(*pc)?.start()))
        .collect();
    let functions = tables.first().into_iter();
    let functions = functions.flat_map(|section| section.functions());
    let starts = functions.map(|function| function.start());
    let unseen = starts.filter(|start| !seen.contains(start));
    unseen
        .map(|start| format!("{start:#x} {}\n", image.name(start)))
        .collect()
}

/// The sums of all scenarios, in a line.
fn total(image: &Image, tallies: &[Tally]) -> String {
    let sum = |count: fn(&Tally) -> u64| tallies.iter().map(count).sum::<u64>();
    let seen: BTreeSet<u64> = tallies
        .iter()
        .flat_map(|tally| tally.seen.iter().copied())
        .collect();
    let tables = image.tables(&image.table);
    let rows: BTreeSet<(u64, u32)> = seen
        .iter()
        .filter_map(|pc| {
            let (function, row) = tables.lookup(*pc).ok()?;
            Some((function.start(), row.offset))
        })
        .collect();
    let functions: BTreeSet<u64> = rows.iter().map(|(function, _)| *function).collect();
    let (all_functions, all_rows) = tables.first().map_or((0, 0), |section| {
        (section.function_count(), section.row_count())
    });
    format!(
        "all {} scenarios: {} boundaries, {} equal, {} excused, {} wrong, {} unexplained; at {} instructions of {} of {all_functions} functions, by {} of {all_rows} rows",
        tallies.len(),
        sum(|tally| tally.boundaries),
        sum(|tally| tally.equal),
        sum(Tally::excused),
        sum(|tally| tally.wrong),
        sum(|tally| tally.unexplained.values().sum()),
        seen.len(),
        functions.len(),
        rows.len(),
    )
}
