//! Tasks: what each is doing, and who called it to do that.

use crate::support::boots::{Request, boot};
use crate::support::built::image;
use crate::support::calls::Calls;
use crate::support::each::kernel_tests;
use crate::support::report::Report;
use crate::support::{recursion, trace};
use qemu::build::Kernel;
use qemu::machine::Arch;

kernel_tests! { every_and_plain:
    each_task_is_reported_with_its_state_and_all_its_callers,
    a_deadlock_is_reported_with_the_holders_and_their_callers,
    a_lock_taken_twice_is_a_deadlock,
    a_panic_in_a_task_names_the_task,
    a_task_fills_its_stack,
}

kernel_tests! { every:
    a_task_on_another_cpu_is_reported_there,
}

kernel_tests! { every:
    tasks_run_on_all_cpus,
}

/// In a report of all tasks, and, when the kernel panics, in that of all CPUs.
fn a_task_on_another_cpu_is_reported_there(kernel: Kernel) {
    let ran = boot(kernel, "elsewhere").expect(101);
    let text = ran.text();
    let reports = Report::find_all(&ran.serial);
    let [this, idle, busy, panic, other] = &reports[..] else {
        panic!("{kernel:?}: not five reports in:\n{text}");
    };
    assert_eq!(this.panicked, "task main: runs on cpu 0, this one");
    assert_eq!(idle.panicked, "task main1: has nothing to do");
    let entry = match kernel.arch {
        Arch::X86_64 => "start_entry",
        Arch::Aarch64 => "start_high",
    };
    let waits = format!("= switch\nr {entry}");
    trace::expect_whole(kernel, idle, &waits, "complete, ");
    assert_eq!(busy.panicked, "task busy: runs on cpu 1, stopped there");
    expect_busy(kernel, busy);
    let words = ": the task on another CPU has not ended";
    assert!(panic.panicked.ends_with(words), "{text}");
    assert!(text.contains("\ncpu 0, task main, "), "{text}");
    let begin = "cpu 1, task busy, stopped at ";
    assert!(other.panicked.starts_with(begin), "{text}");
    expect_busy(kernel, other);
}

/// The task that is busy on the other CPU was stopped there; or the handler of a tick that had interrupted it was, or what the task
/// returns from behind that handler.
#[track_caller]
fn expect_busy(kernel: Kernel, report: &Report) {
    // On AArch64 a handler does not know at first that it is the timer: "IRQ, stack task busy". Behind the handler the task is on
    // its own stack again: "interrupted".
    const INTERRUPTED: [&str; 2] = [", stack task busy", "interrupted"];
    const TRACE: &str = "p bad_busy
                         r kernel::scenario::crowd::work";
    let behind = |end| report.interrupted_behind(end);
    match INTERRUPTED.into_iter().find_map(behind) {
        None => trace::expect_of_task(kernel, report, TRACE),
        Some(interrupted) => {
            Calls::of(&image(kernel)).check(report).expect("calls");
            let (_, words) = &interrupted.words[0];
            trace::expect_of_task(kernel, &interrupted, &format!("-- {words}\n{TRACE}"));
        }
    }
}

/// They spawn others and join them, sleep, and take a lock: none is lost, and no CPU is left out.
fn tasks_run_on_all_cpus(kernel: Kernel) {
    for cpus in [1, 4] {
        let ran = Request::of(&image(kernel), "crowd")
            .cpus(cpus)
            .run()
            .expect(0);
        let last = format!("180 child tasks ended, and {cpus} CPUs ran tasks\n");
        assert!(ran.text().ends_with(&last), "{kernel:?}: {}", ran.text());
    }
}

