//! What every scenario that hangs is doing, as its source says: lists of its own functions, whatever of the kernel is between them.
//!
//! A scenario has a list for each CPU and for each task that waits, in any order, separated by `|`. In a list the functions of
//! `kernel::scenario::hangs` stand, innermost first, those that need not be there with `?`; `/` is an interruption, and behind `>`
//! stands where the stack begins. `...` stands for whatever else there is, even trap code, which is in doubt on 32-bit ARM, and `*101` for so many. A list that begins with `!` is not
//! complete: only its first function is known.

use std::path::Path;

use super::calls::Calls;
use super::report::{Frame, Report};

/// The path of the functions.
const SCENARIO: &str = "kernel::scenario::hangs::";

/// A hang.
#[derive(Debug)]
pub struct Hang {
    pub name: &'static str,
    /// How many CPUs it needs.
    pub cpus: usize,
    /// What each CPU and each task does.
    lists: &'static str,
}

const fn hang(name: &'static str, cpus: usize, lists: &'static str) -> Hang {
    Hang { name, cpus, lists }
}

pub const HANGS: [Hang; 31] = [
    hang("hang-masked", 1, "spin masked > kernel"),
    hang("hang-early", 1, "spin early > kernel"),
    hang("hang-deep", 1, "spin descend*101 deep > kernel"),
    hang("hang-idle", 1, "... idle > kernel"),
    hang(
        "hang-two-locks",
        2,
        "left_then_right two_locks > kernel | wait_for? right_then_left > cpu",
    ),
    hang(
        "hang-stopped-holder",
        2,
        "stopped_holder > kernel | hold_and_stop > cpu",
    ),
    hang(
        "hang-in-interrupt",
        1,
        "spin stay_in_tick / spin in_interrupt > kernel",
    ),
    hang(
        "hang-in-nmi",
        2,
        "spin in_nmi > kernel | spin stay_in_nmi / until_nmi > cpu",
    ),
    hang(
        "hang-tasks",
        1,
        "spin work > task | ... tasks > kernel | wait_for_ledger > task",
    ),
    hang("hang-exceptions", 1, "... exceptions > kernel"),
    hang("hang-storm", 1, "... storm > kernel"),
    hang(
        "hang-livelock",
        1,
        "... let_go_first > task | ... let_go_first > task | ... livelock > kernel",
    ),
    hang("hang-reset", 1, "reset > kernel"),
    hang("hang-lock-twice", 1, "locks::twice > kernel"),
    hang(
        "hang-lock-in-interrupt",
        1,
        "locks::take_in_tick / spin locks::in_interrupt > kernel",
    ),
    hang(
        "hang-lock-in-nmi",
        2,
        "spin locks::in_nmi > kernel | locks::take_in_nmi / locks::stay locks::hold > cpu",
    ),
    hang(
        "hang-rendezvous",
        2,
        "locks::rendezvous > kernel | locks::stay locks::never_answer > cpu",
    ),
    hang(
        "hang-after-you",
        2,
        "locks::let_go_first locks::after_you > kernel | locks::let_go_first > cpu",
    ),
    hang("hang-device", 1, "waits::device > kernel"),
    hang(
        "hang-joins",
        1,
        "... waits::joins > kernel | waits::hold_and_join > task | waits::want > task",
    ),
    hang(
        "hang-sleep",
        1,
        "... waits::sleep > kernel | waits::sleep_for_ever > task",
    ),
    hang("hang-nmis", 1, "... waits::nmis > kernel"),
    hang(
        "hang-nested",
        1,
        "spin waits::stay_in_second / spin waits::stay_in_second / spin waits::nested > kernel",
    ),
    hang("hang-message", 1, "spin waits::message > kernel"),
    hang("hang-system-call", 1, "spin waits::stay_in_call / > user"),
    hang("hang-outside", 1, "!-"),
    hang("hang-stray-return", 1, "!stay_first"),
    hang("hang-stray-stack", 1, "!stay_stack_pointer"),
    hang("hang-overwritten-stack", 1, "!lie_overwritten"),
    // The first exception overwrote where it came from; without page tables at the vector, which the next one leads to again.
    hang("hang-no-vectors", 1, "!-"),
    hang("hang-no-tables", 1, "!exception_"),
];

