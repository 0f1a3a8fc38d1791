//! Checks of the sources and of what the compiler makes of them, which `.ci/static` runs.

mod api;
mod fuzzed;
mod house;
mod mutated;
mod no_panic;
#[allow(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "a part of them is used"
)]
mod support;
mod words;
