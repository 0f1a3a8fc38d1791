//! Hangs of the kernel, each with where every CPU is.

use qemu::build::Kernel;
use qemu::machine::Arch;

use super::asked::{Asked, ended, interrupted};
use super::lists::{
    SCENARIO, below_others, below_others_at, expect_count, expect_idle, expect_through, expect_two,
    functions,
};
use crate::support::built::image;
use crate::support::each::kernel_tests;
use crate::support::runner::run;
use crate::support::trace;

kernel_tests! { every:
    in_interrupt,
    in_nmi,
    tasks,
    storm,
}
kernel_tests! { every_in_long:
    masked,
    four_cpus,
    early,
    deep,
    idle,
    two_locks,
    stopped_holder,
    exceptions,
    livelock,
    no_vectors,
    reset,
}

fn masked(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-masked", 1);
    expect_count(&asked, 1);
    let [report] = &asked.reports[..] else {
        unreachable!("counted");
    };
    let expected = functions(&["spin", "masked"]);
    trace::expect(kernel, report, &expected, "complete, ");
    let says = ", stack boot, interrupts masked";
    assert!(report.panicked.ends_with(says), "{}", report.panicked);
}

fn four_cpus(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-masked", 4);
    expect_count(&asked, 4);
    let expected = functions(&["spin", "masked"]);
    trace::expect(kernel, &asked.reports[0], &expected, "complete, ");
    for report in &asked.reports[1..] {
        expect_idle(kernel, report);
    }
}

/// Nothing was printed yet: the machine's own clock says when to ask.
fn early(kernel: Kernel) {
    let image = image(kernel);
    let image = image.to_str().expect("a path in UTF-8");
    let ran = run(["--guest-timeout", "1", "--image", image, "hang-early"]);
    let asked = Asked::of(ran.expect(124));
    expect_count(&asked, 1);
    let report = &asked.reports[0];
    // The function that looks for such scenarios is in a module of theirs.
    let looks = "r~ kernel::scenario::early::run";
    let expected = format!("{}{looks}", functions(&["spin", "early"]));
    trace::expect(kernel, report, &expected, "complete, ");
}

fn deep(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-deep", 1);
    expect_count(&asked, 1);
    let mut names = vec!["spin"];
    names.extend(std::iter::repeat_n("descend", 101));
    names.push("deep");
    let expected = functions(&names);
    trace::expect(kernel, &asked.reports[0], &expected, "complete, ");
}

fn idle(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-idle", 2);
    expect_count(&asked, 2);
    let expected = below_others(&asked.reports[0], &["idle"]);
    trace::expect(kernel, &asked.reports[0], &expected, "complete, ");
    expect_idle(kernel, &asked.reports[1]);
}

fn two_locks(kernel: Kernel) {
    let first = ["left_then_right", "two_locks"];
    expect_two(kernel, "hang-two-locks", &first, "right_then_left");
}

fn stopped_holder(kernel: Kernel) {
    let first = ["stopped_holder"];
    expect_two(kernel, "hang-stopped-holder", &first, "hold_and_stop");
}

fn in_interrupt(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-in-interrupt", 1);
    expect_count(&asked, 1);
    let handler = functions(&["spin", "stay_in_tick"]);
    let interrupted = functions(&["spin", "in_interrupt"]);
    let expected = format!("{handler}= trap\n-- interrupted, stack boot\n{interrupted}");
    trace::expect(kernel, &asked.reports[0], &expected, "complete, ");
}

fn in_nmi(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-in-nmi", 2);
    expect_count(&asked, 2);
    let expected = functions(&["spin", "in_nmi"]);
    trace::expect(kernel, &asked.reports[0], &expected, "complete, ");
    let handler = functions(&["spin", "stay_in_nmi"]);
    let number = asked.reports[1].words.first().map_or(0, |(at, _)| *at);
    let interrupted = below_others_at(&asked.reports[1], number, &["until_nmi"]);
    let expected = format!("{handler}= trap\n-- interrupted, stack boot\n{interrupted}= cpu");
    trace::expect_whole(kernel, &asked.reports[1], &expected, "complete, ");
}

