//! The scenarios, from the one table that the kernel uses too.

use anyhow::{Context, Result};
pub use portable::scenarios::{Outcome, SCENARIOS, Scenario, find};

/// The scenario when none is named.
const DEFAULT: &str = "panic";

/// The smallest number of CPUs that a scenario needs.
#[must_use]
pub fn cpus(name: &str) -> u32 {
    find(name).map_or(1, |scenario| scenario.cpus)
}

/// Whether a scenario resets the machine, and goes on.
#[must_use]
pub fn resets(name: &str) -> bool {
    find(name).is_some_and(|scenario| scenario.outcome == Outcome::SucceedsAfterReset)
}

/// A line for each scenario of an architecture, without a line feed at the end.
#[must_use]
pub fn listing(arch: &str) -> String {
    let its = || SCENARIOS.iter().filter(|s| s.is_on(arch));
    let width = its().map(|s| s.name.len()).max().unwrap_or(0);
    let line = |s: &Scenario| format!("{:width$}  {}", s.name, s.about);
    its().map(line).collect::<Vec<_>>().join("\n")
}

/// The scenarios of these names, which an architecture has; the default one if there are none.
///
/// # Errors
/// There is no such scenario; there are others.
pub fn wanted(names: &[String], arch: &str) -> Result<Vec<&'static Scenario>> {
    let default = [DEFAULT.to_owned()];
    let names = if names.is_empty() { &default } else { names };
    let find = |name: &String| {
        let found = find(name).filter(|found| found.is_on(arch));
        found.with_context(|| {
            let its = SCENARIOS.iter().filter(|it| it.is_on(arch));
            let known: Vec<_> = its.map(|it| it.name).collect();
            format!(
                "unknown scenario {name:?}; expected one of: {known}",
                known = known.join(", ")
            )
        })
    };
    names.iter().map(find).collect()
}
