//! The gate: the tests of whole machines, and of the runner, that `cargo test` runs. They are one program, because as programs of their
//! own each would link the runner and build its kernels again. The attributes of `test-programs` say which tests are in the gate, and
//! the table in `support/each.rs` which kernels.

#[macro_use]
extern crate test_programs;

mod armv7a;
mod ask;
mod autopsy;
mod boards;
mod c_kernel;
mod corrupt;
mod cpus;
mod decode;
mod discipline;
mod expectations;
mod faults;
mod frames;
mod gdb;
mod given;
mod guide;
mod handlers;
mod ladder;
mod lies;
mod machine;
mod machine_check;
mod markup;
mod monitor;
mod nmi;
mod oracle;
mod output;
mod own_report;
mod postmortem;
mod profile;
mod raspi3;
mod raspi5;
mod readme;
mod results;
mod rule_map;
mod scenarios;
mod screen;
mod serial;
mod setup;
mod support;
mod symbols;
mod tasks;
mod template;
mod timer;
mod trap_code;
mod typed;
mod undeclared;
mod usage;
mod user;
mod verdicts;
mod without_tables;
