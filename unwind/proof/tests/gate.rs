//! The proofs of the gate, in one program, which `cargo test` runs.

#[macro_use]
extern crate test_programs;

mod analysis;
mod arm;
mod big_endian;
mod checksum;
mod damage;
mod eh_frame;
mod map;
mod same_linker;
#[path = "../../tests/say/mod.rs"]
mod say;
mod support;
