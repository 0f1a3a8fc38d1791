//! Handlers of the calling convention `x86-interrupt`, which compilers describe as if they were called: a trace crosses
//! them to what was interrupted, without a changed line in the kernel.

mod support;

use std::fs;

use qemu::build::Kernel;
use qemu::workspace;
use support::each::kernel_tests;
use support::outside::Outside;
use support::report::Report;
use support::runner::run;
use support::trace;

kernel_tests! { x86_64:
    a_trace_crosses_handlers_that_the_compiler_makes,
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

fn a_trace_crosses_handlers_that_the_compiler_makes(kernel: Kernel) {
    let outside = Outside::copy("qemu/tests/handlers/kernel");
    outside.name_repository("Cargo.toml");
    let root = workspace::root();
    let serial = root.join("qemu/tests/guide/kernel/src/serial.rs");
    fs::copy(serial, outside.folder().join("src/serial.rs")).expect("a file can be copied");
    let image = outside.build(kernel.arch, "handlers", kernel.profile, "handlers");
    let ran = run(["--image".as_ref(), image.as_os_str()]).expect(101);
    let text = ran.text();
    // The handlers return to where they were called from, so the callers are those that are expected.
    for line in ["went on, with 45", "went on, with 0x7000000000"] {
        assert!(text.contains(line), "no {line:?} in:\n{text}");
    }
    let reports = Report::find_all(&ran.serial);
    assert_eq!(reports.len(), TRACES.len(), "{kernel:?}: in:\n{text}");
    for (report, expected) in reports.iter().zip(TRACES) {
        let expected = format!("{expected}{BEGIN}");
        trace::expect_in(&image, kernel, report, &expected, "complete, ");
    }
}
