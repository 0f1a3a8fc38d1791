//! The trap code, instruction by instruction: from each one the walk must lead to what was interrupted, as it does from what the
//! processor keeps of it when the exception comes, and from where the processor goes on when it returns.

mod image;
mod passages;
mod steps;

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::each::kernel_tests;
use crate::support::report::Report;
use crate::support::{built, gdb};
use image::Image;
use qemu::build::Kernel;
use qemu::machine::{Arch, Boot, Verdict};
use steps::{Kept, Steps};

kernel_tests! { aarch64:
    every_instruction_leads_to_what_was_interrupted_aarch64,
    what_trap_code_interrupted_is_not_made_up_when_it_fails,
    a_breakpoint_that_cannot_return_ends_the_kernel,
}

kernel_tests! { x86_64:
    every_instruction_leads_to_what_was_interrupted_x86_64,
}

kernel_tests! { every:
    no_function_is_without_rows,
}

const KIB: u64 = 1024;

/// The stacks of the kernel that are looked at.
const BOOT: Kept = Kept {
    name: "STACKS_BOOT",
    count: 1,
    bytes: 16 * KIB,
};
const EXCEPTION: Kept = Kept {
    name: "STACKS_EXCEPTION",
    count: 1,
    bytes: 32 * KIB,
};
const OVERFLOW: Kept = Kept {
    name: "STACKS_OVERFLOW",
    ..EXCEPTION
};
const INTERRUPT: Kept = Kept {
    name: "STACKS_INTERRUPT",
    ..EXCEPTION
};
const TASKS: Kept = Kept {
    name: "STACKS_TASK",
    count: 16,
    bytes: 4 * KIB,
};

/// An exception that returns, and in its handler another one, once.
fn breakpoint(arch: Arch) -> Steps {
    Steps {
        scenario: "breakpoint",
        count: 6,
        depth: 1,
        stacks: of(arch, []),
        in_doubt: false,
        last: "continue",
    }
}

/// Interrupts of leaves, of prologues, of epilogues.
fn places(arch: Arch) -> Steps {
    Steps {
        scenario: "interrupted-places",
        count: 60,
        depth: 0,
        stacks: of(arch, []),
        // One place is in a function without rules.
        in_doubt: true,
        last: "kill",
    }
}

/// A task that is interrupted goes on much later, after others.
fn tasks(arch: Arch) -> Steps {
    Steps {
        scenario: "tasks",
        count: 30,
        depth: 0,
        stacks: of(arch, [TASKS]),
        in_doubt: false,
        last: "kill",
    }
}

/// No room on the stack of exceptions; and in the handler another exception, which stays on the overflow stack, and returns.
fn no_room(arch: Arch) -> Steps {
    Steps {
        scenario: "double-fault",
        count: 4,
        depth: 2,
        stacks: of(arch, [OVERFLOW]),
        in_doubt: false,
        last: "kill",
    }
}

/// The stack pointer of a handler is in no stack.
fn stray(arch: Arch) -> Steps {
    Steps {
        scenario: "stray-in-handler",
        in_doubt: true,
        ..no_room(arch)
    }
}

fn of<const COUNT: usize>(arch: Arch, more: [Kept; COUNT]) -> Vec<Kept> {
    let exceptions = match arch {
        Arch::X86_64 => INTERRUPT,
        Arch::Aarch64 => EXCEPTION,
    };
    [BOOT, exceptions].into_iter().chain(more).collect()
}

fn every_instruction_leads_to_what_was_interrupted_x86_64(kernel: Kernel) {
    let path = built::image(kernel);
    let image = Image::read(&path);
    let mut seen = Seen::default();
    for what in [breakpoint, places] {
        seen.run(kernel, &path, &image, &what(kernel.arch));
    }
    seen.expect_all_of(&image, &["exception_3", "exception_14", "trap_entry"]);
}

fn every_instruction_leads_to_what_was_interrupted_aarch64(kernel: Kernel) {
    let path = built::image(kernel);
    let image = Image::read(&path);
    let mut seen = Seen::default();
    for what in [breakpoint, places, tasks, no_room, stray] {
        seen.run(kernel, &path, &image, &what(kernel.arch));
    }
    // Of the vectors, which are all alike, one of those that come from a thread, an interrupt's, and one of the others.
    seen.expect_all_of(
        &image,
        &[
            "exception_0",
            "exception_1",
            "exception_4",
            "exception_overflow_4",
            "trap_entry",
            "trap_preempted",
            "trap_return_above",
        ],
    );
}

/// No function of the kernels is left out of their tables, or has a place there without rows.
fn no_function_is_without_rows(kernel: Kernel) {
    let image = Image::read(&built::image(kernel));
    let section = image.tables().first().expect("a table");
    for index in 0..section.function_count() {
        let function = section.function(index).expect("it lies in the table");
        // Where directives lie and the code does not tell, the link takes the rows out.
        if image.name_at(function.start()).starts_with("lie_") {
            continue;
        }
        assert_ne!(
            function.row_count(),
            0,
            "{kernel:?}: {:#x}",
            function.start()
        );
    }
    for (name, start, end) in &image.trap {
        for pc in *start..*end {
            let found = image.tables().lookup(pc);
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
    let words = "no room on the stack: data abort: write to ";
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
    let end = "end of backtrace: incomplete: a rule needs register SP_EL0, which is not known here";
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
    let words = ": no room on the stack: breakpoint 0x1";
    assert!(
        report.panicked.starts_with("fault on cpu 0 at "),
        "{}",
        report.text
    );
    assert!(report.panicked.ends_with(words), "{}", report.text);
}

/// The instructions that gdb has stepped over.
#[derive(Default)]
struct Seen(BTreeSet<u64>);

impl Seen {
    fn run(&mut self, kernel: Kernel, path: &Path, image: &Image, what: &Steps) {
        let (steps, session) = steps::run(kernel, path, image, what);
        let context = format!("{kernel:?}, {}", what.scenario);
        let said = || {
            let said = session.said.lines();
            let said = said.filter(|line| !line.starts_with("words "));
            let said = said.collect::<Vec<_>>().join("\n");
            format!("{context}: gdb said:\n{said}\n{}", session.complained)
        };
        if what.last == "continue" {
            assert_eq!(session.booted.verdict, Verdict::Success, "{}", said());
        }
        let [passages, complete] = passages::check(image, &steps, &context);
        assert!(passages > 2, "{passages} passages, {}", said());
        assert!(
            complete == passages || what.in_doubt,
            "{complete} of {passages} complete, {}",
            said()
        );
        self.0.extend(steps.iter().map(|step| step.pc));
    }

    /// Fails unless gdb was at every instruction of these functions.
    #[track_caller]
    fn expect_all_of(&self, image: &Image, functions: &[&str]) {
        for name in functions {
            let function = image.trap.iter().find(|(known, ..)| known == name);
            let (_, start, end) = function.unwrap_or_else(|| panic!("no {name}"));
            // Those of x86-64 begin anywhere; gdb leaves none out between the first one and where it is elsewhere.
            let step = if image.is_arm { 4 } else { usize::MAX };
            let missing = (*start..*end).step_by(step).find(|pc| !self.0.contains(pc));
            assert_eq!(missing, None, "{name}");
        }
    }
}
