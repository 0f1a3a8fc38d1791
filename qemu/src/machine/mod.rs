//! A virtual machine: its command line, its serial line, booting it, asking it where it is, and what its end means;
//! and recording what it does, to go through it again.

mod boot;
mod command;
mod debugger;
mod evidence;
mod gdb;
mod given;
mod interrupt;
mod monitor;
mod recording;
mod replay;
mod run;
mod screen;
mod serial;
mod source;
mod stopped;
pub(crate) mod terminal;
mod verdict;

pub use crate::hardware::{Arch, Board, Processor};
pub use boot::{Boot, Booted};
pub use debugger::Debugger;
pub use evidence::{Ending, Evidence};
pub use gdb::{Gdb, GdbStub, StubSocket};
pub use given::Given;
pub use monitor::{INSTRUCTIONS, Monitor, Watched};
pub use recording::{Recorded, Recording};
pub use replay::Replay;
pub use screen::Screen;
pub use source::{PAGE, PIECE, Source};
pub use stopped::{Observer, Stopped, Witness};
pub use verdict::{Statuses, Verdict};
