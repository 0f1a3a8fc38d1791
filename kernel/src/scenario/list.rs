//! The scenarios. Plain data without imports: the kernel and the program that boots it both read this file.

/// A way for the kernel to run, chosen by its name on the command line.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// The word on the command line.
    pub name: &'static str,
    /// What happens, in one line.
    pub about: &'static str,
    /// How it ends.
    pub outcome: Outcome,
}

/// How a scenario is meant to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With success.
    Succeeds,
    /// With a report of an error.
    Panics,
}

/// All scenarios. The first is the default.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "panic",
        about: "an index out of bounds, in a closure's callee, in a trait object's method, in a generic function",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "heap-panic",
        about: "the heap is exhausted",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "deep",
        about: "a panic in a recursion of 200 calls",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "ok",
        about: "prints a line and ends with success",
        outcome: Outcome::Succeeds,
    },
];
