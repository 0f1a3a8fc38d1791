//! Helpers of the system tests.

pub mod at_entry;
pub mod built;
pub mod calls;
pub mod corrupt;
pub mod each;
pub mod expected;
pub mod gdb;
pub mod hangs;
pub mod jumps;
pub mod llvm;
pub mod lost_link;
pub mod monitor;
pub mod outside;
pub mod recursion;
pub mod report;
pub mod runner;
pub mod sampled;
pub mod sent;
pub mod session;
pub mod symbols;
pub mod terminal;
pub mod tiny;
pub mod trace;
pub mod ways;
pub mod words;
