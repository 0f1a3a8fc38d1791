//! The tests of the linker that `cargo test` runs, in one program. As programs of their own each would be linked with all that the linker
//! uses.

#[macro_use]
extern crate test_programs;

mod arm;
mod arm_tables;
mod assembly;
mod c_kernel;
mod code_checksums;
mod common;
mod damaged;
mod derived;
mod forged;
mod golden;
mod gsym;
mod inspect;
mod make;
mod map;
mod mutated;
mod outermost;
mod place;
mod proof_reports;
mod prove_aarch64;
mod prove_aarch64_objdump;
mod prove_aarch64_rows;
mod prove_aarch64_traps;
mod prove_aarch64_unlisted;
mod prove_aarch64_values;
mod prove_again;
mod prove_arm;
mod prove_arm_objdump;
mod prove_landing;
mod prove_machine;
mod prove_mended;
mod prove_multiboot;
mod prove_origin;
mod prove_rounds;
mod prove_tables;
mod prove_text;
mod prove_world;
mod prove_x86_64;
mod prove_x86_64_edges;
mod prove_x86_64_flow;
mod prove_x86_64_frames;
mod prove_x86_64_ways;
mod real_images;
mod rust_program;
mod stepped;
mod strict;
mod stripped;
mod symbols;
mod symt;
mod unproven;
mod variants;
mod whole;
mod wrapper;
