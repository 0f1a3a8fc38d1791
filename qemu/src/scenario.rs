//! The scenarios, from the one list that the kernel uses too.

#[path = "../../kernel/src/scenario/list.rs"]
mod list;

pub use list::{Outcome, SCENARIOS, Scenario};

/// The scenario with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().find(|scenario| scenario.name == name)
}

/// Fewest CPUs that a scenario needs.
#[must_use]
pub fn cpus(name: &str) -> u32 {
    let entry = list::CPUS.iter().find(|(scenario, _)| *scenario == name);
    entry.map_or(1, |(_, cpus)| *cpus)
}

/// Whether a scenario resets the machine, and goes on.
#[must_use]
pub fn resets(name: &str) -> bool {
    find(name).is_some_and(|scenario| scenario.outcome == Outcome::SucceedsAfterReset)
}

/// The list for people, a line each, without the last line's end.
#[must_use]
pub fn listing() -> String {
    let width = SCENARIOS.iter().map(|s| s.name.len()).max().unwrap_or(0);
    let line = |s: &Scenario| format!("{:width$}  {}", s.name, s.about);
    SCENARIOS.iter().map(line).collect::<Vec<_>>().join("\n")
}
