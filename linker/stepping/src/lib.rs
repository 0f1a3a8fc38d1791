//! Single-steps programs, and compares unwind rows and whole lists of callers with the calls and returns that the machine executed.
//!
//! | module | does |
//! |---|---|
//! | [`machine`] | the state of a stepped program: registers and memory |
//! | [`process`] | steps a process of this host with `ptrace` |
//! | [`emulated`] | steps a program for ARM in an emulator |
//! | [`x86_64`], [`arms`] | classify instructions by their effect on the call stack |
//! | [`truth`], [`stacks`] | keep the call stack that the program really has |
//! | [`module`] | one loaded image: rows, verdicts of the checker, code |
//! | [`modules`] | all loaded images of a process |
//! | [`claim`] | evaluates a row with the machine's registers and memory |
//! | [`lists`] | walks the whole list with `unwind`, and compares the list |
//! | [`spoil`] | makes rows wrong, to test the checker |
//! | [`follow`] | the loop over all instructions |
//! | [`list`] | the list of programs, and how they are built |
//! | [`mod@run`] | runs one program, or all of a list |
//! | [`tally`], [`report`] | count and print the results |

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

pub mod arms;
pub mod claim;
pub mod emulated;
pub mod follow;
pub mod list;
pub mod lists;
pub mod machine;
pub mod module;
pub mod modules;
pub mod process;
pub mod report;
pub mod run;
pub mod spoil;
pub mod stacks;
pub mod tally;
pub mod truth;
pub mod x86_64;