/// The tasks of scenario `tasks` that have callers: name, state and trace.
fn expected(arch: Arch) -> [(&'static str, &'static str, String); 6] {
    const DOOR: &str =
        "waits for lock door, which task main holds since kernel/src/scenario/tasks.rs:";
    let visit = |depth: usize| {
        let enter = "r kernel::scenario::tasks::enter\n".repeat(depth + 1);
        format!("= switch\n{enter}r~ kernel::scenario::tasks::visit")
    };
    let sleeper = "= switch
                   r kernel::scenario::tasks::rest::{closure#0}
                   r kernel::scenario::tasks::rest";
    let parent = "= switch
                  r kernel::scenario::tasks::bring_up";
    // The timer interrupted it, and its turn was over.
    let trap_code = match arch {
        Arch::X86_64 => "trap_entry",
        Arch::Aarch64 => "trap_preempted",
    };
    let busy = format!(
        "= switch
         r {trap_code}
         -- timer interrupt, stack task busy
         p bad_busy
         r kernel::scenario::tasks::work"
    );
    [
        ("visitor", DOOR, visit(3)),
        ("sleeper", "sleeps for ", sleeper.to_owned()),
        ("parent", "waits for task child to end", parent.to_owned()),
        ("busy", "ready to run", busy),
        ("child", DOOR, visit(2)),
        (
            "fresh",
            "ready to run",
            "p task_switch\nr task_begin".to_owned(),
        ),
    ]
}

fn each_task_is_reported_with_its_state_and_all_its_callers(kernel: Kernel) {
    let ran = boot(kernel, "tasks").expect(0);
    let mut reports = Report::find_all(&ran.serial).into_iter();
    let main = reports.next().expect("a report of main");
    assert_eq!(
        main.panicked, "task main: runs on cpu 0, this one",
        "{kernel:?}"
    );
    let trace = "= report
                 r kernel::scenario::tasks::run";
    trace::expect(kernel, &main, trace, "complete, ");
    for (name, state, trace) in expected(kernel.arch) {
        let report = reports
            .next()
            .unwrap_or_else(|| panic!("no report of {name}"));
        let first = format!("task {name}: {state}");
        assert!(
            report.panicked.starts_with(&first),
            "{kernel:?}: no {first:?} in:\n{}",
            report.text
        );
        match name {
            "fresh" => trace::expect_whole(kernel, &report, &trace, "complete, 2 frames"),
            _ => trace::expect_of_task(kernel, &report, &trace),
        }
    }
    assert!(
        reports.next().is_none(),
        "{kernel:?}: more than expected in:\n{}",
        ran.text()
    );
    let lines = [
        "8 tasks",
        "task brief: has ended",
        "3 spawned tasks took the lock `door`, and all spawned tasks have ended",
    ];
    for line in lines {
        assert!(
            ran.text().lines().any(|it| it == line),
            "{kernel:?}: no {line:?} in:\n{}",
            ran.text()
        );
    }
}

/// What a task panics in that would wait for itself, outwards.
const DEADLOCK: &str = "
    = panic
    = kernel
    r kernel::scenario::deadlock::wait_for
";

fn a_deadlock_is_reported_with_the_holders_and_their_callers(kernel: Kernel) {
    let ran = boot(kernel, "deadlock").expect(101);
    let reports = Report::find_all(&ran.serial);
    let [second, first] = &reports[..] else {
        panic!("{kernel:?}: not two reports in:\n{}", ran.text());
    };
    let file = "kernel/src/scenario/deadlock.rs:";
    let words = second.panicked.replace(file, "");
    let (_, words) = words.split_once(" deadlock: ").expect("a deadlock");
    let words = words.replace(|c: char| c.is_ascii_digit() || c == ':', "");
    assert_eq!(
        words,
        "task second waits for lock left, which task first holds since ; \
         task first waits for lock right, which task second holds since ",
    );
    assert!(
        ran.text().contains("\ncpu 0, task second, "),
        "{}",
        ran.text()
    );
    let trace = format!("{DEADLOCK} r~ kernel::scenario::deadlock::take_right");
    trace::expect_of_task(kernel, second, &trace);

    let state = "task first: waits for lock right, which task second holds since ";
    assert!(first.panicked.starts_with(state), "{}", first.panicked);
    let trace = "= switch
                 r kernel::scenario::deadlock::wait_for
                 r~ kernel::scenario::deadlock::take_left";
    trace::expect_of_task(kernel, first, trace);
}

fn a_lock_taken_twice_is_a_deadlock(kernel: Kernel) {
    let ran = boot(kernel, "lock-twice").expect(101);
    let report = Report::find(&ran.serial);
    let words = "deadlock: task main waits for lock left, which task main holds since \
                 kernel/src/scenario/deadlock.rs:";
    assert!(report.panicked.contains(words), "{}", report.panicked);
    let trace = format!("{DEADLOCK} r kernel::scenario::deadlock::twice");
    trace::expect(kernel, &report, &trace, "complete, ");
    assert_eq!(Report::find_all(&ran.serial).len(), 1, "{}", ran.text());
}

fn a_panic_in_a_task_names_the_task(kernel: Kernel) {
    let ran = boot(kernel, "panic-in-task").expect(101);
    assert!(
        ran.text().contains("\ncpu 0, task unlucky, "),
        "{}",
        ran.text()
    );
    let trace = "= panic
                 r kernel::scenario::deadlock::index
                 r~ kernel::scenario::deadlock::fail";
    trace::expect_of_task(kernel, &Report::find(&ran.serial), trace);
}

/// The two ends of the recursion, from the stack's guard pages to the task's begin.
fn a_task_fills_its_stack(kernel: Kernel) {
    let ran = boot(kernel, "task-overflow").expect(101);
    let report = Report::find(&ran.serial);
    let place = ", guard page of stack task endless";
    assert!(report.panicked.ends_with(place), "{}", report.panicked);
    recursion::expect_ends(&report);
    let (report, recursion) = recursion::from_recursion(report);
    let trace = format!("{recursion}\nr~ kernel::scenario::deadlock::fill");
    trace::expect_of_task(kernel, &report, &trace);
}
