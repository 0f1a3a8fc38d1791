//! Dumps: what is kept of a machine that was asked where it is, to ask it again when it is gone.
//!
//! | file of a dump | what it is |
//! |---|---|
//! | `memory` | all of the machine's memory as QEMU writes it, compressed |
//! | `dump.json` | why it was asked, the registers of each CPU, and what the other files are |
//! | `image.elf` | the image that ran |
//! | `README.txt` | how to open it |
//!
//! One that a kernel has sent over its serial line has, instead of the first two, `dump.log`, the lines that it has sent.

mod about;
mod flat;
mod incoming;
mod keep;
mod log;
mod open;
mod pages;
mod paging;
mod raw;
mod segments;
mod sent;
mod words;

use anyhow::Result;

use crate::machine::Source;
pub use incoming::Incoming;
pub use keep::{Keeper, Kept, prepare, say_kept};
pub use log::Logged;
pub use open::Dump;
pub use raw::{Place, Raw};
pub use sent::Sent;

/// What is left of a machine that was asked where it is.
pub trait Remains: Source {
    /// Why the machine was asked.
    fn reason(&self) -> &str;

    /// The registers of a CPU that are known, by their names.
    ///
    /// # Errors
    /// When unknown CPU.
    fn registers(&self, cpu: usize) -> Result<Vec<(String, u64)>>;

    /// That nothing was wrong with what was read, and that all could be. What was wrong is said once.
    ///
    /// # Errors
    /// What was wrong.
    fn check(&mut self) -> Result<()>;
}

/// Files of a dump.
const MEMORY: &str = "memory";
const ABOUT: &str = "dump.json";
const IMAGE: &str = "image.elf";
/// Of one that a kernel has sent, instead of the first two.
const SENT: &str = "dump.log";
const HOW_TO: &str = "README.txt";
