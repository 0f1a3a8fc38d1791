//! Lists by the rule map, or by one that is wrong, compared with what was called, between every two instructions.

use std::path::Path;

use qemu::machine::Processor;
use qemu::oracle::Tally;
use qemu::oracle::armv7a::{Image, Plan, follow};
use qemu::setup;
use unwind::map::format;

use super::image;
use crate::support::built;

/// Until trap code has a frame no row says what was interrupted, whose stack pointer is another mode's: that are so many instructions of an
/// exception, with the last one of its return.
const WITHOUT_FRAME: u64 = 46;
/// Instructions of the boot at which another mode's stack pointer is in use, as in `Scratch::load`.
const OF_OTHER_MODES: u64 = 8;

/// Follows scenarios by this map, each up to so many boundaries.
fn followed(file: &Path, image: &Image, map: &[u8], scenarios: &[&str], plan: Plan) -> Vec<Tally> {
    let target = built::target();
    let (emulator, package) = (
        Processor::Armv7a.emulator(),
        Processor::Armv7a.emulator_package(),
    );
    let emulator = setup::program(emulator, package, &target).expect("QEMU is to be had");
    let follow = |scenario: &&str| follow(&emulator, file, image, map, scenario, plan);
    let tallies = scenarios.iter().map(follow);
    tallies
        .map(|tally| tally.expect("it is followed"))
        .collect()
}

const PLAN: Plan = Plan {
    seed: 1,
    boundaries: 8_000,
    visits: 1,
    boot: false,
};

/// The boundaries of a scenario in the gate; `.ci/long` has those of [`PLAN`].
const IN_GATE: u64 = 1_000;

/// Between every two instructions of code in both sets, of a report, of trap code, and of what that interrupts.
fn every_boundary_is_right(release: bool, boundaries: u64) {
    let plan = Plan { boundaries, ..PLAN };
    let (file, image) = image(release);
    let scenarios = [
        "thumb",
        "thumb-undefined",
        "exception-in-handler",
        "panic-in-timer",
    ];
    let mut tallies = followed(&file, &image, &image.map, &scenarios, plan);
    let with_boot = Plan { boot: true, ..plan };
    tallies.extend(followed(&file, &image, &image.map, &["panic"], with_boot));
    for tally in tallies {
        assert!(tally.is_right(), "{tally}");
        assert!(tally.boundaries >= boundaries / 2, "{tally}");
        // Each exception is at one vector; how many ticks of the timer there are is a matter of the host's time. Whether one of the boundaries
        // is in a division depends on where they begin and end.
        let excused = tally.excused.iter();
        let at_vectors = excused.filter(|((_, function, _), _)| function == "exception_vectors");
        let exceptions: u64 = at_vectors.map(|(_, count)| count).sum();
        let divisions = tally.excused.iter();
        let is_division = |name: &str| ["__udivsi3", "__udivmodsi4"].contains(&name);
        let divisions = divisions.filter(|((_, function, _), _)| is_division(function));
        let divisions: u64 = divisions.map(|(_, count)| count).sum();
        // An unoptimized kernel counts the stack pointer from the frame pointer before it pops.
        let epilogue = if release { 1 } else { 2 };
        let most = exceptions * WITHOUT_FRAME + OF_OTHER_MODES + epilogue + divisions;
        assert!(tally.excused() <= most, "{tally}");
    }
}

#[long]
fn every_boundary_is_right_debug() {
    every_boundary_is_right(false, PLAN.boundaries);
}

#[long]
fn every_boundary_is_right_release() {
    every_boundary_is_right(true, PLAN.boundaries);
}

#[gate]
fn some_boundaries_are_right_release() {
    every_boundary_is_right(true, IN_GATE);
}

/// Also while a handler has an interrupted task go on elsewhere, as its time slice is over, and while tasks change.
#[long]
fn every_boundary_of_tasks_is_right() {
    let (file, image) = image(true);
    let plan = Plan {
        boundaries: 30_000,
        ..PLAN
    };
    let preempted = image.names.address("trap_preempted").expect("it is there");
    let scenarios = ["interrupted-places", "tasks"];
    for tally in followed(&file, &image, &image.map, &scenarios, plan) {
        assert!(tally.is_right(), "{tally}");
        assert!(tally.seen.contains(&preempted), "{tally}");
    }
}

/// The map's rules that take the return address from the stack take it from a word above.
#[gate]
fn rules_that_are_wrong_are_found() {
    let (file, image) = image(true);
    let mut map = image.map.clone();
    let number = |at: usize| u32::from_le_bytes(map[at..at + 4].try_into().expect("four bytes"));
    let (regions, rules) = (number(12) as usize, number(16) as usize);
    let first = format::HEADER_SIZE + regions * format::REGION_SIZE;
    let [_, shift, _] = format::SHIFTS;
    for rule in map[first..].chunks_exact_mut(format::RULE_SIZE).take(rules) {
        let flags = u16::from_le_bytes([rule[0], rule[1]]);
        if flags >> shift & 0xf == u16::from(format::SAVED) {
            rule[4] = rule[4].wrapping_add(1);
        }
    }
    let plan = Plan {
        boundaries: 500,
        ..PLAN
    };
    for tally in followed(&file, &image, &map, &["deep"], plan) {
        assert!(!tally.is_right() && tally.equal < 100, "{tally}");
    }
}
