//! A Raspberry Pi 3 that hangs, and is asked where its processors are: four, which run all the time, so that a task may be on any of them.

use std::path::Path;

use qemu::scenario::{Outcome, SCENARIOS};

use crate::ask::asked::{Asked, interrupted_on};
use crate::support::built::{image, kernel};
use crate::support::hangs::{HANGS, Hang};
use crate::support::runner::run;

/// What each says last, but for one whose message does not end.
const LAST: &str = "the scenario prints nothing after this line";
const MESSAGE: &str = ": this message contains a value whose formatting never returns: ";

/// Those that hang before there is a console, and before any other CPU is started: the machine's own clock says when to ask.
const EARLY: [&str; 2] = ["hang-early", "hang-outside"];

const BOARD: [&str; 2] = ["--board", "raspi3b"];
const CPUS: usize = 4;

/// The kernel has no way to reset this board: in place of that, it halts.
fn asked(image: &Path, hang: &Hang) -> Asked {
    let path = image.to_str().expect("a path in UTF-8");
    let asked = match hang.name {
        name if EARLY.contains(&name) => {
            let limit = ["--guest-timeout", "1", "--image", path, name];
            Asked::of(run(BOARD.iter().chain(&limit)).expect(124))
        }
        "hang-message" => interrupted_on(&BOARD, MESSAGE, image, hang.name, CPUS),
        _ => interrupted_on(&BOARD, LAST, image, hang.name, CPUS),
    };
    let says = ": 4 CPUs, aarch64, build ";
    assert!(asked.text.contains(says), "{}", asked.text);
    asked
}

fn every_hang(name: &str) {
    let image = image(kernel(name));
    for hang in &HANGS {
        hang.expect(&image, &asked(&image, hang).reports);
    }
}

#[gate]
fn every_hang_is_known() {
    let its = SCENARIOS.iter().filter(|it| it.is_on("aarch64"));
    let mut its: Vec<_> = its.filter(|it| it.outcome == Outcome::Hangs).collect();
    its.sort_unstable_by_key(|it| it.name);
    let mut known: Vec<_> = HANGS.iter().map(|hang| hang.name).collect();
    known.sort_unstable();
    assert_eq!(known, its.iter().map(|it| it.name).collect::<Vec<_>>());
}

/// Across an interruption by another CPU, with tasks, and one whose CPU has lost its stack.
#[gate]
fn some_hangs_are_asked() {
    let image = image(kernel("aarch64_debug"));
    for hang in &HANGS {
        if ["hang-in-nmi", "hang-tasks", "hang-stray-stack"].contains(&hang.name) {
            hang.expect(&image, &asked(&image, hang).reports);
        }
    }
}

#[long]
fn every_hang_is_asked_debug() {
    every_hang("aarch64_debug");
}

#[long]
fn every_hang_is_asked_release() {
    every_hang("aarch64_release");
}
