//! What the kernel does once it runs: one of the scenarios of [`list`], a file each.

mod access;
mod busy;
mod cpus;
mod deadlock;
mod deep;
mod display;
pub mod early;
mod epitaph;
mod heap_panic;
mod instructions;
mod late_save;
mod lies;
mod list;
mod nested;
mod ok;
mod others;
pub mod overflow;
mod panic;
mod places;
mod tasks;
mod timer;
mod unreadable;

use spin::Once;

use crate::console::println;
use crate::monitor;
use crate::verdict::Verdict;
use list::{Outcome, SCENARIOS};

/// The scenario for an empty command line.
pub const DEFAULT: &str = SCENARIOS[0].name;

/// What the scenarios of the list do, in its order.
const RUN: [fn(); SCENARIOS.len()] = [
    panic::run,
    heap_panic::run,
    deep::run,
    ok::run,
    cpus::run,
    access::null_read,
    access::null_call,
    access::wild_jump,
    access::write_to_code,
    access::call_data,
    access::misaligned,
    access::not_canonical,
    instructions::undefined,
    instructions::divide,
    instructions::breakpoint,
    places::first_instruction,
    places::leaf,
    places::prologue,
    places::epilogue,
    places::tail_call,
    places::last_call,
    places::variable_frame,
    places::realigned_frame,
    places::asm_with_rules,
    places::asm_without_rules,
    places::asm_beyond_proof,
    late_save::run,
    lies::run,
    places::damaged_return_address,
    places::damaged_frame_pointer,
    places::stray_stack_pointer,
    nested::exception_in_handler,
    nested::panic_in_handler,
    nested::no_stack_for_handler,
    overflow::recursion,
    overflow::huge_frame,
    monitor::run,
    display::panic_in_panic,
    display::fault_in_panic,
    display::panic_in_print,
    early::panic,
    early::exception,
    early::allocation,
    unreadable::run,
    epitaph::read,
    epitaph::damaged,
    nested::stray_stack_pointer,
    others::nmi,
    others::console_held,
    others::two_panics,
    others::two_breakpoints,
    others::silent_cpu,
    others::hang,
    tasks::run,
    busy::run,
    timer::panic_in_handler,
    timer::interrupt_in_interrupt,
    timer::places,
    deadlock::two_tasks,
    deadlock::twice,
    deadlock::panic_in_task,
    deadlock::overflow,
];

/// The number on the command line.
static ARGUMENT: Once<u32> = Once::new();

/// Runs the scenario with this name, and perhaps with a number.
pub fn run(name: &str, argument: Option<u32>) -> Verdict {
    if let Some(argument) = argument {
        ARGUMENT.call_once(|| argument);
    }
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
            Outcome::PanicsInDoubt => "panics in doubt",
            Outcome::FailsToReport => "fails to report",
            Outcome::SucceedsAfterReset => "resets, and succeeds",
            Outcome::Interactive => "ends as it is told to",
        };
        println!("  {} {end}: {}", scenario.name, scenario.about);
    }
    Verdict::Panicked
}
