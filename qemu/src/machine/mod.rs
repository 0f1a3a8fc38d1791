//! A virtual machine: its command line, its serial line, booting it, and what its end means.

mod boot;
mod command;
mod debugger;
mod gdb;
mod monitor;
mod serial;
pub(crate) mod terminal;
mod verdict;

pub use crate::hardware::{Arch, Board};
pub use boot::{Boot, Booted};
pub use debugger::Debugger;
pub use gdb::GdbStub;
pub use verdict::Verdict;
