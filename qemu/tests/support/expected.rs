//! Which functions a report of each scenario must name.

use qemu::build::Kernel;

/// A function that must be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// Has a frame of its own in every build.
    Always(&'static str),
    /// An optimizing compiler may make it part of its caller.
    UnlessInlined(&'static str),
}

use Callee::{Always, UnlessInlined};

const HANDLER: Callee = Always("__rustc::rust_begin_unwind");
const PANIC_FMT: Callee = Always("core::panicking::panic_fmt");

/// Below every scenario, innermost first.
const KERNEL: [Callee; 3] = [
    UnlessInlined("kernel::scenario::run"),
    UnlessInlined("kernel::kernel_main"),
    Always("kernel_entry"),
];

/// The frames of scenario `panic`.
pub fn panic() -> Vec<Callee> {
    let mut callees = vec![
        HANDLER,
        PANIC_FMT,
        Always("core::panicking::panic_bounds_check"),
    ];
    callees.extend(PANIC_SCENARIO.map(Always));
    callees.extend(KERNEL);
    callees
}

/// The functions of scenario `panic` itself.
pub const PANIC_SCENARIO: [&str; 7] = [
    "kernel::scenario::panic::fifth",
    "kernel::scenario::panic::fourth::{closure#0}",
    "kernel::scenario::panic::fourth",
    "<kernel::scenario::panic::Walker as kernel::scenario::panic::Step>::third",
    "kernel::scenario::panic::second",
    "kernel::scenario::panic::first",
    "kernel::scenario::panic::run",
];

/// The frames of scenario `heap-panic`.
pub fn heap_panic() -> Vec<Callee> {
    let mut callees = vec![
        HANDLER,
        UnlessInlined("core::panicking::panic_nounwind_fmt::runtime"),
        Always("core::panicking::panic_nounwind_fmt"),
        Always("__rustc::__rdl_alloc_error_handler"),
        UnlessInlined("alloc::alloc::handle_alloc_error::rt_error"),
        Always("alloc::alloc::handle_alloc_error"),
        UnlessInlined("alloc::boxed::box_new_uninit"),
        Always("kernel::scenario::heap_panic::one_more"),
        Always("kernel::scenario::heap_panic::hoard"),
        Always("kernel::scenario::heap_panic::run"),
    ];
    callees.extend(KERNEL);
    callees
}

/// The frames of scenario `deep`.
pub fn deep() -> Vec<Callee> {
    let mut callees = vec![HANDLER, PANIC_FMT];
    callees.extend([Always("kernel::scenario::deep::descend"); 200]);
    callees.push(Always("kernel::scenario::deep::run"));
    callees.extend(KERNEL);
    callees
}

/// Fails unless the report names exactly these, in this order.
#[track_caller]
pub fn expect(kernel: Kernel, report: &super::report::Report, callees: &[Callee]) {
    let named = report.names();
    let mut left = named.iter().copied().peekable();
    for callee in callees {
        let (Always(name) | UnlessInlined(name)) = *callee;
        let may_be_missing = kernel.profile.is_optimized() && *callee == UnlessInlined(name);
        if left.next_if_eq(&name).is_none() && !may_be_missing {
            panic!(
                "{kernel:?}: {name} is not where it should be in:\n{}",
                report.text
            );
        }
    }
    assert_eq!(
        left.next(),
        None,
        "{kernel:?}: more than expected in:\n{}",
        report.text
    );
}
