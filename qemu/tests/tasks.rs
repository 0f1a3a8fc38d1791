//! Tasks: what each is doing, and who called it to do that.

mod support;

use qemu::build::Kernel;
use qemu::machine::Arch;
use support::built::{every_kernel, image};
use support::report::Report;
use support::runner::{Ran, run};
use support::trace;

fn boot(kernel: Kernel, scenario: &str) -> Ran {
    run([
        "--image".as_ref(),
        image(kernel).as_os_str(),
        scenario.as_ref(),
    ])
}

/// From where a task gave up its processor, outwards.
const SWITCHED: &str = "
    p task_switch
    r~ kernel::task::schedule::go_on
    r~ kernel::task::schedule::leave
";

/// What a task waits in that wants a lock, outwards.
const LOCK: &str = "
    r~ kernel::task::schedule::wait_for_lock
    r~ kernel::lock::Lock::lock
";

/// From where the timer interrupted a task and its turn was over, outwards to what was interrupted.
fn preempted(arch: Arch) -> String {
    let ways = match arch {
        Arch::X86_64 => {
            "r~ kernel::arch::x86_64::interrupts::handle_on_stack
             r~ kernel::arch::x86_64::trap::exception
             r trap_entry"
        }
        Arch::Aarch64 => {
            "r~ kernel::arch::aarch64::trap::preempted
             r trap_preempted"
        }
    };
    format!(
        "{SWITCHED}
         r~ kernel::task::schedule::give_way
         r~ kernel::task::schedule::preempt
         {ways}
         -- timer interrupt, stack task busy"
    )
}

/// The tasks of scenario `tasks` that have callers: name, state and trace.
fn expected(arch: Arch) -> [(&'static str, &'static str, String); 6] {
    const DOOR: &str =
        "waits for lock door, which task main holds since kernel/src/scenario/tasks.rs:";
    let visit = |depth: usize| {
        let enter = "r kernel::scenario::tasks::enter\n".repeat(depth + 1);
        format!("{SWITCHED}{LOCK}{enter}r~ kernel::scenario::tasks::visit")
    };
    let sleeper = "r~ kernel::task::schedule::sleep
                   r kernel::scenario::tasks::rest::{closure#0}
                   r kernel::scenario::tasks::rest";
    let parent = "r~ kernel::task::Handle::join
                  r kernel::scenario::tasks::bring_up";
    let busy = "p bad_busy
                r kernel::scenario::tasks::work";
    let switched = |trace| format!("{SWITCHED}{trace}");
    [
        ("visitor", DOOR, visit(3)),
        ("sleeper", "sleeps for ", switched(sleeper)),
        ("parent", "waits for task child to end", switched(parent)),
        ("busy", "ready to run", preempted(arch) + "\n" + busy),
        ("child", DOOR, visit(2)),
        (
            "fresh",
            "ready to run",
            "p task_switch\nr task_begin".to_owned(),
        ),
    ]
}

#[test]
fn each_task_is_reported_with_its_state_and_all_its_callers() {
    for kernel in every_kernel() {
        let ran = boot(kernel, "tasks").expect(0);
        let mut reports = Report::find_all(&ran.serial).into_iter();
        let main = reports.next().expect("a report of main");
        assert_eq!(main.panicked, "task main: runs on cpu 0", "{kernel:?}");
        let trace = "p kernel::task::dump::dump
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
            "3 visitors came, and all tasks have ended",
        ];
        for line in lines {
            assert!(
                ran.text().lines().any(|it| it == line),
                "{kernel:?}: no {line:?} in:\n{}",
                ran.text()
            );
        }
    }
}
