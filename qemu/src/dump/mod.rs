//! Dumps: what is kept of a machine that was asked where it is, to ask it again when it is gone.
//!
//! | file of a dump | what it is |
//! |---|---|
//! | `memory` | all of the machine's memory as QEMU writes it, compressed |
//! | `dump.json` | why it was asked, the registers of each CPU, and what the other files are |
//! | `image.elf` | the image that ran |
//! | `README.txt` | how to open it |

mod about;
mod flat;
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
pub use keep::{Keeper, Kept, prepare};
pub use log::Logged;
pub use open::Dump;
pub use raw::{Place, Raw};
pub use sent::Sent;
pub use words::size;

/// What is left of a machine that was asked where it is.
pub trait Remains: Source {
    /// Why the machine was asked.
    fn reason(&self) -> &str;

    /// The registers of a CPU that are known, by their names.
    ///
    /// # Errors
    /// When there is no such CPU.
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
const HOW_TO: &str = "README.txt";
