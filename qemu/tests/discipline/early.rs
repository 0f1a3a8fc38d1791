//! Before the kernel is up.

use super::*;

kernel_tests! { every_and_plain:
    a_panic_before_anything_is_set_up_is_reported,
    an_exception_before_anything_is_set_up_is_reported,
    an_allocation_before_there_is_a_heap_is_reported,
    a_panic_instead_of_the_first_instruction_is_reported,
}

/// Fails unless these are the callers, with nothing but the kernel's entry below them: it has not come to its scenarios.
#[track_caller]
fn early(kernel: Kernel, report: &Report, callers: &str) {
    let whole = format!(
        "{callers}
         r~ kernel::scenario::early::run
         = entry"
    );
    trace::expect_whole(kernel, report, &whole, "complete, ");
}

fn a_panic_before_anything_is_set_up_is_reported(kernel: Kernel) {
    let ran = boot(kernel, "early-panic").expect(101);
    let report = Report::find(&ran.serial);
    assert!(
        ran.text().starts_with("panicked at "),
        "nothing came before:\n{}",
        ran.text()
    );
    assert!(
        report
            .panicked
            .ends_with(": panic before the console, the page tables and the heap are set up"),
        "{}",
        report.panicked
    );
    let callers = "= panic
                   r kernel::scenario::early::panic";
    early(kernel, &report, callers);
}

fn an_exception_before_anything_is_set_up_is_reported(kernel: Kernel) {
    let ran = boot(kernel, "early-exception").expect(101);
    let report = Report::find(&ran.serial);
    assert!(
        report.panicked.starts_with("fault on cpu 0 at "),
        "{}",
        report.panicked
    );
    early(kernel, &report, "p kernel::scenario::early::exception");
}

fn an_allocation_before_there_is_a_heap_is_reported(kernel: Kernel) {
    let report = Report::find(&boot(kernel, "no-heap").expect(101).serial);
    let words = ": memory allocation of 100 bytes failed";
    assert!(report.panicked.ends_with(words), "{}", report.panicked);
    let callers = "= panic
                   r kernel::scenario::early::allocation";
    early(kernel, &report, callers);
}

/// A copy of the image in which the first function of Rust begins with a jump to one that panics. Nothing else tells the
/// kernel what to do so early.
fn a_panic_instead_of_the_first_instruction_is_reported(kernel: Kernel) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let image = corrupt::with_jump(
        &image(kernel),
        folder.path(),
        "AT_MAIN",
        "kernel::scenario::early::panic",
    );
    let ran = boot_image(&image, "").expect(101);
    let report = Report::find(&ran.serial);
    let callers = "= panic
                   r kernel::scenario::early::panic
                   r kernel_entry";
    trace::expect_in(&image, kernel, &report, callers, "complete, ");
}
