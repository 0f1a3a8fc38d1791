//! Hangs of the kernel: locks that nobody gives back, and CPUs that wait for each other.

use qemu::build::Kernel;

use super::asked::interrupted;
use super::lists::{SCENARIO, below_others, expect_count, expect_two, functions};
use crate::support::built::image;
use crate::support::each::kernel_tests;
use crate::support::trace;

kernel_tests! { every:
    rendezvous,
}
kernel_tests! { every_in_long:
    twice,
    in_interrupt,
    in_nmi,
    after_you,
}

/// A CPU in the loop of assembly that others wait for, below this function of the scenario.
fn stays(function: &str) -> String {
    format!("p bad_loop\nr {SCENARIO}locks::stay\nr {SCENARIO}locks::{function}\n= cpu")
}

fn twice(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-lock-twice", 1);
    expect_count(&asked, 1);
    let expected = below_others(&asked.reports[0], &["locks::twice"]);
    trace::expect(kernel, &asked.reports[0], &expected, "complete, ");
}

fn in_interrupt(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-lock-in-interrupt", 1);
    expect_count(&asked, 1);
    let handler = below_others(&asked.reports[0], &["locks::take_in_tick"]);
    let interrupted = functions(&["spin", "locks::in_interrupt"]);
    let expected = format!("{handler}= trap\n-- interrupted, stack boot\n{interrupted}");
    trace::expect(kernel, &asked.reports[0], &expected, "complete, ");
}

fn in_nmi(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-lock-in-nmi", 2);
    expect_count(&asked, 2);
    let expected = functions(&["spin", "locks::in_nmi"]);
    trace::expect(kernel, &asked.reports[0], &expected, "complete, ");
    let handler = below_others(&asked.reports[1], &["locks::take_in_nmi"]);
    let interrupted = stays("hold");
    let expected = format!("{handler}= trap\n-- interrupted, stack boot\n{interrupted}");
    trace::expect_whole(kernel, &asked.reports[1], &expected, "complete, ");
}

fn rendezvous(kernel: Kernel) {
    let asked = interrupted(&image(kernel), "hang-rendezvous", 2);
    expect_count(&asked, 2);
    let [first, other] = [0, 1].map(|cpu| &asked.reports[cpu]);
    let expected = below_others(first, &["locks::rendezvous"]);
    trace::expect(kernel, first, &expected, "complete, ");
    trace::expect_whole(kernel, other, &stays("never_answer"), "complete, ");
    let says = ", stack boot, interrupts masked";
    assert!(other.panicked.ends_with(says), "{}", other.panicked);
    assert!(!first.panicked.contains("masked"), "{}", first.panicked);
}

fn after_you(kernel: Kernel) {
    let first = ["locks::let_go_first", "locks::after_you"];
    expect_two(kernel, "hang-after-you", &first, "locks::let_go_first");
}