/// The one that runs, then those that do not.
fn tasks(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-tasks", 1);
    let [runs, main, waiter] = &asked.reports[..] else {
        panic!("{}", asked.text);
    };
    trace::expect_of_task(kernel, runs, &functions(&["spin", "work"]));
    let waiting = |name| format!("= switch\nr {SCENARIO}{name}\n");
    trace::expect(kernel, main, &waiting("tasks"), "complete, ");
    trace::expect_of_task(kernel, waiter, &waiting("wait_for_ledger"));
    let [main, waiter] = [&main.panicked, &waiter.panicked];
    assert_eq!(
        main,
        "task 0 main: waits for task 8 worker to end, stack boot"
    );
    let says = "task 9 waiter: waits for lock ledger, which task 8 worker holds, stack task waiter";
    assert_eq!(waiter, says);
    let says = ", stack task worker, interrupts masked";
    assert!(runs.panicked.ends_with(says), "{}", runs.panicked);
}

/// Whatever it was doing.
fn exceptions(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-exceptions", 1);
    expect_count(&asked, 1);
    let report = &asked.reports[0];
    let at = expect_through(&asked, report, "exceptions", "kernel_entry");
    let interrupted = report.words.iter().all(|(before, _)| *before == at);
    assert!(interrupted, "{}", asked.text);
}

/// Whatever it was doing; the other CPUs have nothing to do with it.
fn storm(kernel: Kernel) {
    for cpus in [1, 4] {
        let asked = interrupted(&image(kernel), "hang-storm", cpus);
        expect_count(&asked, cpus);
        expect_through(&asked, &asked.reports[0], "storm", "kernel_entry");
        for report in &asked.reports[1..] {
            expect_idle(kernel, report);
        }
    }
}

/// One of the tasks runs, the other one could, and `main` waits for the first.
fn livelock(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-livelock", 1);
    let [runs, main, others @ ..] = &asked.reports[..] else {
        panic!("{}", asked.text);
    };
    for report in std::iter::once(runs).chain(others) {
        expect_through(&asked, report, "let_go_first", "task_begin");
    }
    let waiting = format!("= switch\nr {SCENARIO}livelock\n");
    trace::expect(kernel, main, &waiting, "complete, ");
    let says = "task 0 main: waits for task 8 first to end, stack boot";
    assert_eq!(main.panicked, says);
    // It may go on at this moment.
    let [other] = others else {
        panic!("{}", asked.text);
    };
    let states = [": ready, stack task ", ": is about to run, stack task "];
    let is_there = states.iter().any(|state| other.panicked.contains(state));
    assert!(is_there, "{}", asked.text);
    let name = |line: &str| {
        line.split("stack task ")
            .nth(1)
            .and_then(|name| name.split(',').next())
            .map(str::to_owned)
    };
    assert_ne!(
        name(&runs.panicked),
        name(&other.panicked),
        "{}",
        asked.text
    );
}

fn no_vectors(kernel: Kernel) {
    let image = image(kernel);
    match kernel.arch {
        Arch::X86_64 => {
            let asked = ended(&image, "hang-no-vectors");
            assert_eq!(asked.ran.status, 1, "{}", asked.ran.words);
            let reason = "inspected by the runner, because the machine reset itself: ";
            assert!(asked.text.starts_with(reason), "{}", asked.text);
            let expected = functions(&["no_vectors"]);
            trace::expect(kernel, &asked.reports[0], &expected, "complete, ");
        }
        // The first exception overwrote where it came from.
        Arch::Aarch64 => {
            let asked = interrupted(&image, "hang-no-vectors", 1);
            let report = &asked.reports[0];
            assert_eq!(report.names()[0], "?", "{}", asked.text);
            assert!(!report.end.contains(" complete"), "{}", asked.text);
        }
    }
}

fn reset(kernel: Kernel) {
    let asked = ended(&image(kernel), "hang-reset");
    assert_eq!(asked.ran.status, 1, "{}", asked.ran.words);
    let reason = "inspected by the runner, because the machine reset itself: ";
    assert!(asked.text.starts_with(reason), "{}", asked.text);
    let report = &asked.reports[0];
    let expected = below_others(report, &["reset"]);
    trace::expect(kernel, report, &expected, "complete, ");
}
