//! The scenarios, from the one table that the kernel uses too.

pub use portable::scenarios::{Outcome, SCENARIOS, Scenario, find};

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

/// A line for each scenario, without a line feed at the end.
#[must_use]
pub fn listing() -> String {
    let width = SCENARIOS.iter().map(|s| s.name.len()).max().unwrap_or(0);
    let line = |s: &Scenario| format!("{:width$}  {}", s.name, s.about);
    SCENARIOS.iter().map(line).collect::<Vec<_>>().join("\n")
}
