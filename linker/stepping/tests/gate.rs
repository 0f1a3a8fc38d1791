//! Programs that the gate follows: 200,000 boundaries, with each kind of compiler.

#[macro_use]
extern crate test_programs;

mod programs;
