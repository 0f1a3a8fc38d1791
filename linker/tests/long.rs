//! The tests of the linker that `.ci/long` runs: programs of further levels of optimization, stepped through, and more damaged files.

#[macro_use]
extern crate test_programs;

#[allow(dead_code, unused_macros, reason = "a part of them is used")]
mod common;
mod damaged;
mod stepped;
