//! The functions of the scenarios of [`portable::scenarios`]: what the kernel does once it is up.

mod access;
mod busy;
mod cpus;
mod crowd;
mod deadlock;
mod deep;
mod display;
pub mod early;
mod epitaph;
mod hangs;
mod heap_panic;
mod instructions;
mod late_save;
mod lies;
mod logging;
mod nested;
mod ok;
mod one_call;
mod others;
pub mod overflow;
mod panic;
mod places;
mod sabotage;
mod sampled;
mod screen;
mod tasks;
#[cfg(target_arch = "arm")]
mod thumb;
mod timer;
mod unreadable;
mod user;

use portable::scenarios;
use portable::scenarios::{Outcome, SCENARIOS};
use spin::Once;

use crate::arch::NAME;
use crate::console::println;
use crate::monitor;
use crate::verdict::Verdict;

/// The scenario for an empty command line.
pub const DEFAULT: &str = SCENARIOS[0].name;

/// Makes an array of the functions in the table.
macro_rules! functions {
    ($($name:literal: $outcome:ident, $cpus:literal $unit:ident, $($function:ident)::+ $(at $stage:ident)? $(on $machines:ident)?, $about:literal;)*) => {
        [$(function!($($function)::+ $(, $machines)?)),*]
    };
}

/// The function of a scenario, if this architecture has it.
#[cfg(target_arch = "arm")]
macro_rules! function {
    ($function:path, NotArmv7a) => {
        None
    };
    ($function:path $(, $machines:ident)?) => {
        Some($function)
    };
}
#[cfg(not(target_arch = "arm"))]
macro_rules! function {
    ($function:path, OnlyArmv7a) => {
        None
    };
    ($function:path $(, $machines:ident)?) => {
        Some($function)
    };
}

/// The functions of the scenarios, in the order of [`SCENARIOS`]: both are made from the same table.
static RUN: [Option<fn()>; SCENARIOS.len()] = scenarios!(functions);

/// The number on the command line.
static ARGUMENT: Once<u32> = Once::new();

/// Runs the scenario with this name, and perhaps with a number. Never inlined, so that whoever looks at the machine finds where
/// scenarios begin.
#[inline(never)]
pub fn run(name: &str, argument: Option<u32>) -> Verdict {
    if let Some(argument) = argument {
        ARGUMENT.call_once(|| argument);
    }
    if let Some(run) = scenarios::number(name).and_then(|number| RUN[number]) {
        run();
        return Verdict::Success;
    }
    println!("unknown scenario {name} for architecture {NAME}; available scenarios:");
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.is_on(NAME)) {
        let end = match scenario.outcome {
            Outcome::Succeeds => "succeeds",
            Outcome::Panics => "panics",
            Outcome::PanicsInDoubt => "panics in doubt",
            Outcome::FailsToReport => "fails to report",
            Outcome::SucceedsAfterReset => "succeeds after a reset",
            Outcome::Interactive => "runs until you type a command that ends the scenario",
            Outcome::Hangs => "does not end",
        };
        println!("  {} {end}: {}", scenario.name, scenario.about);
    }
    Verdict::Panicked
}

/// Another CPU.
///
/// # Panics
/// There is none.
fn another() -> usize {
    let other = crate::cpus::others().next();
    other.expect("this scenario needs two CPUs: --cpus 2")
}
