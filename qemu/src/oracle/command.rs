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

    /// The most boundaries of a scenario [default: 25000, or 60000 with --full]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub boundaries: Option<u64>,

    /// How often a call from one place is followed before it is let run
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub visits: u32,

    /// Where random choices begin: what lies in the unused part of stacks, which calls are followed again
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

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
    let plan = Plan {
        seed: arguments.seed,
        boundaries: arguments.boundaries.unwrap_or(match arguments.full {
            true => 60_000,
            false => 25_000,
        }),
        visits: arguments.visits,
        boot: true,
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
            "{name}: {} boundaries and {} calls let run in {took:.1} s",
            tally.boundaries, tally.skipped
        ));
        anstream::println!("{tally}");
        tallies.push(tally);
    }
    anstream::println!("{}", total(&image, &tallies));
    Ok(match tallies.iter().all(Tally::is_right) {
        true => Status::Success,
        false => Status::Failed,
    })
}

/// The scenarios that are asked for.
fn wanted(arguments: &Oracle) -> Result<Vec<&'static Scenario>> {
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

/// Whether one CPU can run it, with nobody there.
fn fits(scenario: &Scenario) -> bool {
    scenario.cpus == 1 && scenario.outcome != Outcome::Interactive
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
