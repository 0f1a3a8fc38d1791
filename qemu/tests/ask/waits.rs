//! Hangs of the kernel: waits for what does not come, and handlers that do not come to an end.

use qemu::build::Kernel;
use qemu::machine::Arch;

use super::asked::{Asked, interrupted};
use super::lists::{SCENARIO, below_others, expect_count, expect_through, functions};
use crate::support::built::image;
use crate::support::each::kernel_tests;
use crate::support::trace;

kernel_tests! { every_in_long:
    device,
    joins,
    sleep,
    nmis,
    nested,
    message,
    system_call,
}

fn device(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-device", 1);
    expect_count(&asked, 1);
    let expected = below_others(&asked.reports[0], &["waits::device"]);
    trace::expect(kernel, &asked.reports[0], &expected, "complete, ");
}

/// Fails unless `main` has let its CPU go, and these tasks wait: what for, and the function of the scenario that does.
#[track_caller]
fn expect_waiting(kernel: Kernel, asked: &Asked, main: &str, tasks: &[(&str, &str)]) {
    expect_count(asked, 1 + tasks.len());
    expect_through(asked, &asked.reports[0], main, "kernel_entry");
    for (report, (says, function)) in asked.reports[1..].iter().zip(tasks) {
        assert!(report.panicked.starts_with(says), "{}", report.panicked);
        let waits = format!("= switch\nr {SCENARIO}{function}\n");
        trace::expect_of_task(kernel, report, &waits);
    }
}

fn joins(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-joins", 1);
    let holder = "task 8 holder: waits for task 9 user to end, stack task holder";
    let user = "task 9 user: waits for lock ledger, which task 8 holder holds, stack task user";
    let tasks = [(holder, "waits::hold_and_join"), (user, "waits::want")];
    expect_waiting(kernel, &asked, "waits::joins", &tasks);
}

fn sleep(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-sleep", 1);
    // The latest that a task's state has room for.
    let sleeper = "task 8 sleeper: sleeps until tick 72057594037927935, stack task sleeper";
    let tasks = [(sleeper, "waits::sleep_for_ever")];
    expect_waiting(kernel, &asked, "waits::sleep", &tasks);
}

/// Whatever it was doing.
fn nmis(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-nmis", 1);
    expect_count(&asked, 1);
    expect_through(&asked, &asked.reports[0], "waits::nmis", "kernel_entry");
}

fn nested(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-nested", 1);
    expect_count(&asked, 1);
    let handler = functions(&["spin", "waits::stay_in_second"]);
    let interrupted = functions(&["spin", "waits::nested"]);
    let stack = match kernel.arch {
        Arch::X86_64 => "interrupt",
        Arch::Aarch64 => "exception",
    };
    let expected = format!(
        "{handler}= trap\n-- interrupted, stack {stack}\n{handler}= trap\n-- interrupted, stack boot\n{interrupted}"
    );
    trace::expect(kernel, &asked.reports[0], &expected, "complete, ");
}

fn message(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-message", 1);
    expect_count(&asked, 1);
    let expected = format!(
        "p {SCENARIO}spin
        r <{SCENARIO}waits::Endless as core::fmt::Display>::fmt
        = kernel
        r __rustc::rust_begin_unwind
        = kernel
        r {SCENARIO}waits::message"
    );
    trace::expect(kernel, &asked.reports[0], &expected, "complete, ");
}

/// The user's part of it is one address, behind the instruction that calls.
fn system_call(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-system-call", 1);
    expect_count(&asked, 1);
    let spins = functions(&["spin", "waits::stay_in_call"]);
    let expected = format!("{spins}r kernel::user::called\n= trap\n-- interrupted\np -");
    let behind = match kernel.arch {
        Arch::X86_64 => "0x0000000000400002",
        Arch::Aarch64 => "0x0000000000400004",
    };
    let end = format!("user code reached at {behind}, complete for the kernel, ");
    trace::expect_whole(kernel, &asked.reports[0], &expected, &end);
}
