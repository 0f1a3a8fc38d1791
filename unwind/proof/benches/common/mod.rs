//! What the benchmarks have in common: a program, its tables, a stack, and the peers that read them.

pub mod check;
pub mod peers;
pub mod program;
pub mod random;
pub mod shape;
pub mod stack;
pub mod tables;
