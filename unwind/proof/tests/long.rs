//! The proofs of the long part, in one program, which `.ci/long` runs.

#[macro_use]
extern crate test_programs;

mod analysis;
mod damage;
mod eh_frame;
mod map;
#[path = "../../tests/say/mod.rs"]
mod say;
mod support;
