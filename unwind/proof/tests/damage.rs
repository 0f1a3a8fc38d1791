//! Damage, compared with the truth: the kernels that this repository builds are stopped in the middle of a report; their code,
//! tables and stacks are damaged in every way; and no walk calls another list complete than the one without damage.
//!
//! A walk is used as a kernel uses it: tables are verified, the result is handed to the walk, code and stacks are declared. The
//! closure that reads the stacks panics on a read outside of them or one that is not aligned.
//!
//! `cargo test` tries a part, the same in every run. `cargo test --test long_proofs damage::` tries all of it.

mod capture;
mod cases;
mod earlier;
mod history;
mod pointers;
mod tally;
mod walk;

use crate::support::each::kernel_tests;
use capture::Situation;
use cases::Part;
use qemu::build::Kernel;

/// A panic: calls, closures, a `dyn` call; and an exception in the handler of another.
const SCENARIOS: [&str; 2] = ["panic", "exception-in-handler"];

/// A panic in a task, on a stack of its own. Damage of tables is no other there.
fn in_task(kernel: Kernel) -> Situation {
    Situation::capture(kernel, "panic-in-task", 2)
}

kernel_tests! { one_each:
    no_wrong_list_is_complete,
}

kernel_tests! { every_in_long:
    all_of_it,
    lists_are_found_in_the_run_that_they_are_of,
}

/// A part of all damage.
fn no_wrong_list_is_complete(kernel: Kernel) {
    let mut possible = cases::try_stacks(&in_task(kernel), Part::Sample);
    for scenario in SCENARIOS {
        let situation = Situation::capture(kernel, scenario, 0);
        possible += cases::try_all(&situation, Part::Sample);
        pointers::try_all(&situation);
    }
    expect_other_lists(kernel, possible);
}

/// All of it.
fn all_of_it(kernel: Kernel) {
    let mut possible = cases::try_stacks(&in_task(kernel), Part::All);
    for scenario in SCENARIOS {
        possible += cases::try_all(&Situation::capture(kernel, scenario, 0), Part::All);
    }
    expect_other_lists(kernel, possible);
}

/// What excuses the list of a wild stack pointer can tell lists that were from others.
fn lists_are_found_in_the_run_that_they_are_of(kernel: Kernel) {
    for scenario in SCENARIOS {
        pointers::find_truth(&Situation::capture(kernel, scenario, 0));
    }
}

/// Other lists are seen, and only their explanation makes them possible ones.
#[track_caller]
fn expect_other_lists(kernel: Kernel, possible: u64) {
    assert!(possible > 0, "{kernel:?}: no other list");
}
