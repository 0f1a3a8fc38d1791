//! Expected traces, in the form of [`super::trace`], of scenarios that several test programs boot.

/// The functions of scenario `panic`, innermost first.
pub const PANIC_SCENARIO: [&str; 7] = [
    "kernel::scenario::panic::fifth",
    "kernel::scenario::panic::fourth::{closure#0}",
    "kernel::scenario::panic::fourth",
    "<kernel::scenario::panic::Walker as kernel::scenario::panic::Step>::third",
    "kernel::scenario::panic::second",
    "kernel::scenario::panic::first",
    "kernel::scenario::panic::run",
];

/// Scenario `panic`.
pub fn panic() -> String {
    let functions = PANIC_SCENARIO.map(|function| format!("r {function}\n"));
    format!("= panic\n{}", functions.concat())
}

/// Scenario `heap-panic`.
pub const HEAP_PANIC: &str = "
    = panic
    r kernel::scenario::heap_panic::one_more
    r kernel::scenario::heap_panic::hoard
    r kernel::scenario::heap_panic::run
";

/// Scenario `deep`.
pub fn deep() -> String {
    let descend = "r kernel::scenario::deep::descend\n".repeat(200);
    format!("= panic\n{descend}r kernel::scenario::deep::run")
}
