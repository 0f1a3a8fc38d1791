//! The long part: the tests of whole machines that `.ci/long` runs, from the same files as those of the gate.

#[macro_use]
extern crate test_programs;

mod armv7a;
mod ask;
mod autopsy;
mod c_library;
mod core_library;
mod expectations;
mod faults;
mod frames;
mod guide;
mod ladder;
mod lies;
mod nmi;
mod oracle;
mod postmortem;
mod profile;
mod raspi3;
mod raspi5;
mod scenarios;
mod screen;
mod serial;
mod signed;
#[allow(dead_code, reason = "a part of them is used")]
mod support;
mod template;
mod trap_code;
mod usage;
mod without_tables;
