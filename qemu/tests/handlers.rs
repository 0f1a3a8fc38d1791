//! Handlers of the calling convention `x86-interrupt`, which compilers describe as if they were called: a trace crosses
//! them to what was interrupted, without a changed line in the kernel.

mod steps;

use std::fs;
use std::path::PathBuf;

use crate::guide::builds;
use crate::support::boots::boot_image;
use crate::support::built;
use crate::support::each::kernel_tests;
use crate::support::memo::Memo;
use crate::support::report::Report;
use crate::support::trace;
use qemu::build::{Kernel, Profile};

kernel_tests! { x86_64_and_plain:
    a_trace_crosses_handlers_that_the_compiler_makes,
    every_instruction_of_a_handler_leads_to_what_was_interrupted,
}

/// Where all begins.
const BEGIN: &str = "
    r main
    r long_mode
";

/// What each report of a boot has, in order.
const TRACES: [&str; 4] = [
    // A handler that returns, without an error code
    "p handlers::interrupts::breakpoint
     -- interrupted
     p handlers::stop",
    // and in the handler of another exception, which has one.
    "p handlers::interrupts::breakpoint
     -- interrupted
     p handlers::interrupts::look_closer
     r handlers::interrupts::page_fault
     -- interrupted
     p handlers::read",
    "p handlers::interrupts::page_fault
     -- interrupted
     p handlers::read",
    // One that does not return, on a stack of its own
    "= panic
     r handlers::interrupts::double_fault
     -- interrupted
     p handlers::fail_twice",
];

/// The kernel. `Profile::Plain` has frame pointers, and no unwind tables at all.
fn image(kernel: Kernel) -> PathBuf {
    static BUILT: Memo<Kernel, PathBuf> = Memo::new();
    built::once(&BUILT, kernel, |_| {
        let outside = builds::outside("handlers_alone");
        outside.name_repository("Cargo.toml");
        let mut place = "handlers";
        if kernel.profile == Profile::Plain {
            place = "handlers-plain";
            let path = outside.folder().join(".cargo/config.toml");
            let config = fs::read_to_string(&path).expect("the file is there");
            let (tables, pointers) = ("-Cforce-unwind-tables=yes", "-Cforce-frame-pointers=yes");
            assert!(config.contains(tables), "{config}");
            fs::write(path, config.replace(tables, pointers)).expect("the file can be written");
        }
        outside.build(kernel.arch, place, kernel.profile, "handlers")
    })
}

fn a_trace_crosses_handlers_that_the_compiler_makes(kernel: Kernel) {
    let image = image(kernel);
    let ran = boot_image(&image, "").expect(101);
    let text = ran.text();
    // The handlers return to where they were called from, so the callers are those that are expected.
    for line in ["went on, with 45", "went on, with 0x7000000000"] {
        assert!(text.contains(line), "no {line:?} in:\n{text}");
    }
    let reports = Report::find_all(&ran.serial);
    assert_eq!(reports.len(), TRACES.len(), "{kernel:?}: in:\n{text}");
    for (report, expected) in reports.iter().zip(TRACES) {
        let expected = format!("{expected}{BEGIN}");
        // Nothing in the code of a handler that never returns shows how it is entered: the stack does.
        trace::expect_in(&image, kernel, report, &expected, "complete, ");
    }
}

/// From its first byte to its `iretq`, whatever it calls in between.
fn every_instruction_of_a_handler_leads_to_what_was_interrupted(kernel: Kernel) {
    let passages = steps::run(&image(kernel));
    let seen = passages
        .iter()
        .map(|passage| (passage.handler, passage.returned));
    let expected = [
        ("breakpoint", true),
        ("breakpoint", true),
        ("page_fault", true),
        ("double_fault", false),
    ];
    assert_eq!(seen.collect::<Vec<_>>(), expected, "{kernel:?}");
    for passage in &passages {
        // Nine registers are saved, and those of a handler that returns restored.
        let least = if passage.returned { 20 } else { 10 };
        assert!(passage.steps > least, "{kernel:?}: {passage:?}");
        // Only the end of `page_fault`, after its store, is unproven.
        assert!(
            passage.unproven * 2 < passage.steps,
            "{kernel:?}: {passage:?}"
        );
    }
}
