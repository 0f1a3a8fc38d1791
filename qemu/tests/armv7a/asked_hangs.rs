//! Machines that hang, and are asked where they are: the walk from outside.

use qemu::build::Profile;
use qemu::scenario::{Outcome, SCENARIOS};

use super::armv7a;
use super::built_image;
use crate::ask::asked::{Asked, ended_on, interrupted_on};
use crate::support::built::image_for_arm;
use crate::support::hangs::{HANGS, Hang};
use crate::support::report::Report;
use crate::support::runner::run;

/// What each says last, but for one whose message does not end.
const LAST: &str = "the scenario prints nothing after this line";
const MESSAGE: &str = ": this message contains a value whose formatting never returns: ";

/// Those that hang before there is a console: the machine's own clock says when to ask.
const EARLY: [&str; 2] = ["hang-early", "hang-outside"];

/// What the machine of a hang says when it is asked.
fn asked(hang: &Hang, release: bool) -> Asked {
    let image = built_image(release);
    let path = image.to_str().expect("a path in UTF-8");
    match hang.name {
        name if EARLY.contains(&name) => {
            Asked::of(run(["--guest-timeout", "1", "--image", path, name]).expect(124))
        }
        "hang-reset" => {
            let asked = ended_on(&[], &image, hang.name);
            assert_eq!(asked.ran.status, 1, "{}", asked.ran.words);
            asked
        }
        "hang-message" => interrupted_on(&[], MESSAGE, &image, hang.name, hang.cpus),
        _ => interrupted_on(&[], LAST, &image, hang.name, hang.cpus),
    }
}

fn every_hang(release: bool) {
    for hang in &HANGS {
        asked(hang, release).expect(hang, release);
    }
}

impl Asked {
    #[track_caller]
    fn expect(&self, hang: &Hang, release: bool) {
        hang.expect(&built_image(release), &self.reports);
        let says = ", armv7a, build ";
        assert!(self.text.contains(says), "{}", self.text);
        let tables = ", tables verified, exception tables are valid only at calls";
        assert!(self.text.contains(tables), "{}", self.text);
        // Where memory can be read, the code there was compared, and is the image's.
        let is_compared = !self.text.contains(", code not compared\n");
        let is_read = !self.text.contains("cannot be read") && !self.text.contains("cannot read");
        assert_eq!(is_compared, is_read, "{}", self.text);
        let differs = "differs from the linked code";
        assert!(!self.text.contains(differs), "{}", self.text);
    }
}

#[gate]
fn every_hang_is_known() {
    let its = SCENARIOS.iter().filter(|it| it.is_on("armv7a"));
    let mut its: Vec<_> = its.filter(|it| it.outcome == Outcome::Hangs).collect();
    let mut known: Vec<_> = HANGS.iter().map(|hang| hang.name).collect();
    known.sort_unstable();
    its.sort_unstable_by_key(|it| it.name);
    let its: Vec<_> = its.iter().map(|it| it.name).collect();
    assert_eq!(known, its);
}

/// One across an interruption, one with tasks, and one whose CPU has lost its stack.
#[gate]
fn some_hangs_are_asked() {
    for hang in &HANGS {
        if ["hang-in-nmi", "hang-tasks", "hang-stray-stack"].contains(&hang.name) {
            asked(hang, true).expect(hang, true);
        }
    }
}

#[long]
fn every_hang_is_asked_debug() {
    every_hang(false);
}

#[long]
fn every_hang_is_asked_release() {
    every_hang(true);
}

/// What tasks wait for, by their names.
#[gate]
fn tasks_say_what_they_wait_for() {
    let hang = HANGS.iter().find(|hang| hang.name == "hang-tasks");
    let asked = asked(hang.expect("it is known"), false);
    let says = [
        "task 0 main: waits for task 8 worker to end, stack boot",
        "task 9 waiter: waits for lock ledger, which task 8 worker holds, stack task waiter",
    ];
    let waiting = asked.reports[1..].iter().map(|report| &report.panicked);
    assert_eq!(waiting.collect::<Vec<_>>(), says, "{}", asked.text);
}

/// It goes on as if nothing had been.
#[gate]
fn a_machine_that_was_asked_goes_on() {
    let ran = armv7a(true, &["--ask", "0.2", "--ask", "1", "tasks"]).expect(0);
    Report::find(&ran.serial).expect_complete();
}

/// The kernel's Thumb code, below ARM code in assembly.
#[long]
fn in_thumb_code_it_is_the_same() {
    let image = image_for_arm(Profile::ThumbDebug);
    for (scenario, lists) in [("hang-in-interrupt", 1), ("hang-tasks", 3)] {
        let asked = interrupted_on(&[], LAST, &image, scenario, 1);
        assert_eq!(asked.reports.len(), lists, "{}", asked.text);
        let frames = asked.reports.iter().flat_map(|report| &report.frames);
        let is_thumb = |address: u64| address % 4 == 2;
        assert!(frames.into_iter().any(|frame| is_thumb(frame.address)));
        for report in &asked.reports {
            report.expect_complete();
            let last = report.names().last().map(|name| (*name).to_owned());
            let begins = ["kernel_entry", "task_begin"].map(str::to_owned);
            assert!(
                last.is_some_and(|last| begins.contains(&last)),
                "{}",
                asked.text
            );
        }
    }
}