impl Hang {
    /// Fails unless the lists of a machine with this image are these, and any others are of CPUs that have nothing to do, or
    /// that nobody has started.
    #[track_caller]
    pub fn expect(&self, image: &Path, reports: &[Report]) {
        let (calls, mut left) = (Calls::of(image), reports.iter().collect::<Vec<_>>());
        for list in self.lists.split('|').map(str::trim) {
            let at = left.iter().position(|report| is(report, list));
            let text = reports.first().map_or("", |report| &report.text);
            let at = at.unwrap_or_else(|| panic!("{}: no list {list:?} in:\n{text}", self.name));
            let report = left.remove(at);
            if !list.starts_with('!') {
                let checked = calls.check(report);
                checked.unwrap_or_else(|why| panic!("{}: {why} in:\n{text}", self.name));
            }
        }
        for report in left {
            if is_in_firmware(report) {
                continue;
            }
            report.expect_complete();
            let last = report.frames.last();
            let is_idle = functions(&report.frames).is_empty() && last.is_some_and(is_cpu);
            assert!(is_idle, "{}: {}", self.name, report.text);
        }
    }
}

/// Whether it is of a CPU that nobody has started: in firmware's code, of which nothing more is known.
fn is_in_firmware(report: &Report) -> bool {
    let [only] = &report.frames[..] else {
        return false;
    };
    let is_known = only.name.is_some() || !report.panicked.contains(", in no stack");
    !is_known && report.end.starts_with("end of backtrace: incomplete: ")
}

/// Whether a report has this list.
fn is(report: &Report, list: &str) -> bool {
    if let Some(first) = list.strip_prefix('!') {
        let name = report.frames[0].name.as_deref().unwrap_or("-");
        // What follows is a guess, or, at a vector, the same vector.
        let is_guess = |frame: &Frame| !"pr".contains(frame.letter);
        let is_same = |frame: &Frame| frame.letter == 'p' && frame.name.as_deref() == Some(name);
        let next = report.frames.get(1);
        let follows = next.is_none_or(|next| is_guess(next) || is_same(next));
        return name.starts_with(first) && follows && !report.end.contains(" complete");
    }
    let (functions_of, begin) = list.split_once('>').expect("where it begins");
    let last = report.frames.last().expect("frames");
    let end = match begin.trim() {
        "user" => "user code reached at 0x0000000000400",
        _ => "complete, ",
    };
    let begins = match begin.trim() {
        "kernel" => last.name.as_deref() == Some("kernel_entry"),
        "task" => last.name.as_deref() == Some("task_begin"),
        "cpu" => is_cpu(last),
        "user" => last.name.is_none() && report.end.contains(", complete for the kernel, "),
        other => panic!("nothing begins in {other}"),
    };
    if functions_of.starts_with("...") && is_in_doubtful_trap_code(report) {
        return true;
    }
    let is_sure = report.frames.iter().all(|it| "pr".contains(it.letter));
    let prefix = format!("end of backtrace: {end}");
    if !begins || !is_sure || !report.end.starts_with(&prefix) {
        return false;
    }
    if let Some(rest) = functions_of.strip_prefix("...") {
        return functions(&report.frames).last().map(String::as_str) == Some(rest.trim());
    }
    let mut from = 0;
    let mut parts = Vec::new();
    for at in report.words.iter().map(|(before, _)| *before) {
        parts.push(functions(&report.frames[from..at]));
        from = at;
    }
    parts.push(functions(&report.frames[from..]));
    let expected: Vec<_> = functions_of.split('/').collect();
    expected.len() == parts.len() && parts.iter().zip(expected).all(|(part, it)| fits(part, it))
}

/// Whether a CPU of 32-bit ARM is where most instructions have no row that holds, and the list says that it is in doubt.
fn is_in_doubtful_trap_code(report: &Report) -> bool {
    let name = report.frames[0].name.as_deref().unwrap_or_default();
    let is_trap_code = name.starts_with("exception_") || name.starts_with("trap_");
    let is_arm = report.text.contains(", armv7a, build ");
    is_arm && is_trap_code && !report.end.contains(" complete")
}

/// Whether these are the expected functions.
fn fits(found: &[String], expected: &str) -> bool {
    let mut found = found.iter().peekable();
    for word in expected.split_whitespace() {
        if let Some(name) = word.strip_suffix('?') {
            found.next_if(|found| *found == name);
            continue;
        }
        let (name, count) = word.split_once('*').unwrap_or((word, "1"));
        for _ in 0..count.parse().expect("a count") {
            if found.next().is_none_or(|found| found != name) {
                return false;
            }
        }
    }
    found.next().is_none()
}

/// The scenario's functions in these frames, inlined or not, without its path.
fn functions(frames: &[Frame]) -> Vec<String> {
    let sources = frames.iter().flat_map(|frame| &frame.sources);
    let names = sources.filter_map(|source| source.name.strip_prefix(SCENARIO));
    let names = names.filter(|name| !name.contains("{closure"));
    names.map(str::to_owned).collect()
}

/// Whether a CPU that is not the first begins there.
fn is_cpu(frame: &Frame) -> bool {
    let name = frame.name.as_deref().unwrap_or_default();
    ["start_entry", "start_high", "start_outermost"].contains(&name)
}
