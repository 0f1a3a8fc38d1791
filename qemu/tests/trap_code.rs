//! The trap code, instruction by instruction: the oracle compares the walk from each one with what the machine did.

use std::collections::BTreeSet;

use qemu::build::Kernel;
use qemu::machine::{Boot, Verdict};
use qemu::oracle::{Image, Plan};

use crate::oracle::{PLAN, followed};
use crate::support::each::kernel_tests;
use crate::support::report::Report;
use crate::support::{built, gdb};

kernel_tests! { one_aarch64:
    instructions_that_exceptions_execute_lead_to_what_was_interrupted,
}

kernel_tests! { aarch64:
    what_trap_code_interrupted_is_not_made_up_when_it_fails,
    a_breakpoint_that_cannot_return_ends_the_kernel,
}

kernel_tests! { one_x86_64:
    every_instruction_leads_to_what_was_interrupted_x86_64,
}

kernel_tests! { every:
    no_function_is_without_rows,
}

/// A scenario, the most boundaries of it, and how deep exceptions are nested when a handler makes way for the probe.
type Followed = (&'static str, u64, Option<u32>);

/// An exception that returns, and one in its handler, by the probe and by a kernel that fails; interrupts of leaves, of prologues
/// and of epilogues.
const BOTH: &[Followed] = &[
    ("breakpoint", 10_000, None),
    ("breakpoint", 10_000, Some(1)),
    ("exception-in-handler", 10_000, None),
    ("interrupted-places", 12_000, None),
];

/// A task that is interrupted goes on after others. No room on the stack of exceptions: for a frame, and in a handler whose stack
/// pointer is in no stack. An exception in the handler after that stays on the overflow stack, and returns.
const OF_AARCH64: &[Followed] = &[
    ("tasks", 12_000, None),
    ("double-fault", 20_000, None),
    ("stray-in-handler", 10_000, None),
    ("stray-in-handler", 10_000, Some(2)),
];

fn every_instruction_leads_to_what_was_interrupted_x86_64(kernel: Kernel) {
    let functions = ["exception_3", "exception_14", "trap_entry"];
    every_instruction_is_right(kernel, BOTH, &functions);
}

/// Without the vectors of interrupts, and without stacks that are full.
fn instructions_that_exceptions_execute_lead_to_what_was_interrupted(kernel: Kernel) {
    let functions = ["exception_0", "trap_entry", "trap_return_above"];
    every_instruction_is_right(kernel, &BOTH[..3], &functions);
}

#[long]
fn every_instruction_leads_to_what_was_interrupted_aarch64_debug() {
    of_aarch64(built::kernel("aarch64_debug"));
}

#[long]
fn every_instruction_leads_to_what_was_interrupted_aarch64_release() {
    of_aarch64(built::kernel("aarch64_release"));
}

fn of_aarch64(kernel: Kernel) {
    // Of the vectors, which are all alike, one of those that come from a thread, an interrupt's, and one of the others.
    let functions = [
        "exception_0",
        "exception_1",
        "exception_4",
        "exception_overflow_4",
        "trap_entry",
        "trap_preempted",
        "trap_return_above",
    ];
    every_instruction_is_right(kernel, &[BOTH, OF_AARCH64].concat(), &functions);
}

/// Follows the scenarios. Fails unless the list from each instruction is right, and the machine was at every instruction of
/// these functions.
fn every_instruction_is_right(kernel: Kernel, scenarios: &[Followed], functions: &[&str]) {
    let file = built::image(kernel);
    let image = Image::read(&file, kernel.arch).expect("the kernel's image");
    let mut seen = BTreeSet::new();
    for (scenario, boundaries, probe) in scenarios {
        let plan = Plan {
            boundaries: *boundaries,
            // Without a probe, no call is followed but those of handlers by trap code, and of functions that do not return. The probe
            // needs the way to its handler.
            visits: u32::from(probe.is_some()),
            probe: *probe,
            ..PLAN
        };
        let mut tally = followed(kernel, &image, &image.table, scenario, plan);
        assert_eq!(
            tally.ended == "stopped after the probe",
            probe.is_some(),
            "{kernel:?}: {tally}"
        );
        if probe.is_some() {
            // No call leads to the probe, which a walk sees.
            let told = (
                "the call before the return address does not call the frame's function",
                "postmortem_read".to_owned(),
            );
            tally.unexplained.remove(&told);
        }
        assert!(tally.is_right(), "{kernel:?}: {tally}");
        seen.extend(tally.seen);
    }
    for (name, instructions) in trap_code(&image) {
        let missing: Vec<_> = instructions
            .iter()
            .filter(|pc| !seen.contains(pc))
            .collect();
        let is_wanted = functions.contains(&&*name);
        assert!(
            !is_wanted || missing.is_empty(),
            "{kernel:?}, {name}: {missing:x?}"
        );
    }
}

/// The functions of trap code, each with its name and its instructions.
fn trap_code(image: &Image) -> Vec<(String, Vec<u64>)> {
    let functions = image.functions();
    let is_trap = |name: &str| name.starts_with("exception_") || name.starts_with("trap_");
    let trap = functions.filter(|(name, _)| is_trap(name));
    trap.map(|(name, range)| (name.to_owned(), image.instructions(range)))
        .collect()
}

/// No function of the kernels is left out of their tables, or has a place there without rows.
fn no_function_is_without_rows(kernel: Kernel) {
    let image = Image::read(&built::image(kernel), kernel.arch).expect("the kernel's image");
    let tables = image.tables(&image.table);
    let section = tables.first().expect("a table");
    for index in 0..section.function_count() {
        let function = section.function(index).expect("it lies in the table");
        // Where directives lie and the code does not tell, the link takes the rows out.
        if image.name(function.start()).starts_with("lie_") {
            continue;
        }
        assert_ne!(
            function.row_count(),
            0,
            "{kernel:?}: {:#x}",
            function.start()
        );
    }
    for (name, instructions) in trap_code(&image) {
        for pc in instructions {
            let found = tables.lookup(pc);
            let (function, _) = found.unwrap_or_else(|why| panic!("{kernel:?}, {name}: {why}"));
            assert!(function.is_signal_frame(), "{kernel:?}, {name}");
        }
    }
}

/// A vector fails: the exception that this is overwrites ELR_EL1, by which alone it is known what the vector interrupted. The
/// stack pointer is one that the second vector takes to the overflow stack.
fn what_trap_code_interrupted_is_not_made_up_when_it_fails(kernel: Kernel) {
    let image = built::image(kernel);
    let commands = [
        "set language c",
        "maintenance set dwarf unwinders off",
        "break *&exception_0",
        "continue",
        "set $sp = 0x4343c340",
        "delete",
        "continue",
    ];
    let session = gdb::session(Boot::new(kernel.arch, &image, "breakpoint"), commands);
    session.expect_stop();
    let booted = session.booted;
    assert_eq!(booted.verdict, Verdict::Panicked);
    let report = Report::find(&booted.serial);
    let words = "no space left on the stack: data abort: write to ";
    assert!(report.panicked.contains(words), "{}", report.text);
    let [frame] = &report.frames[..] else {
        panic!("{}", report.text);
    };
    let name = frame.name.as_deref();
    assert_eq!(
        (frame.letter, name),
        ('p', Some("exception_0")),
        "{}",
        report.text
    );
    let end = "end of backtrace: incomplete: the unwind row needs a register whose value is unknown: register SP_EL0";
    assert!(report.end.starts_with(end), "{}", report.text);
}

/// In a handler whose stack pointer is lost. The frame is on the overflow stack, from which nothing can return.
fn a_breakpoint_that_cannot_return_ends_the_kernel(kernel: Kernel) {
    let image = built::image(kernel);
    let commands = [
        "set language c",
        "maintenance set dwarf unwinders off",
        "break *&exception_0",
        "continue",
        "set $sp = 0x4343c340",
        "set $pc = $ELR_EL1",
        "delete",
        "continue",
    ];
    let booted = gdb::session(Boot::new(kernel.arch, &image, "breakpoint"), commands).booted;
    assert_eq!(booted.verdict, Verdict::Panicked);
    let report = Report::find(&booted.serial);
    let words = ": no space left on the stack: breakpoint 0x0";
    assert!(
        report.panicked.starts_with("fault on cpu 0 at "),
        "{}",
        report.text
    );
    assert!(report.panicked.ends_with(words), "{}", report.text);
}
