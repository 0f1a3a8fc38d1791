//! Interrupts of the timer: the whole trace from the handler, on its own stack, over what was interrupted, to the begin.

use crate::support::boots::boot;
use crate::support::each::kernel_tests;
use crate::support::report::Report;
use crate::support::trace;
use qemu::build::Kernel;
use qemu::machine::Arch;

kernel_tests! { every_and_plain:
    a_panic_in_the_handler,
    an_interrupt_in_the_handler_of_another,
    an_interrupt_at_each_hard_place,
}

/// From the scenario's handler outwards to what was interrupted: that ran on this stack.
fn interrupted(stack: &str) -> String {
    format!("= trap\n-- timer interrupt, stack {stack}\n")
}

/// What the handler of a scenario does, outwards.
fn panics_in(scenario: &str) -> String {
    let handler = handler_of(scenario);
    format!("= panic\nr kernel::scenario::timer::index\n{handler}")
}

fn handler_of(scenario: &str) -> String {
    format!("r~ kernel::scenario::timer::{scenario}::{{closure#0}}\n")
}

const BUSY: &str = "
    p bad_busy
    r kernel::scenario::timer::work
";

fn a_panic_in_the_handler(kernel: Kernel) {
    let ran = boot(kernel, "panic-in-timer").expect(101);
    let trace = [
        panics_in("panic_in_handler"),
        interrupted("boot"),
        BUSY.to_owned(),
        "r kernel::scenario::timer::panic_in_handler".to_owned(),
    ];
    let report = Report::find(&ran.serial);
    trace::expect(kernel, &report, &trace.concat(), "complete, ");
}

fn an_interrupt_in_the_handler_of_another(kernel: Kernel) {
    let ran = boot(kernel, "interrupt-in-interrupt").expect(101);
    let stack = match kernel.arch {
        Arch::X86_64 => "irq",
        Arch::Aarch64 => "exception",
    };
    let scenario = "interrupt_in_interrupt";
    let trace = [
        panics_in(scenario),
        interrupted(stack),
        BUSY.to_owned(),
        handler_of(scenario),
        interrupted("boot"),
        BUSY.to_owned(),
        format!("r kernel::scenario::timer::{scenario}"),
    ];
    let report = Report::find(&ran.serial);
    trace::expect(kernel, &report, &trace.concat(), "complete, ");
}

/// The hard places, from the instruction that was interrupted outwards to the function that [`in_scenario`] calls.
const PLACES: [(&str, &str); 10] = [
    ("first_instruction", "p stay_first"),
    ("leaf", "p stay_leaf"),
    ("prologue", "p stay_prologue"),
    ("epilogue", "p stay_epilogue"),
    // The function that ended with a jump has no frame any more.
    ("tail_call", "p stay_first"),
    ("variable_frame", "p stay_first\nr stay_variable_frame"),
    (
        "realigned_frame",
        "p kernel::scenario::timer::realigned_frame",
    ),
    (
        "asm_with_rules",
        "p kernel::scenario::timer::stay\nr with_rules",
    ),
    (
        "asm_without_rules",
        "p kernel::scenario::timer::stay\nr without_rules",
    ),
    ("last_call", "p stay_first\nr stay_last_call"),
];

fn an_interrupt_at_each_hard_place(kernel: Kernel) {
    let ran = boot(kernel, "interrupted-places").expect(0);
    let reports = Report::find_all(&ran.serial);
    assert_eq!(
        reports.len(),
        PLACES.len(),
        "{kernel:?} in:\n{}",
        ran.text()
    );
    for (report, (place, at)) in reports.iter().zip(PLACES) {
        let address = report
            .frames
            .iter()
            .filter(|frame| frame.letter == 'p')
            .nth(1);
        let address = address.expect("a frame that was interrupted").address;
        let first = format!("interrupted on cpu 0 at {address:#018x}: timer interrupt");
        assert_eq!(report.panicked, first, "{kernel:?}");
        let interrupted = interrupted("boot");
        let handler = "p kernel::scenario::timer::report_place\n";
        // That one has a frame of its own in the place itself.
        let caller = match place {
            "realigned_frame" => String::new(),
            _ => format!("r kernel::scenario::timer::{place}\n"),
        };
        let rest = "r kernel::scenario::timer::places";
        let trace = format!("{handler}{interrupted}{at}\n{caller}{rest}");
        trace::expect(kernel, report, &trace, "complete, ");
    }
}
