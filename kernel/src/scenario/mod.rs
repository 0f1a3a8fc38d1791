//! What the kernel does once it runs: one of the scenarios of [`list`], a file each.

mod deep;
mod heap_panic;
mod list;
mod ok;
mod panic;

use crate::console::println;
use crate::verdict::Verdict;
use list::{Outcome, SCENARIOS};

/// The scenario for an empty command line.
pub const DEFAULT: &str = SCENARIOS[0].name;

/// What the scenarios of the list do, in its order.
const RUN: [fn(); SCENARIOS.len()] = [panic::run, heap_panic::run, deep::run, ok::run];

/// Runs the scenario with this name.
pub fn run(name: &str) -> Verdict {
    for (scenario, run) in SCENARIOS.iter().zip(RUN) {
        if scenario.name == name {
            run();
            return Verdict::Success;
        }
    }
    println!("there is no scenario {name}; there are:");
    for scenario in SCENARIOS {
        let end = match scenario.outcome {
            Outcome::Succeeds => "succeeds",
            Outcome::Panics => "panics",
        };
        println!("  {} {end}: {}", scenario.name, scenario.about);
    }
    Verdict::Panicked
}
